// Native code of register loops: what of a loop is native, and how it and the interpreter take
// turns.
#include "exec/sequential/native.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "exec/register_loop.h"
#include "support/compile_setting.h"
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
  const Function& main = made.session->program().main();
  made.loop = sequential::CompileLoop(facts, main, *main.FindNode("loop"));
  if (made.loop == nullptr) return made;
  made.native = std::make_shared<sequential::NativeLoop>();
  if (!made.native->MakeRegion(*made.loop)) made.native = nullptr;
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
  EXPECT_EQ(pushing.Count(compiled::Action::kObject), 1);
  EXPECT_EQ(pushing.Count(compiled::Action::kCall), 0);
  const Native packing =
      NativeOf(LoopText("%v = Sign(%p) : float32\n%zero = Const() value=int32{0} : int32\n"
                        "%p = Pack(%x, %x) : float32\n"
                        "%y = Sum(%v, %zero) : float32\n%m = Identity(%l) : variant"));
  ASSERT_NE(packing.native, nullptr);
  EXPECT_EQ(packing.Count(compiled::Action::kCall), 0);
}

TEST(NativeLoop, HandlesListsVariablesAndElementsWithoutTheInterpreter) {
  const std::string shape = "%s = Const() value=int32[0]{} : int32\n";
  const struct {
    const char* what;
    std::string body;
    int objects;
  } cases[] = {
      {"pop",
       "%a = TensorListPushBack(%l, %x) : variant\n"
       "%p = TensorListPopBack(%a, %s) element_dtype=float32 : (variant, float32)\n"
       "%y = Neg(%p:1) : float32\n%m = Identity(%p) : variant",
       2},
      {"get and set",
       "%a = TensorListSetItem(%l, %i, %x) : variant\n"
       "%y = TensorListGetItem(%a, %i, %s) element_dtype=float32 : float32\n"
       "%m = Identity(%a) : variant",
       2},
      {"length",
       "%k = TensorListLength(%l) : int32\n%f = Cast(%k) : float32\n"
       "%y = AddV2(%x, %f) : float32\n%m = Identity(%l) : variant",
       1},
  };
  for (const auto& each : cases) {
    const Native native = NativeOf(LoopText(absl::StrCat(shape, each.body)));
    ASSERT_NE(native.native, nullptr) << each.what;
    EXPECT_EQ(native.Count(compiled::Action::kObject), each.objects) << each.what;
    EXPECT_EQ(native.Count(compiled::Action::kCall), 0) << each.what;
  }
}

TEST(NativeLoop, HandsItsRegistersToTheInterpreterWhereACheckFails) {
  const std::string text = LoopText(
      "%seven = Const() value=int32{7} : int32\n%d = Sub(%seven, %i) : int32\n"
      "%q = FloorDiv(%n, %d) : int32\n%f = Cast(%q) : float32\n%y = AddV2(%x, %f) : float32\n"
      "%m = TensorListPushBack(%l, %y) : variant");
  std::string want;
  for (const char* engine : {"reference", "dataflow", "compiled"}) {
    auto session = SessionFor(text, {.engine = *ParseEngineKind(engine)});
    const std::string got = RunStatus(*session, LoopFeeds(20, 1), "loop:2").ToString();
    if (want.empty()) want = got;
    EXPECT_EQ(got, want);
    EXPECT_EQ(RunScalar<int32_t>(*session, LoopFeeds(5, 1), "length:0"), 5) << "still usable";
  }
  EXPECT_NE(want.find("in iteration 7"), std::string::npos) << want;
}

TEST(NativeLoop, LeavesToTheInterpreterWhatIsNoScalarAfterAll) {
  auto session =
      SessionFor(LoopText(absl::StrCat(kHalf, kAddHalf)), {.engine = EngineKind::kCompiled});
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(4, 1), "loop:2"), 3);
  // A bound of which the program says nothing: true while it has elements.
  const Feeds none = {{"n:0", Tensor::FromValues<int32_t>({}, Shape::Vector(0))},
                      {"x:0", Tensor::Scalar(1.0f)}};
  EXPECT_EQ(RunScalar<float>(*session, none, "loop:2"), 1);
}

// A vector as a condition is true while it has elements, whatever they are.
TEST(NativeLoop, IsNoneWhereTheConditionIsNoScalar) {
  for (const char* bound : {"int32[0]{}", "int32[1]{5}", "int32[2]{5, 0}"}) {
    const std::string text = absl::StrReplaceAll(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %loop = StatelessWhile(%n) cond=@more body=@step : int32
}
func @more(%i: int32) -> (p: bool) {
  %k = Const() value=BOUND : int32
  %p = Less(%i, %k) : bool
  return %p
}
func @step(%i: int32) -> (j: int32) {
  %nine = Const() value=int32{9} : int32
  %hundred = Const() value=int32{100} : int32
  %left = Sub(%hundred, %i) : int32
  %q = FloorDiv(%nine, %left) : int32
  %zero = Const() value=int32{0} : int32
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32
  %none = Minimum(%q, %zero) : int32
  %j = AddV2(%next, %none) : int32
  return %j
}
)",
                                                 {{"BOUND", bound}});
    EXPECT_FALSE(RunsOnRegisters(text));
    std::string want;
    for (const EngineKind engine :
         {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
      const auto got = SessionFor(text, {.engine = engine})->Run(LoopFeeds(1, 0), {"loop:0"});
      const std::string said =
          got.ok() ? absl::StrCat((*got)[0].scalar<int32_t>()) : got.status().ToString();
      if (want.empty()) want = said;
      EXPECT_EQ(said, want) << bound;
    }
    EXPECT_EQ(absl::StrContains(want, "iteration 99"), bound != std::string("int32[0]{}")) << want;
  }
}

// As tokens, so many iterations would take several seconds.
TEST(NativeLoop, RunsBesideAProbeOfProgress) {
  auto session =
      SessionFor(LoopText(absl::StrCat(kHalf, kAddHalf)), {.engine = EngineKind::kCompiled});
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
                 {.engine = EngineKind::kCompiled});
  const float want = RunScalar<float>(*session, LoopFeeds(3000, 1), "loop:2");
  RunOnThreads(4, [&](int) {
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3000, 1), "loop:2"), want);
  });
}

// The bits of x after `n` iterations of x = x * 0.9999 + 0.25.
constexpr char kDecay[] =
    "%a = Const() value=float32{0.9999} : float32\n"
    "%b = Const() value=float32{0.25} : float32\n"
    "%p = Mul(%x, %a) : float32\n%y = AddV2(%p, %b) : float32\n"
    "%m = Identity(%l) : variant";

TEST(HotLoops, BecomeNativeCodeWhileTheyRun) {
  const std::string text = LoopText(kDecay);
  float want = 0;
  {
    const CompileSetting never("never");
    const int64_t before = NumCompiledLoops();
    want = RunScalar<float>(*SessionFor(text), LoopFeeds(2'000'000, 1), "loop:2");
    EXPECT_EQ(NumCompiledLoops(), before);
  }
  auto session = SessionFor(text);
  const int64_t before = NumCompiledLoops();
  const int64_t until = SystemClock().NowNanos() + 30'000'000'000;
  while (NumCompiledLoops() == before && SystemClock().NowNanos() < until)
    EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(2'000'000, 1), "loop:2"), want);
  EXPECT_GT(NumCompiledLoops(), before);
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(2'000'000, 1), "loop:2"), want);
}

TEST(HotLoops, ChangeOverAtAnyIterationWithTheSameBits) {
  const std::string text = LoopText(
      absl::StrCat("%three = Const() value=int32{3} : int32\n%r = FloorMod(%i, %three) : int32\n"
                   "%zero = Const() value=int32{0} : int32\n%q = Equal(%r, %zero) : bool\n"
                   "%f = If(%q, %x, %l) then_branch=@push else_branch=@keep : (float32, variant)\n"
                   "%y = Identity(%f) : float32\n%m = Identity(%f:1) : variant"),
      R"(
func @push(%x: float32, %l: variant) -> (y: float32, m: variant) {
  %y = Cos(%x) : float32
  %m = TensorListPushBack(%l, %y) : variant
  return %y, %m
}
func @keep(%x: float32, %l: variant) -> (y: float32, m: variant) {
  %y = Sin(%x) : float32
  return %y, %l
}
)");
  const auto want = SessionFor(text, {.engine = EngineKind::kReference})
                        ->Run(LoopFeeds(100, 0.5f), {"loop:0", "loop:2", "length:0"});
  ASSERT_TRUE(want.ok()) << want.status();
  for (int kernels = 1; kernels < 700; kernels += 1 + kernels / 4) {
    const CompileSetting after(absl::StrCat("after:", kernels));
    const auto got = SessionFor(text)->Run(LoopFeeds(100, 0.5f), {"loop:0", "loop:2", "length:0"});
    ASSERT_TRUE(got.ok()) << got.status();
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(std::memcmp((*got)[i].raw_data(), (*want)[i].raw_data(), (*want)[i].bytes()), 0)
          << "output " << i << " after " << kernels << " kernels";
  }
}

TEST(HotLoops, SayWhatIsNoSettingOfTheirs) {
  const CompileSetting typo("allways");
  const absl::Status status = RunStatus(*SessionFor(LoopText(kDecay)), LoopFeeds(1, 1), "loop:2");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("auto, always, never or contract"), std::string::npos) << status;
}

// A child of fork() has no thread that compiles, and may be made while the parent's one does.
TEST(HotLoops, OutliveAFork) {
  const std::string text = LoopText(kDecay);
  auto session = SessionFor(text);
  const float want = RunScalar<float>(*session, LoopFeeds(300'000, 1), "loop:2");
  for (int i = 0; i < 10; ++i) {
    auto fresh = SessionFor(text);  // whose loop becomes hot anew
    EXPECT_EQ(RunScalar<float>(*fresh, LoopFeeds(300'000, 1), "loop:2"), want);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool same = RunScalar<float>(*fresh, LoopFeeds(300'000, 1), "loop:2") == want &&
                        RunScalar<float>(*session, LoopFeeds(300'000, 1), "loop:2") == want;
      _exit(same ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

// x * a + b over and over, in single precision, rounded as `step` rounds it.
TEST(NativeLoop, RoundsOnceOnlyForWhoAllowsContraction) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this machine has no such instruction";
  const std::string text = LoopText(
      absl::StrCat(kHalf,
                   "%a = Const() value=float32{-1.01} : float32\n%s = Mul(%x, %a) : float32\n"
                   "%y = AddV2(%s, %half) : float32\n%m = Identity(%l) : variant"));
  float twice = 7, once = 7;
  for (int i = 0; i < 100; ++i) {
    const volatile float product = twice * -1.01f;
    twice = product + 0.5f;
    once = std::fma(once, -1.01f, 0.5f);
  }
  ASSERT_NE(twice, once);
  for (const CompileMode mode : kCompileModes) {
    const std::unique_ptr<Session> session = SessionFor(text, {.compile = mode});
    const auto result = session->Run(LoopFeeds(100, 7), {"loop:2"});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)[0].scalar<float>(), mode == CompileMode::kContract ? once : twice)
        << to_string(mode);
  }
}

}  // namespace
}  // namespace gyre::testing
