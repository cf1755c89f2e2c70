// Gradients through what stacks hold: as with lists, by hand and in TensorFlow's own gradient
// graphs. What becomes of the stacks, and what is refused: transforms/gradient/stacks.
#include <cmath>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "golden/case.h"
#include "golden/runner.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"
#include "session/gradient_program.h"
#include "session/names.h"
#include "session/program_file.h"
#include "support/paths.h"

namespace gyre::testing {
namespace {

// The stack's op in both forms, by a text in the newer one.
std::vector<std::string> BothForms(const std::string& text) {
  return {text, absl::StrReplaceAll(text, {{"StackV2(%any)", "Stack()"},
                                           {"StackPushV2", "StackPush"},
                                           {"StackPopV2", "StackPop"},
                                           {"StackCloseV2", "StackClose"},
                                           {" s: resource)", " s: string)"},
                                           {"64, resource)", "64, string&)"},
                                           {"%s: resource", "%s: string&"}})};
}

// One loop pushes sin(x), sin(sin(x)) …, the other pops them: s <- s * w + pop.
constexpr char kTwoLoops[] = R"(
graph {
  %x = Placeholder() shape=(2) : float64
  %w = Placeholder() shape=() : float64
  %n = Placeholder() shape=() : int32
  %any = Const() value=int32{-1} : int32
  %zero = Const() value=int32{0} : int32
  %s = StackV2(%any) elem_type=float64
  %there = While(%n, %x, %s) cond=@goes_on body=@push : (int32, float64, resource)
  %sum = ZerosLike(%there:1)
  %back = While(%n, %sum, %w, %s, ^%there) cond=@goes_on_w body=@pop : (int32, float64, float64, resource)
  %close = StackCloseV2(%s, ^%back)
  %y = Mul(%back:1, %there:1, ^%close)
}
func @goes_on(%i: int32, %x: float64, %s: resource) -> (more: bool) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%i, %zero)
  return %more
}
func @goes_on_w(%i: int32, %sum: float64, %w: float64, %s: resource) -> (more: bool) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%i, %zero)
  return %more
}
func @push(%i: int32, %x: float64, %s: resource) -> (i: int32, x: float64, s: resource) {
  %one = Const() value=int32{1} : int32
  %next = Sub(%i, %one)
  %sin = Sin(%x)
  %pushed = StackPushV2(%s, %sin)
  return %next, %pushed, %s
}
func @pop(%i: int32, %sum: float64, %w: float64, %s: resource) -> (i: int32, sum: float64, w: float64, s: resource) {
  %one = Const() value=int32{1} : int32
  %next = Sub(%i, %one)
  %popped = StackPopV2(%s) elem_type=float64
  %scaled = Mul(%sum, %w)
  %more = AddV2(%scaled, %popped)
  return %next, %more, %w, %s
}
)";

TEST(Stacks, FilledByOneLoopAndEmptiedByAnother) {
  for (const std::string& text : BothForms(kTwoLoops)) {
    for (const int n : {0, 1, 4}) {
      ExpectGradient(text,
                     {{"x", Tensor::Vector<double>({0.3, -0.8})},
                      {"w", Tensor::Scalar(0.7)},
                      {"n", Tensor::Scalar<int32_t>(n)}},
                     {"x", "w"}, "y");
    }
  }
}

// The same by hand, with lists.
constexpr char kTwoLoopsWithLists[] = R"(
graph {
  %x = Placeholder() shape=(2) : float64
  %w = Placeholder() shape=() : float64
  %n = Placeholder() shape=() : int32
  %any = Const() value=int32{-1} : int32
  %s = EmptyTensorList(%any, %any) element_dtype=float64
  %there = StatelessWhile(%n, %x, %s) cond=@goes_on body=@push : (int32, float64, variant)
  %sum = ZerosLike(%there:1)
  %back = StatelessWhile(%n, %sum, %w, %there:2) cond=@goes_on_w body=@pop : (int32, float64, float64, variant)
  %y = Mul(%back:1, %there:1)
}
func @goes_on(%i: int32, %x: float64, %s: variant) -> (more: bool) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%i, %zero)
  return %more
}
func @goes_on_w(%i: int32, %sum: float64, %w: float64, %s: variant) -> (more: bool) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%i, %zero)
  return %more
}
func @push(%i: int32, %x: float64, %s: variant) -> (i: int32, x: float64, s: variant) {
  %one = Const() value=int32{1} : int32
  %next = Sub(%i, %one)
  %sin = Sin(%x)
  %pushed = TensorListPushBack(%s, %sin)
  return %next, %sin, %pushed
}
func @pop(%i: int32, %sum: float64, %w: float64, %s: variant) -> (i: int32, sum: float64, w: float64, s: variant) {
  %one = Const() value=int32{1} : int32
  %any = Const() value=int32{-1} : int32
  %next = Sub(%i, %one)
  %popped = TensorListPopBack(%s, %any) element_dtype=float64
  %scaled = Mul(%sum, %w)
  %more = AddV2(%scaled, %popped:1)
  return %next, %more, %w, %popped
}
)";

TEST(Stacks, HaveTheGradientsOfLists) {
  const Feeds feeds{{"x", Tensor::Vector<double>({0.3, -0.8})},
                    {"w", Tensor::Scalar(0.7)},
                    {"n", Tensor::Scalar<int32_t>(5)}};
  const std::vector<Tensor> want = GradientsAt(kTwoLoopsWithLists, feeds, {"x", "w"}, "y");
  ASSERT_EQ(want.size(), 2u);
  for (const std::string& text : BothForms(kTwoLoops)) {
    const std::vector<Tensor> got = GradientsAt(text, feeds, {"x", "w"}, "y");
    ASSERT_EQ(got.size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(got[i].values<double>(), want[i].values<double>());
  }
}

// A branch of a loop's body pushes, and the other loop pops where it has. Numbers tell which.
TEST(Stacks, UsedInBranches) {
  ExpectGradient(R"(
graph {
  %x = Placeholder() shape=() : float64
  %any = Const() value=int32{-1} : int32
  %zero = Const() value=int32{0} : int32
  %s = StackV2(%any) elem_type=float64
  %there = While(%zero, %x, %s) cond=@below_5 body=@up : (int32, float64, resource)
  %y0 = Square(%there:1)
  %back = While(%there, %y0, %s) cond=@above_0 body=@down : (int32, float64, resource)
  %y = Mul(%back:1, %x)
}
func @below_5(%i: int32, %x: float64, %s: resource) -> (more: bool) {
  %five = Const() value=int32{5} : int32
  %more = Less(%i, %five)
  return %more
}
func @above_0(%i: int32, %x: float64, %s: resource) -> (more: bool) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%i, %zero)
  return %more
}
func @is_odd(%i: int32) -> (odd: bool) {
  %two = Const() value=int32{2} : int32
  %one = Const() value=int32{1} : int32
  %rest = FloorMod(%i, %two)
  %odd = Equal(%rest, %one)
  return %odd
}
func @up(%i: int32, %x: float64, %s: resource) -> (i: int32, x: float64, s: resource) {
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one)
  %odd = PartitionedCall(%i) f=@is_odd : bool
  %y = If(%odd, %x, %s) then_branch=@keep else_branch=@sin : float64
  return %next, %y, %s
}
func @keep(%x: float64, %s: resource) -> (y: float64) {
  %same = Identity(%s)
  %exp = Exp(%x)
  %pushed = StackPushV2(%same, %exp)
  %y = Cos(%pushed)
  return %y
}
func @sin(%x: float64, %s: resource) -> (y: float64) {
  %y = Sin(%x)
  return %y
}
func @down(%i: int32, %x: float64, %s: resource) -> (i: int32, x: float64, s: resource) {
  %one = Const() value=int32{1} : int32
  %next = Sub(%i, %one)
  %odd = PartitionedCall(%next) f=@is_odd : bool
  %y = If(%odd, %x, %s) then_branch=@take else_branch=@sin : float64
  return %next, %y, %s
}
func @take(%x: float64, %s: resource) -> (y: float64) {
  %popped = StatefulPartitionedCall(%s) f=@pop_twice_and_push : float64
  %y = Mul(%x, %popped)
  return %y
}
func @pop_twice_and_push(%s: resource) -> (y: float64) {
  %a = StackPopV2(%s) elem_type=float64
  %square = Square(%a)
  %again = StackPushV2(%s, %square)
  %b = StackPopV2(%s, ^%again) elem_type=float64
  %y = Sin(%b)
  return %y
}
)",
                 {{"x", Tensor::Scalar(0.4)}}, {"x"}, "y");
}

// Each call has a stack of its own, and hands it to itself: 4 calls push, then the last pops 4.
TEST(Stacks, HandedThroughRecursion) {
  ExpectGradient(R"(
graph {
  %x = Placeholder() shape=() : float64
  %n = Const() value=int32{4} : int32
  %y = StatefulPartitionedCall(%n, %x) f=@all : float64
}
func @all(%n: int32, %x: float64) -> (y: float64) {
  %any = Const() value=int32{-1} : int32
  %s = StackV2(%any) elem_type=float64
  %y = StatefulPartitionedCall(%n, %x, %s) f=@go : float64
  return %y
}
func @go(%n: int32, %x: float64, %s: resource) -> (y: float64) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero)
  %y = If(%more, %n, %x, %s) then_branch=@deeper else_branch=@end : float64
  return %y
}
func @deeper(%n: int32, %x: float64, %s: resource) -> (y: float64) {
  %one = Const() value=int32{1} : int32
  %next = Sub(%n, %one)
  %sin = Sin(%x)
  %pushed = StackPushV2(%s, %x)
  %y0 = StatefulPartitionedCall(%next, %sin, %s, ^%pushed) f=@go : float64
  %popped = StackPopV2(%s, ^%y0) elem_type=float64
  %y = Mul(%y0, %popped)
  return %y
}
func @end(%n: int32, %x: float64, %s: resource) -> (y: float64) {
  %y = Exp(%x)
  return %y
}
)",
                 {{"x", Tensor::Scalar(0.4)}}, {"x"}, "y");
}

// A stack of a function whose gradient the program itself asks for.
TEST(Stacks, InFunctionsOfSymbolicGradients) {
  const std::string text = R"(
graph {
  %x = Placeholder() shape=() : float64
  %one = OnesLike(%x)
  %y = SymbolicGradient(%x, %one) f=@f Tin=[float64, float64] Tout=[float64]
}
func @f(%x: float64) -> (y: float64) {
  %any = Const() value=int32{-1} : int32
  %s = StackV2(%any) elem_type=float64
  %sin = Sin(%x)
  %pushed = StackPushV2(%s, %sin)
  %popped = StackPopV2(%s, ^%pushed) elem_type=float64
  %y = Mul(%popped, %popped)
  return %y
}
)";
  // (2 sin cos)' = 2 cos 2x
  const std::vector<Tensor> got = GradientsAt(text, {{"x", Tensor::Scalar(0.3)}}, {"x"}, "y");
  ASSERT_TRUE(got.size() == 1 && got[0].has_value());
  EXPECT_NEAR(got[0].scalar<double>(), 2 * std::cos(0.6), 1e-12);
}

// What a case's graph is wanted to have as second derivatives: its entries of order 2, or, if it
// has none, what Gyre makes of the graph for those of order 1.
std::vector<golden::Gradient> SecondDerivatives(const golden::Case& golden) {
  std::vector<golden::Gradient> entries;
  for (const golden::Gradient& entry : golden.gradients) {
    if (entry.order == 2) entries.push_back(entry);
  }
  if (!entries.empty()) return entries;
  const auto graph = LoadProgramFile(golden.graph_path());
  EXPECT_TRUE(graph.ok()) << graph.status();
  for (golden::Gradient entry : golden.gradients) {
    if (!entry.grad_ys.empty()) continue;
    const NamedGradientRequest request{
        .ys = entry.ys, .xs = entry.xs, .order = 2, .feeds = NamesOf(entry.feeds)};
    const auto made = MakeGradientProgram(*graph, request);
    EXPECT_TRUE(made.ok()) << golden.id() << ": " << made.status();
    if (!made.ok()) continue;
    Feeds feeds = entry.feeds;
    std::vector<std::string> fetches;
    for (size_t i = 0; i < feeds.size(); ++i) feeds[i].first = made->feeds[i];
    for (const auto& gradient : made->gradients) {
      if (gradient) fetches.push_back(*gradient);
    }
    const auto forward = Session::Create(*graph);
    for (const std::string& init : golden.init)
      EXPECT_TRUE((*forward)->Run({}, {}, {init}).ok()) << golden.id();
    const auto session = (*forward)->WithProgram(made->program);
    const auto values = (*session)->Run(feeds, fetches, made->targets);
    EXPECT_TRUE(values.ok()) << golden.id() << ": " << values.status();
    if (!values.ok()) continue;
    entry.order = 2;
    entry.expect.clear();
    size_t next = 0;
    for (const auto& gradient : made->gradients)
      entry.expect.push_back(gradient ? std::optional((*values)[next++]) : std::nullopt);
    entry.tolerance = {1e-5, 1e-5};
    entries.push_back(std::move(entry));
  }
  return entries;
}

// The gradients of a graph that TensorFlow has written with its gradients (gradgraphs_v1), whose
// loops push and pop, are the second derivatives of the graph without them (autodiff).
TEST(Stacks, OfImportedGradientGraphs) {
  const auto folders = golden::FindCases(test::SourcePath("tests/golden/gradgraphs_v1"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  int passed = 0, with_arrays = 0;
  for (const std::string& folder : *folders) {
    auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    const auto plain = golden::ReadCase(
        test::SourcePath(absl::StrCat("tests/golden/autodiff/", golden->name, "_v1")));
    if (!plain.ok() || golden->steps.empty()) continue;
    golden->gradients = SecondDerivatives(*plain);
    const std::vector<std::string> fetches = golden->steps[0].fetches;
    golden->steps.clear();
    for (golden::Gradient& entry : golden->gradients) {
      entry.order = 1;
      entry.ys.clear();
      for (const std::string& fetch : fetches) {
        if (fetch[0] == 'g') entry.ys.push_back(fetch);
      }
    }
    for (const std::string memory : {"save", "recompute(2)", "checkpoint(200)"}) {
      for (const auto& result : golden::RunCase(*golden, {.memory = *ParseMemoryPolicy(memory)})) {
        const bool has_arrays = absl::StrContains(result.why, "array of gradients");
        with_arrays += has_arrays ? 1 : 0;
        passed += result.outcome == golden::Outcome::kPassed ? 1 : 0;
        EXPECT_TRUE(has_arrays || result.why.empty())
            << result.what << " " << memory << ": " << result.why;
      }
    }
  }
  std::cout << passed << " entries, " << with_arrays << " refused\n";
  EXPECT_GE(passed, 180);
  EXPECT_LE(with_arrays, 18);  // fold, map, nested maps, scan, reads, writes
}

}  // namespace
}  // namespace gyre::testing
