// Loops that become native code while `gyre run` runs them.
#include "absl/strings/str_cat.h"
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

}  // namespace
}  // namespace gyre::cli
