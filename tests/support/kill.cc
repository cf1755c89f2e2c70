#include "support/kill.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>

namespace gyre::test {

int KillAtRandomMoments(int times, const std::function<void()>& write,
                        const std::function<void()>& check, int signal) {
  std::mt19937 random(20261123);
  int kills = 0;
  for (int i = 0; i < times; ++i) {
    int started[2];
    if (::pipe(started) != 0) return kills;
    const pid_t child = ::fork();
    if (child == 0) {
      // The first byte says that it writes from now on.
      static_cast<void>(!::write(started[1], "x", 1));
      write();
      ::_exit(1);
    }
    char byte;
    static_cast<void>(!::read(started[0], &byte, 1));
    // Up to some five writes.
    const timespec moment = {0, static_cast<long>(random() % 20'000'000)};
    ::nanosleep(&moment, nullptr);
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    kills += WIFSIGNALED(status) && WTERMSIG(status) == signal ? 1 : 0;
    ::close(started[0]);
    ::close(started[1]);
    check();
  }
  return kills;
}

std::vector<std::string> FilesBelow(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !entry.is_directory())
      names.push_back(
          fs::relative(entry.path().parent_path(), folder) == "."
              ? entry.path().filename().string()
              : (fs::relative(entry.path().parent_path(), folder) / entry.path().filename())
                    .string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int OpenDescriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<int>(std::distance(begin(entries), end(entries))) - 1;
}

}  // namespace gyre::test
