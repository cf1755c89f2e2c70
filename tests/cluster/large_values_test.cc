// Values that stay with their sender until they are asked for: also where the sender has nothing
// else to do any more, and where the network has room for a little at a time.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "support/run_text.h"
#include "support/simulation/cluster.h"

namespace gyre::testing {
namespace {

using simulation::Fault;
using simulation::SimulatedCluster;

// Three times there and back; the last value stays on the second worker, whose part then waits for
// nothing.
constexpr char kProgram[] = R"(graph {
  %size = Const() value=int32[2]{200, 200} : int32[2]
  %one = Const() value=float32{1} : float32[]
  %ones = Fill(%size, %one) : float32[?,?] on "/job:worker/task:1"
  %start = Const() value=int32{0} : int32[]
  %loop = StatelessWhile(%start, %ones) cond=@goes_on body=@step : (int32[], float32[?,?])
  %axes = Const() value=int32[2]{0, 1} : int32[2]
  %last = Neg(%loop:1) : float32[?,?] on "/job:worker/task:1"
  %sum = Sum(%last, %axes) T=float32 Tidx=int32 : float32[] on "/job:worker/task:0"
}

func @goes_on(%i: int32[], %x: float32[?,?]) -> (go: bool) {
  %three = Const() value=int32{3} : int32[]
  %go = Less(%i, %three) : bool[]
  return %go
}

func @step(%i: int32[], %x: float32[?,?]) -> (next: int32, back: float32) {
  %one = Const() value=int32{1} : int32[]
  %next = AddV2(%i, %one) : int32[]
  %more = Const() value=float32{1} : float32[]
  %there = AddV2(%x, %more) : float32[?,?] on "/job:worker/task:1"
  %back = AddV2(%there, %more) : float32[?,?] on "/job:worker/task:0"
  return %next, %back
}
)";

TEST(LargeValues, AreTakenWhereverAndWheneverTheyAreWanted) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    constexpr Fault kFaults[] = {Fault::kNone, Fault::kSlow, Fault::kPause};
    SimulatedCluster cluster(seed, 2, kFaults[seed % std::size(kFaults)]);
    const auto engine = cluster.Connect();
    ASSERT_TRUE(engine.ok()) << engine.status();
    const auto session = SessionFor(kProgram, SessionOptions{.cluster = *engine});
    const auto sum = session->Run({}, {"sum:0"});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ((*sum)[0].scalar<float>(), -200.0f * 200 * 7);
  }
}

}  // namespace
}  // namespace gyre::testing
