#include "exec/heavy_programs.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

constexpr char kInputs[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=(?,?) : float32
)";

std::string Wide() {
  std::string text = kInputs;
  std::string all;
  for (int i = 0; i < 24; ++i) {
    absl::StrAppend(&text, "  %s", i, " = Const() value=float32{1.", i, "} : float32\n  %a", i,
                    " = Mul(%x, %s", i, ") : float32\n  %m", i, " = MatMul(%a", i, ", %x)",
                    " : float32\n  %mm", i, " = MatMul(%m", i, ", %a", i, ") : float32\n");
    absl::StrAppend(&all, i == 0 ? "" : ", ", "%mm", i);
  }
  return absl::StrCat(text, "  %y = AddN(", all, ") : float32\n}\n");
}

// What every loop below counts with.
constexpr char kMore[] = R"(
func @more(%i: int32, %n: int32, %x: float32, %s: float32) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
)";

// Iterations hang together by a counter and a sum only.
constexpr char kLoop[] = R"(
  %zero = Const() value=int32{0} : int32
  %s = ZerosLike(%x) : float32
  %w = StatelessWhile(%zero, %n, %x, %s) cond=@more body=@step : (int32, int32, float32, float32)
  %y = Identity(%w:3) : float32
}
func @step(%i: int32, %n: int32, %x: float32, %s: float32) -> (i: int32, n: int32, x: float32, s: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %f = Cast(%j) DstT=float32 : float32
  %xf = Mul(%x, %f) : float32
  %a = MatMul(%xf, %x) : float32
  %b = MatMul(%a, %x) : float32
  %t = AddV2(%s, %b) : float32
  return %j, %n, %x, %t
}
)";

constexpr char kNested[] = R"(
  %zero = Const() value=int32{0} : int32
  %s = ZerosLike(%x) : float32
  %w = StatelessWhile(%zero, %n, %x, %s) cond=@more body=@outer : (int32, int32, float32, float32)
  %y = Identity(%w:3) : float32
}
func @outer(%i: int32, %n: int32, %x: float32, %s: float32) -> (i: int32, n: int32, x: float32, s: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %zero = Const() value=int32{0} : int32
  %three = Const() value=int32{3} : int32
  %o = ZerosLike(%x) : float32
  %w = StatelessWhile(%zero, %three, %x, %o) cond=@more body=@inner : (int32, int32, float32, float32)
  %t = AddV2(%s, %w:3) : float32
  return %j, %n, %x, %t
}
func @inner(%i: int32, %n: int32, %x: float32, %s: float32) -> (i: int32, n: int32, x: float32, s: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %f = Cast(%j) DstT=float32 : float32
  %xf = Mul(%x, %f) : float32
  %a = MatMul(%xf, %x) : float32
  %t = AddV2(%s, %a) : float32
  return %j, %n, %x, %t
}
)";

// Branches with work of their own, and one without.
constexpr char kBranches[] = R"(
  %zero = Const() value=int32{0} : int32
  %s = ZerosLike(%x) : float32
  %w = StatelessWhile(%zero, %n, %x, %s) cond=@more body=@step : (int32, int32, float32, float32)
  %y = Identity(%w:3) : float32
}
func @step(%i: int32, %n: int32, %x: float32, %s: float32) -> (i: int32, n: int32, x: float32, s: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %three = Const() value=int32{3} : int32
  %which = FloorMod(%i, %three) : int32
  %a = Case(%which, %x) branches=[@square, @keep, @cube] : float32
  %b = Case(%which, %x) branches=[@cube, @square, @keep] : float32
  %ab = AddV2(%a, %b) : float32
  %t = AddV2(%s, %ab) : float32
  return %j, %n, %x, %t
}
func @keep(%x: float32) -> (y: float32) {
  return %x
}
func @square(%x: float32) -> (y: float32) {
  %y = MatMul(%x, %x) : float32
  return %y
}
func @cube(%x: float32) -> (y: float32) {
  %xx = MatMul(%x, %x) : float32
  %y = MatMul(%xx, %x) : float32
  return %y
}
)";

// A tree of calls with work at every node; as deep as n says, at most 6.
constexpr char kTree[] = R"(
  %six = Const() value=int32{6} : int32
  %depth = Minimum(%n, %six) : int32
  %y = PartitionedCall(%depth, %x) f=@tree : float32
}
func @tree(%n: int32, %x: float32) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %y = StatelessIf(%more, %n, %x) then_branch=@node else_branch=@leaf : float32
  return %y
}
func @leaf(%n: int32, %x: float32) -> (y: float32) {
  %y = MatMul(%x, %x) : float32
  return %y
}
func @node(%n: int32, %x: float32) -> (y: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %xx = MatMul(%x, %x) : float32
  %left = PartitionedCall(%m, %x) f=@tree : float32
  %right = PartitionedCall(%m, %xx) f=@tree : float32
  %y = AddV2(%left, %right) : float32
  return %y
}
)";

// Values that travel through a queue and a rendezvous on their way from one iteration to the next.
constexpr char kAsynchronous[] = R"(
  %q = FIFOQueueV2(^%n) component_types=[float32] container="" shared_name="" : resource
  %zero = Const() value=int32{0} : int32
  %s = ZerosLike(%x) : float32
  %w = While(%zero, %n, %x, %s) cond=@more body=@step : (int32, int32, float32, float32)
  %y = Identity(%w:3) : float32
}
func @step(%i: int32, %n: int32, %x: float32, %s: float32) -> (i: int32, n: int32, x: float32, s: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %f = Cast(%j) DstT=float32 : float32
  %xf = Mul(%x, %f) : float32
  %a = MatMul(%xf, %x) : float32
  %send = _Send(%a) tensor_name="t" send_device="a" send_device_incarnation=1 recv_device="b"
  %recv = _Recv() tensor_name="t" send_device="a" send_device_incarnation=1 recv_device="b" tensor_type=float32 : float32
  %b = MatMul(%recv, %x) : float32
  %t = AddV2(%s, %b) : float32
  return %j, %n, %x, %t
}
)";

// As written by hand: a loop with death, a constant that enters dead, and an inner frame.
constexpr char kPrimitives[] = R"(
  %no = Const() value=bool{false} : bool
  %zero = Const() value=int32{0} : int32
  %sw = Switch(%x, %no) : (float32, float32)
  %enter = Enter(%zero) frame_name="loop" : int32
  %enter_x = Enter(%x) frame_name="loop" : float32
  %limit = Enter(%n) frame_name="loop" is_constant=true : int32
  %w = Enter(%x) frame_name="loop" is_constant=true : float32
  %dead = Enter(%sw:1) frame_name="loop" is_constant=true : float32
  %merge = Merge(%enter, %next) : (int32, int32)
  %merge_x = Merge(%enter_x, %next_x) : (float32, int32)
  %less = Less(%merge, %limit) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %switch_x = Switch(%merge_x, %cond) : (float32, float32)
  %one = Const(^%switch) value=int32{1} : int32
  %add = AddV2(%switch:1, %one) : int32
  %mul = MatMul(%switch_x:1, %w) : float32
  %side = MatMul(%w, %w, ^%add) : float32
  %more = MatMul(%w, %side) : float32
  %sum = AddV2(%mul, %more) : float32
  %tanh = Tanh(%sum) : float32
  %next = NextIteration(%add) : int32
  %next_x = NextIteration(%tanh) : float32
  %exit = Exit(%switch_x) : float32
  %gone = Exit(%dead) : float32
  %all = ControlTrigger(^%gone, ^%exit)
  %y = Identity(%exit, ^%all) : float32
}
)";

}  // namespace

std::vector<std::pair<std::string, std::string>> HeavyPrograms() {
  const auto with = [](const char* body, bool counts = true) {
    return absl::StrCat(kInputs, body, counts ? kMore : "");
  };
  return {{"wide", Wide()},
          {"loop", with(kLoop)},
          {"nested", with(kNested)},
          {"branches", with(kBranches)},
          {"tree", with(kTree, false)},
          {"asynchronous", with(kAsynchronous)},
          {"primitives", with(kPrimitives, false)}};
}

std::string HeavyProgram(const std::string& name) {
  for (const auto& [known, text] : HeavyPrograms()) {
    if (known == name) return text;
  }
  ADD_FAILURE() << "no program " << name;
  return "";
}

Tensor HeavyInput() {
  std::vector<float> values(kHeavySize * kHeavySize);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i)) / std::sqrt(static_cast<float>(kHeavySize));
  return Tensor::FromValues<float>(values, *Shape::Make({kHeavySize, kHeavySize}));
}

Feeds HeavyFeeds(int32_t n) { return {{"n:0", Tensor::Scalar(n)}, {"x:0", HeavyInput()}}; }

}  // namespace gyre::testing
