#include "cluster/worker_process.h"

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "support/paths.h"

namespace gyre::test {
namespace {

// The shell sets the limit, and becomes the worker.
std::vector<std::string> Words(const WorkerProcess::Options& options) {
  std::vector<std::string> words;
  if (options.descriptors > 0) {
    words = {"/bin/sh", "-c",
             absl::StrCat("ulimit -n ", options.descriptors, " && exec \"$0\" \"$@\"")};
  }
  words.insert(words.end(), {BuildPath("bin/gyre"), "worker", "--with-parent", "--failure-timeout",
                             absl::StrCat(options.failure_ms)});
  return words;
}

}  // namespace

WorkerProcess::WorkerProcess(const Options& options)
    : process_(Words(options), STDOUT_FILENO, {{"GYRE_TOKEN", kToken}}) {
  const std::vector<std::string> said = absl::StrSplit(process_.NextLine(), ' ');
  EXPECT_EQ(said.size(), 3u);
  if (said.size() == 3) address_ = said[2];
}

size_t WorkerProcess::Count(const std::string& what) const {
  std::error_code error;
  const std::filesystem::directory_iterator entries(
      absl::StrCat("/proc/", process_.pid(), "/", what), error);
  return std::distance(begin(entries), end(entries));
}

}  // namespace gyre::test
