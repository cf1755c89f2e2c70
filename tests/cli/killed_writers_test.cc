// What the commands write, where one is killed in the middle: the old file or the new one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "cli/gyre.h"
#include "support/kill.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

using test::TempFolder;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using Words = std::vector<std::string>;

// A graph that is a matrix of one number, of 40 KB.
std::string GraphOf(const TempFolder& folder, int number) {
  return folder.Write(absl::StrCat("graph", number, ".pbtxt"), absl::StrCat(R"(
node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 100 } dim { size: 100 } }
                                            float_val: )",
                                                                            number, R"( } } } }
node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
)"));
}

// Expects that of a command that is given one graph and another in turns, and is killed, the file
// is one that either graph makes.
void ExpectOneOfTwo(const std::string& file,
                    const std::function<Words(const std::string&)>& words) {
  const TempFolder graphs, folder(TempFolder::kInMemory);
  const std::string one = GraphOf(graphs, 1), two = GraphOf(graphs, 2), path = folder.Path(file);
  const auto write = [&](const std::string& graph) {
    Words command = words(graph);
    command.push_back(path);
    return Gyre(command).code;
  };
  ASSERT_EQ(write(one), 0);
  const std::string first = *ReadFile(path);
  ASSERT_EQ(write(two), 0);
  const std::string second = *ReadFile(path);
  ASSERT_NE(first, second);
  const int kills = test::KillAtRandomMoments(
      100,
      [&] {
        while (write(one) == 0 && write(two) == 0) {
        }
      },
      [&] { EXPECT_THAT(*ReadFile(path), AnyOf(first, second)); });
  EXPECT_EQ(kills, 100);
  ASSERT_EQ(write(one), 0);
  EXPECT_THAT(test::FilesBelow(folder.path()), ElementsAre(file));
}

TEST(KilledWriters, ConvertedGraphs) {
  ExpectOneOfTwo("out.pb", [](const std::string& graph) { return Words{"convert", graph}; });
}

TEST(KilledWriters, FetchedTensors) {
  ExpectOneOfTwo("out.safetensors", [](const std::string& graph) {
    return Words{"run", graph, "--fetch", "y", "--out"};
  });
}

TEST(KilledWriters, Timelines) {
  const TempFolder graphs, folder(TempFolder::kInMemory);
  const std::string graph = GraphOf(graphs, 1), path = folder.Path("trace.json");
  const auto write = [&] { return Gyre({"run", graph, "--fetch", "y", "--trace", path}).code; };
  ASSERT_EQ(write(), 0);
  const int kills = test::KillAtRandomMoments(
      100,
      [&] {
        while (write() == 0) {
        }
      },
      [&] { EXPECT_EQ(Gyre({"trace", path}).code, 0); });
  EXPECT_EQ(kills, 100);
  ASSERT_EQ(write(), 0);
  EXPECT_THAT(test::FilesBelow(folder.path()), ElementsAre("trace.json"));
}

// The kernel sends SIGXFSZ to who writes more than a file may hold (ulimit -f): that is an error.
TEST(LimitedWriters, FailAndLeaveNoUnfinishedFile) {
  const TempFolder graphs, folder(TempFolder::kInMemory);
  const std::string graph = GraphOf(graphs, 1), path = folder.Path("y.npy");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_DFL);  // also where who started the tests ignores it
    const rlimit small = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &small);
    _exit(Gyre({"run", graph, "--fetch", "y", "--out", path}).code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(test::FilesBelow(folder.path()), ElementsAre());
}

// Unlike what is killed, what is ended by these signals leaves nothing to the next writer.
class EndedWriters : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, EndedWriters, ::testing::Values(SIGTERM, SIGINT, SIGHUP));

TEST_P(EndedWriters, LeaveNoUnfinishedFile) {
  const TempFolder graphs, folder(TempFolder::kInMemory);
  const std::string graph = GraphOf(graphs, 1), path = folder.Path("y.npy");
  const auto write = [&] { return Gyre({"run", graph, "--fetch", "y", "--out", path}).code; };
  ASSERT_EQ(write(), 0);
  const int ends = test::KillAtRandomMoments(
      200,
      [&] {
        signal(GetParam(), SIG_DFL);  // also where who started the tests ignores it
        while (write() == 0) {
        }
      },
      [&] { EXPECT_THAT(test::FilesBelow(folder.path()), ElementsAre("y.npy")); }, GetParam());
  EXPECT_EQ(ends, 200);
}

TEST_P(EndedWriters, AreEndedAsTheyWereBefore) {
  const TempFolder graphs;
  const std::string graph = GraphOf(graphs, 1);
  const auto before = signal(GetParam(), SIG_IGN);
  EXPECT_EQ(Gyre({"run", graph, "--fetch", "y"}).code, 0);
  EXPECT_EQ(signal(GetParam(), SIG_DFL), SIG_IGN);
  EXPECT_EQ(Gyre({"run", graph, "--fetch", "y"}).code, 0);
  EXPECT_EQ(signal(GetParam(), before), SIG_DFL);
}

}  // namespace
}  // namespace gyre::cli
