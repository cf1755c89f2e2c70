// Loops that become native code while `gyre run` runs them.
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/gyre.h"
#include "gtest/gtest.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace gyre::cli {
namespace {

constexpr char kLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %x = Const() value=float32{1} : float32
  %loop = While(%zero, %n, %x) cond=@more body=@step : (int32, int32, float32)
}
func @more(%i: int32, %n: int32, %x: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32) -> (j: int32, n: int32, y: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %y = Sin(%x) : float32
  return %j, %n, %y
}
)";

// The code generator is being loaded, compiles, or has compiled when the process ends.
TEST(HotLoops, ARunEndsWellWhileItsLoopIsCompiled) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("loop.gyre", kLoop);
  for (int n = 50'000; n < 1'500'000; n += 40'000) {
    test::Process process({test::BuildPath("bin/gyre"), "run", graph, "--feed",
                           absl::StrCat("n:0=", n), "--fetch", "loop:0"},
                          STDOUT_FILENO);
    EXPECT_EQ(process.NextLine(), absl::StrCat("loop:0 int32[] = ", n));
    EXPECT_EQ(process.Wait(), 0) << n;
  }
}

TEST(HotLoops, AreCompiledWhenAsked) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("loop.gyre", kLoop);
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"run", graph, "--feed", "n:0=9", "--fetch", "loop:2"};
    words.insert(words.end(), more.begin(), more.end());
    return Gyre(words);
  };
  const Ran usual = run({});
  EXPECT_EQ(usual.code, 0) << usual.err;
  for (const char* const when : {"auto", "always", "never"})
    EXPECT_EQ(run({"--compile", when}).out, usual.out) << when;
  EXPECT_NE(run({"--compile", "later"}).err.find("there is auto, always, never"),
            std::string::npos);
  for (const char* const idle :
       {"--engine=reference", "--engine=compiled", "--window=3", "--stats"}) {
    const Ran refused = run({"--compile=always", idle});
    EXPECT_EQ(refused.code, 2) << idle;
    EXPECT_NE(refused.err.find("--compile"), std::string::npos) << refused.err;
  }
}

// The first line of a process of its own, which prints loop:2. `variable`: of its environment.
std::string LoopWith(const std::string& graph, const std::pair<std::string, std::string>& variable,
                     int stream = STDOUT_FILENO) {
  test::Process process({test::BuildPath("bin/gyre"), "run", graph, "--feed", "n:0=9", "--fetch",
                         "loop:2", "--compile=always"},
                        stream, {variable});
  std::string line = process.NextLine();
  process.Wait();
  return line;
}

// By name, with the time of the last change.
std::map<std::string, int64_t> FilesIn(const std::string& folder) {
  std::map<std::string, int64_t> files;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    files[file.path()] = file.last_write_time().time_since_epoch().count();
  return files;
}

TEST(HotLoops, AreCompiledOnceForManyProcesses) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("loop.gyre", kLoop), cache = folder.Path("cache");
  const std::pair<std::string, std::string> variable = {"GYRE_COMPILE_CACHE", cache};
  const std::string first = LoopWith(graph, variable);
  EXPECT_EQ(first.rfind("loop:2 float32[] = ", 0), 0u) << first;
  const auto files = FilesIn(cache);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(LoopWith(graph, variable), first);
  EXPECT_EQ(FilesIn(cache), files);  // it was not compiled again
  const std::string path = files.begin()->first;
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(LoopWith(graph, variable), first);
  EXPECT_GT(std::filesystem::file_size(path), 100u);
  const std::string other = folder.Write(
      "other.gyre", absl::StrReplaceAll(kLoop, {{"Sin(", "Cos("}, {"float32{1}", "float32{2}"}}));
  EXPECT_NE(LoopWith(other, variable), first);
  EXPECT_EQ(LoopWith(graph, variable), first);
}

TEST(HotLoops, ACacheThatCannotServeIsAnError) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("loop.gyre", kLoop);
  const std::string error =
      LoopWith(graph, {"GYRE_COMPILE_CACHE", folder.Write("file", "x")}, STDERR_FILENO);
  EXPECT_NE(error.find("GYRE_COMPILE_CACHE"), std::string::npos) << error;
}

// perf reads a file in /tmp for each process.
TEST(HotLoops, ProfilersKnowThemByName) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("loop.gyre", kLoop);
  test::Process process({test::BuildPath("bin/gyre"), "run", graph, "--feed", "n:0=9", "--fetch",
                         "loop:2", "--compile=always"},
                        STDOUT_FILENO, {{"GYRE_NATIVE_SYMBOLS", "1"}});
  const std::string path = absl::StrCat("/tmp/perf-", process.pid(), ".map");
  EXPECT_EQ(process.NextLine().rfind("loop:2 float32[] = ", 0), 0u);
  EXPECT_EQ(process.Wait(), 0);
  std::ifstream file(path);
  std::string address, size, name;
  file >> address >> size;
  std::getline(file, name);
  EXPECT_EQ(name, " gyre: loop");
  EXPECT_GT(std::stoull(address, nullptr, 16), 0u);
  EXPECT_GT(std::stoull(size, nullptr, 16), 50u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gyre::cli
