// Native code of register loops: what of a loop is native, and how it and the interpreter take
// turns.
#include "exec/sequential/native.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "exec/register_loop.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

constexpr char kAddHalf[] = "%y = AddV2(%x, %half) : float32\n%m = Identity(%l) : variant";
constexpr char kHalf[] = "%half = Const() value=float32{0.5} : float32\n";

// The region of a LoopText's native code; null if there is none.
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

TEST(NativeLoop, HasScalarsInCellsAndCallsForTheRest) {
  const Native plain =
      NativeOf(LoopText(absl::StrCat(kHalf,
                                     "%s = Sin(%x) : float32\n%y = Mul(%s, %half) : float32\n"
                                     "%m = Identity(%l) : variant")));
  ASSERT_NE(plain.native, nullptr);
  EXPECT_EQ(plain.Count(compiled::Action::kScalar), 4) << "Less, AddV2, Sin, Mul";
  EXPECT_EQ(plain.Count(compiled::Action::kCall), 0);
  const Native pushing =
      NativeOf(LoopText(absl::StrCat(kHalf,
                                     "%y = Mul(%x, %half) : float32\n"
                                     "%m = TensorListPushBack(%l, %y) : variant")));
  ASSERT_NE(pushing.native, nullptr);
  EXPECT_EQ(pushing.Count(compiled::Action::kScalar), 3);
  EXPECT_EQ(pushing.Count(compiled::Action::kCall), 2) << "the push, and its result's move";
}

TEST(NativeLoop, HandsItsRegistersToTheInterpreterWhereACheckFails) {
  const std::string text = LoopText(
      "%seven = Const() value=int32{7} : int32\n%d = Sub(%seven, %i) : int32\n"
      "%q = FloorDiv(%n, %d) : int32\n%f = Cast(%q) : float32\n%y = AddV2(%x, %f) : float32\n"
      "%m = TensorListPushBack(%l, %y) : variant");
  std::string want;
  for (const char* engine : {"reference", "dataflow", "compiled"}) {
    auto session = SessionFor(text, {.engine = engine});
    const std::string got = RunStatus(*session, LoopFeeds(20, 1), "loop:2").ToString();
    if (want.empty()) want = got;
    EXPECT_EQ(got, want);
    EXPECT_EQ(RunScalar<int32_t>(*session, LoopFeeds(5, 1), "length:0"), 5) << "still usable";
  }
  EXPECT_NE(want.find("in iteration 7"), std::string::npos) << want;
}

TEST(NativeLoop, LeavesToTheInterpreterWhatIsNoScalarAfterAll) {
  auto session = SessionFor(LoopText(absl::StrCat(kHalf, kAddHalf)), {.engine = "compiled"});
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(4, 1), "loop:2"), 3);
  // A bound of which the program says nothing: true while it has elements.
  const Feeds none = {{"n:0", Tensor::FromValues<int32_t>({}, Shape::Vector(0))},
                      {"x:0", Tensor::Scalar(1.0f)}};
  EXPECT_EQ(RunScalar<float>(*session, none, "loop:2"), 1);
}

// As tokens, so many iterations would take several seconds.
TEST(NativeLoop, RunsBesideAProbeOfProgress) {
  auto session = SessionFor(LoopText(absl::StrCat(kHalf, kAddHalf)), {.engine = "compiled"});
  ProgressProbe probe([](const RunProgress&) {});
  RunOptions options;
  options.progress = &probe;
  options.timeout_ms = 2500;
  EXPECT_EQ(RunScalar<int32_t>(*session, LoopFeeds(30'000'000, 1), "loop:0", options), 30'000'000);
}

TEST(NativeLoop, RunsOnManyThreadsAtOnce) {
#if defined(__SANITIZE_THREAD__) || defined(GYRE_TSAN)
  GTEST_SKIP() << "tsan sees neither what generated code does nor what LLVM does";
#endif
  auto session =
      SessionFor(LoopText(absl::StrCat(kHalf,
                                       "%s = Sin(%x) : float32\n%y = AddV2(%s, %half) : float32\n"
                                       "%m = TensorListPushBack(%l, %y) : variant")),
                 {.engine = "compiled"});
  const float want = RunScalar<float>(*session, LoopFeeds(3000, 1), "loop:2");
  RunOnThreads(4, [&](int) {
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3000, 1), "loop:2"), want);
  });
}

}  // namespace
}  // namespace gyre::testing
