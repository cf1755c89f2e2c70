// Native code of register loops: what of a loop is native, and how it and the interpreter take
// turns.
#include "exec/sequential/native.h"

#include "absl/algorithm/container.h"
#include "base/env.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// A loop of int32 i from 0 to n, x (float32) and a list; `body` makes %y and %m.
std::string Loop(const std::string& body) {
  return R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=int32{0} : int32
  %none = Const() value=int32[0]{} : int32
  %any = Const() value=int32{-1} : int32
  %l = EmptyTensorList(%none, %any) element_dtype=float32 : variant
  %loop = While(%zero, %n, %x, %l) cond=@more body=@step : (int32, int32, float32, variant)
  %length = TensorListLength(%loop:3) : int32
}
func @more(%i: int32, %n: int32, %x: float32, %l: variant) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %l: variant) -> (j: int32, n: int32, y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %half = Const() value=float32{0.5} : float32
  %j = AddV2(%i, %one) : int32
)" + body +
         R"(
  return %j, %n, %y, %m
}
)";
}

// The region of that loop's native code; null if there is none.
struct Native {
  std::unique_ptr<Session> session;  // keeps the program
  std::shared_ptr<sequential::RegisterLoop> loop;
  std::shared_ptr<sequential::NativeLoop> native;

  int Count(compiled::Action action) const {
    return static_cast<int>(absl::c_count_if(native->region().instructions,
                                             [&](const auto& op) { return op.action == action; }));
  }
};
Native NativeOf(const std::string& text) {
  Native made{SessionFor(text), nullptr, nullptr};
  lower::ProgramFacts facts(made.session->program());
  facts.InferMainShapes({});
  made.loop = sequential::CompileLoop(facts, *made.session->program().main().FindNode("loop"));
  if (made.loop != nullptr) made.native = sequential::NativeLoop::Make(*made.loop);
  return made;
}

Feeds FeedsOf(int32_t n, float x) {
  return {{"n:0", Tensor::Scalar(n)}, {"x:0", Tensor::Scalar(x)}};
}

TEST(NativeLoop, HasScalarsInCellsAndCallsForTheRest) {
  const Native plain =
      NativeOf(Loop("%s = Sin(%x) : float32\n%y = Mul(%s, %half) : float32\n"
                    "%m = Identity(%l) : variant"));
  ASSERT_NE(plain.native, nullptr);
  EXPECT_EQ(plain.Count(compiled::Action::kScalar), 4) << "Less, AddV2, Sin, Mul";
  EXPECT_EQ(plain.Count(compiled::Action::kCall), 0);
  const Native pushing =
      NativeOf(Loop("%y = Mul(%x, %half) : float32\n"
                    "%m = TensorListPushBack(%l, %y) : variant"));
  ASSERT_NE(pushing.native, nullptr);
  EXPECT_EQ(pushing.Count(compiled::Action::kScalar), 3);
  EXPECT_EQ(pushing.Count(compiled::Action::kCall), 2) << "the push, and its result's move";
}

TEST(NativeLoop, HandsItsRegistersToTheInterpreterWhereACheckFails) {
  const std::string text = Loop(
      "%seven = Const() value=int32{7} : int32\n%d = Sub(%seven, %i) : int32\n"
      "%q = FloorDiv(%n, %d) : int32\n%f = Cast(%q) : float32\n%y = AddV2(%x, %f) : float32\n"
      "%m = TensorListPushBack(%l, %y) : variant");
  std::string want;
  for (const char* engine : {"reference", "dataflow", "compiled"}) {
    auto session = SessionFor(text, {.engine = engine});
    const std::string got = RunStatus(*session, FeedsOf(20, 1), "loop:2").ToString();
    if (want.empty()) want = got;
    EXPECT_EQ(got, want);
    EXPECT_EQ(RunScalar<int32_t>(*session, FeedsOf(5, 1), "length:0"), 5) << "still usable";
  }
  EXPECT_NE(want.find("in iteration 7"), std::string::npos) << want;
}

TEST(NativeLoop, IsLeftForGoodWhereAVariableIsNoScalar) {
  // The bound is a list of one number: its comparison is no cell, whatever the first run had.
  auto session = SessionFor(Loop("%y = AddV2(%x, %half) : float32\n%m = Identity(%l) : variant"),
                            {.engine = "compiled"});
  EXPECT_EQ(RunScalar<float>(*session, FeedsOf(4, 1), "loop:2"), 3);
  EXPECT_FALSE(RunStatus(*session,
                         {{"n:0", Tensor::Vector<int32_t>({4})}, {"x:0", Tensor::Scalar(1.0f)}},
                         "loop:2")
                   .ok())
      << "the placeholder says that it is a scalar";
}

TEST(NativeLoop, RunsOnManyThreadsAtOnce) {
#if defined(__SANITIZE_THREAD__) || defined(GYRE_TSAN)
  GTEST_SKIP() << "tsan sees neither what generated code does nor what LLVM does";
#endif
  auto session = SessionFor(Loop("%s = Sin(%x) : float32\n%y = AddV2(%s, %half) : float32\n"
                                 "%m = TensorListPushBack(%l, %y) : variant"),
                            {.engine = "compiled"});
  const float want = RunScalar<float>(*session, FeedsOf(3000, 1), "loop:2");
  RunOnThreads(4, [&](int) {
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(RunScalar<float>(*session, FeedsOf(3000, 1), "loop:2"), want);
  });
}

}  // namespace
}  // namespace gyre::testing
