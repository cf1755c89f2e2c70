#include "cli/cluster/cluster_option.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cluster/connect.h"
#include "cluster/serve.h"

namespace gyre::cli {
namespace {

constexpr absl::string_view kLocal = "local:";
constexpr char kTokenVariable[] = "GYRE_TOKEN";
constexpr int kMostWorkers = 64;

// Children, and the pipes that they print to.
class Children final : public LocalWorkers {
 public:
  ~Children() override {
    // One that was stopped goes on, and ends.
    for (const pid_t child : children_) {
      kill(child, SIGTERM);
      kill(child, SIGCONT);
    }
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }
  const std::vector<std::string>& addresses() const override { return addresses_; }
  const std::string& token() const override { return token_; }

  absl::Status Start(const std::vector<std::string>& options,
                     const std::vector<std::string>& restart) {
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) return absl::UnavailableError("cannot make a pipe");
    // Made before fork: after it, in a process of several threads, nothing may be allocated.
    std::string token = absl::StrCat(kTokenVariable, "=", token_);
    std::vector<char*> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!absl::StartsWith(*variable, absl::StrCat(kTokenVariable, "=")))
        environment.push_back(*variable);
    }
    environment.push_back(token.data());
    environment.push_back(nullptr);
    const char* const file = restart.empty() ? "/proc/self/exe" : restart[0].c_str();
    std::vector<std::string> command = restart;
    if (restart.empty()) command.emplace_back("gyre");
    command.insert(command.end(), {"worker", "--with-parent"});
    command.insert(command.end(), options.begin(), options.end());
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      dup2(out[1], STDOUT_FILENO);
      execve(file, words.data(), environment.data());
      _exit(127);
    }
    close(out[1]);
    if (child < 0) {
      close(out[0]);
      return absl::UnavailableError("cannot start a worker");
    }
    children_.push_back(child);
    std::string line;
    char c = 0;
    while (read(out[0], &c, 1) == 1 && c != '\n') line += c;
    close(out[0]);
    const std::vector<std::string> said = absl::StrSplit(line, ' ');
    if (said.size() < 3) return absl::UnavailableError("a worker has not started");
    addresses_.push_back(said[2]);
    return absl::OkStatus();
  }

 private:
  const std::string token_ = cluster::DrawToken();
  std::vector<pid_t> children_;
  std::vector<std::string> addresses_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocalWorkers>> StartWorkers(
    int count, const std::vector<std::string>& options, const std::vector<std::string>& restart) {
  auto children = std::make_unique<Children>();
  for (int i = 0; i < count; ++i) GYRE_RETURN_IF_ERROR(children->Start(options, restart));
  return children;
}

absl::StatusOr<std::string> ReadToken(const Arguments& arguments) {
  const std::optional<std::string> path = arguments.Get("--token-file");
  if (!path) {
    const char* const token = std::getenv(kTokenVariable);
    return std::string(token == nullptr ? "" : token);
  }
  std::ifstream file(*path);
  if (!file) return absl::NotFoundError(absl::StrCat("there is no file ", *path));
  std::stringstream text;
  text << file.rdbuf();
  const std::string token(absl::StripAsciiWhitespace(text.str()));
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(*path, " holds no token"));
  return token;
}

absl::StatusOr<ClusterRequest> ReadCluster(const Arguments& arguments) {
  ClusterRequest request;
  const std::string where = arguments.Get("--cluster").value_or("");
  if (where.empty()) {
    for (const Option& option : {kTransportOption, kTokenOption, kSpinOption}) {
      if (!arguments.Has(option.name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(option.name, " is about the workers of --cluster, which is not given"));
    }
    return request;
  }
  ClusterOptions& options = request.options;
  GYRE_ASSIGN_OR_RETURN(options.transport,
                        ParseTransport(arguments.Get("--transport").value_or("auto")));
  GYRE_ASSIGN_OR_RETURN(options.spin_us, arguments.Int("--spin", 0, 1'000'000, 0));
  if (absl::StartsWith(where, kLocal)) {
    if (arguments.Has(kTokenOption.name)) {
      return absl::InvalidArgumentError(absl::StrCat(kTokenOption.name,
                                                     " has no effect with --cluster=", where,
                                                     ", whose workers get a token of their own"));
    }
    int& count = request.local;
    if (!absl::SimpleAtoi(where.substr(kLocal.size()), &count) || count < 1 ||
        count > kMostWorkers) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", where, "\" starts no workers: local:2 starts two, and ", kMostWorkers,
                       " are the most"));
    }
  } else {
    options.workers = absl::StrSplit(where, ',');
    GYRE_ASSIGN_OR_RETURN(options.token, ReadToken(arguments));
  }
  return request;
}

absl::StatusOr<AskedCluster> Connect(ClusterRequest request, int64_t timeout_ms,
                                     const Streams& streams) {
  AskedCluster asked;
  ClusterOptions& options = request.options;
  if (request.local > 0) {
    GYRE_ASSIGN_OR_RETURN(asked.workers, StartWorkers(request.local, {}, streams.restart));
    options.workers = asked.workers->addresses();
    options.token = asked.workers->token();
  }
  if (options.workers.empty()) return asked;
  GYRE_ASSIGN_OR_RETURN(asked.engine, cluster::ConnectWithin(timeout_ms, options));
  return asked;
}

int NotConnected(const Command& command, const Streams& streams, const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? Misuse(command, streams, status)
                                         : Failure(command, streams, status);
}

}  // namespace gyre::cli
