#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "gtest/gtest.h"

namespace gyre::test {
namespace {

// As a shell in the foreground leaves them: a child inherits what its parent ignores and blocks.
void SetDefaultSignals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Process::Process(std::vector<std::string> words, int stream,
                 const std::vector<std::pair<std::string, std::string>>& variables) {
  // Made before fork: after it, in a process of several threads, nothing may be allocated.
  std::vector<std::string> settings;
  for (const auto& [name, value] : variables) settings.push_back(name + "=" + value);
  std::vector<char*> arguments, environment;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (std::string& setting : settings) environment.push_back(setting.data());
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  pid_ = ::fork();
  if (pid_ == 0) {
    SetDefaultSignals();
    ::dup2(ends[1], stream);
    ::execve(arguments[0], arguments.data(), environment.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  fd_ = ends[0];
}

Process::~Process() {
  Signal(SIGKILL);
  Wait();
  ::close(fd_);
}

void Process::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

std::string Process::NextLine() {
  constexpr int kPatienceMs = 30'000;
  std::string line;
  pollfd waiting{fd_, POLLIN, 0};
  char c = 0;
  while (::poll(&waiting, 1, kPatienceMs) == 1 && ::read(fd_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

int Process::Wait() {
  int status = 0;
  if (pid_ > 0) ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace gyre::test
