// What the engines must agree on beyond values: the words of errors, random numbers.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

SessionOptions On(const std::string& engine, uint64_t schedule_seed = 0, int threads = 1) {
  SessionOptions options;
  options.engine = *ParseEngineKind(engine);
  options.seed = 7;
  options.parallel.threads = threads;
  options.testing.schedule_seed = schedule_seed;
  return options;
}

TEST(EnginesAgree, OnTheTextOfEveryErrorOfTheGoldenGraphs) {
  int errors = 0;
  for (const LoadedCase& one : LoadCases({"errors"})) {
    const std::vector<RunResult> want = RunCase(one, On("reference"));
    const std::vector<RunResult> got = RunCase(one, On("dataflow"));
    ASSERT_EQ(got.size(), want.size()) << one.golden.id();
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].status().ToString(), want[i].status().ToString()) << one.golden.id();
      errors += want[i].ok() ? 0 : 1;
    }
  }
  EXPECT_GT(errors, 20);
}

// `inner` goes where an int32 %v makes an int32 %q, and fails when %v is 3.
constexpr char kFails[] = R"(
  %three = Const() value=int32{3} : int32
  %one = Const() value=int32{1} : int32
  %left = Sub(%three, %v) : int32
  %q = FloorDiv(%one, %left) : int32
)";

// Functions that wrap one another in every kind of structure; main is given.
std::string Nest(const std::string& main) {
  return absl::StrCat("graph {\n  %zero = Const() value=int32{0} : int32\n", main, R"(
}
func @more(%v: int32) -> (p: bool) {
  %ten = Const() value=int32{10} : int32
  %p = Less(%v, %ten) : bool
  return %p
}
func @failing_cond(%v: int32) -> (p: bool) {)",
                      kFails, R"(
  %ten = Const() value=int32{10} : int32
  %two = AddV2(%q, %ten) : int32
  %p = Less(%v, %two) : bool
  return %p
}
func @fail(%v: int32) -> (w: int32) {)",
                      kFails, R"(
  %zero = Const() value=int32{0} : int32
  %none = Mul(%q, %zero) : int32
  %w0 = AddV2(%v, %none) : int32
  %w = AddV2(%w0, %one) : int32
  return %w
}
func @next(%v: int32) -> (w: int32) {
  %one = Const() value=int32{1} : int32
  %w = AddV2(%v, %one) : int32
  return %w
}
func @branch(%v: int32) -> (w: int32) {
  %two = Const() value=int32{2} : int32
  %p = Greater(%v, %two) : bool
  %w = StatelessIf(%p, %v) then_branch=@fail else_branch=@next : int32
  return %w
}
func @cases(%v: int32) -> (w: int32) {
  %c = StatelessCase(%v, %v) branches=[@next, @next, @next, @fail, @next] : int32
  return %c
}
func @loop(%v: int32) -> (w: int32) {
  %inner = StatelessWhile(%v) cond=@more body=@fail : int32
  return %inner
}
func @cond_loop(%v: int32) -> (w: int32) {
  %inner = StatelessWhile(%v) cond=@failing_cond body=@next : int32
  return %inner
}
func @add(%i: int32, %v: int32) -> (w: int32) {
  %w = PartitionedCall(%i) f=@fail : int32
  return %w
}
func @for(%v: int32) -> (w: int32) {
  %zero = Const() value=int32{0} : int32
  %ten = Const() value=int32{10} : int32
  %one = Const() value=int32{1} : int32
  %w = For(%zero, %ten, %one, %v) body=@add : int32
  return %w
}
func @call(%v: int32) -> (w: int32) {
  %w = PartitionedCall(%v) f=@fail : int32
  return %w
}
func @recurse(%v: int32) -> (w: int32) {
  %three = Const() value=int32{3} : int32
  %p = Less(%v, %three) : bool
  %w = StatelessIf(%p, %v) then_branch=@deeper else_branch=@fail : int32
  return %w
}
func @deeper(%v: int32) -> (w: int32) {
  %one = Const() value=int32{1} : int32
  %u = AddV2(%v, %one) : int32
  %w = PartitionedCall(%u) f=@recurse : int32
  return %w
}
)");
}

TEST(EnginesAgree, OnWhereNestedProgramsFail) {
  // A loop that is written down in primitives, around a call.
  const auto primitives = [](const std::string& function) {
    return absl::StrCat(R"(
  %enter = Enter(%zero) frame_name="outer" : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %ten = Const(^%merge) value=int32{10} : int32
  %less = Less(%merge, %ten) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %made = PartitionedCall(%switch:1) f=@)",
                        function, R"( : int32
  %one = Const(^%switch) value=int32{1} : int32
  %add = AddV2(%switch:1, %one, ^%made) : int32
  %next = NextIteration(%add) : int32
  %y = Exit(%switch) : int32)");
  };
  int errors = 0;
  const std::vector<std::string> functions = {"fail",      "branch", "cases", "loop",
                                              "cond_loop", "for",    "call",  "recurse"};
  for (const std::string& function : functions) {
    for (const std::string& main :
         {absl::StrCat("  %y = PartitionedCall(%zero) f=@", function, " : int32"),
          absl::StrCat("  %y = StatelessWhile(%zero) cond=@more body=@", function, " : int32"),
          absl::StrCat("  %y = StatelessCase(%zero, %zero) branches=[@", function,
                       ", @next] : int32"),
          primitives(function)}) {
      std::string want;
      for (const std::string engine : {"reference", "dataflow", "compiled"}) {
        auto session = SessionFor(Nest(main), On(engine));
        ASSERT_NE(session, nullptr);
        const std::string got = RunStatus(*session, {}, "y:0").ToString();
        if (engine == "reference") want = got;
        EXPECT_EQ(got, want) << main;
      }
      errors += absl::StrContains(want, "at node q (FloorDiv)") ? 1 : 0;
    }
  }
  EXPECT_GE(errors, 20);
}

// Stateful random ops in every kind of place.
TEST(EnginesAgree, OnRandomNumbers) {
  constexpr char kText[] = R"(
graph {
  %zero = Const() value=int32{0} : int32
  %f0 = Const() value=float32{0} : float32
  %five = Const() value=int32{5} : int32
  %one = Const() value=int32{1} : int32
  %shape = Const() value=int32[0]{} : int32
  %main = RandomUniform(%shape) dtype=float32 : float32
  %main2 = RandomUniform(%shape) dtype=float32 : float32
  %call = StatefulPartitionedCall() f=@draw : float32
  %call2 = StatefulPartitionedCall() f=@draw : float32
  %if = If(%one, %f0) then_branch=@add else_branch=@keep : float32
  %case = Case(%one, %f0) branches=[@keep, @add, @keep] : float32
  %while = While(%zero, %f0) cond=@more body=@step : (int32, float32)
  %nested = While(%zero, %f0) cond=@more body=@outer : (int32, float32)
  %for = For(%zero, %five, %one, %f0) body=@count : float32
  %tree = StatefulPartitionedCall(%five, %f0) f=@down : float32
  %inloop = While(%zero, %f0) cond=@random_cond body=@recursing : (int32, float32)
  %enter = Enter(%zero) frame_name="hand" : int32
  %enter_x = Enter(%f0) frame_name="hand" : float32
  %merge = Merge(%enter, %next) : (int32, int32)
  %merge_x = Merge(%enter_x, %next_x) : (float32, int32)
  %ten = Const(^%merge) value=int32{6} : int32
  %less = Less(%merge, %ten) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %switch_x = Switch(%merge_x, %cond) : (float32, float32)
  %step = Const(^%switch) value=int32{1} : int32
  %add = AddV2(%switch:1, %step) : int32
  %in_shape = Const(^%switch) value=int32[0]{} : int32
  %drawn = RandomUniform(%in_shape) dtype=float32 : float32
  %called = StatefulPartitionedCall(%switch_x:1) f=@add : float32
  %looped = While(%step, %called) cond=@more body=@step : (int32, float32)
  %sum = AddV2(%looped:1, %drawn) : float32
  %next = NextIteration(%add) : int32
  %next_x = NextIteration(%sum) : float32
  %hand = Exit(%switch_x) : float32
}
func @draw() -> (y: float32) {
  %shape = Const() value=int32[0]{} : int32
  %y = RandomUniform(%shape) dtype=float32 : float32
  return %y
}
func @add(%x: float32) -> (y: float32) {
  %shape = Const() value=int32[0]{} : int32
  %r = RandomUniform(%shape) dtype=float32 : float32
  %y = AddV2(%x, %r) : float32
  return %y
}
func @keep(%x: float32) -> (y: float32) {
  return %x
}
func @more(%i: int32, %x: float32) -> (p: bool) {
  %n = Const() value=int32{4} : int32
  %p = Less(%i, %n) : bool
  return %p
}
func @random_cond(%i: int32, %x: float32) -> (p: bool) {
  %shape = Const() value=int32[0]{} : int32
  %r = RandomUniform(%shape) dtype=float32 : float32
  %n = Const() value=float32{0.9} : float32
  %p1 = Less(%r, %n) : bool
  %m = Const() value=int32{8} : int32
  %p2 = Less(%i, %m) : bool
  %p = LogicalAnd(%p1, %p2) : bool
  return %p
}
func @step(%i: int32, %x: float32) -> (j: int32, y: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %y = StatefulPartitionedCall(%x) f=@add : float32
  return %j, %y
}
func @outer(%i: int32, %x: float32) -> (j: int32, y: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %zero = Const() value=int32{0} : int32
  %w = While(%zero, %x) cond=@more body=@step : (int32, float32)
  %two = Const() value=int32{2} : int32
  %odd = FloorMod(%i, %two) : int32
  %y = If(%odd, %w:1) then_branch=@add else_branch=@keep : float32
  return %j, %y
}
func @count(%i: int32, %x: float32) -> (y: float32) {
  %y = StatefulPartitionedCall(%x) f=@add : float32
  return %y
}
func @down(%n: int32, %x: float32) -> (y: float32) {
  %zero = Const() value=int32{0} : int32
  %more = Greater(%n, %zero) : bool
  %y = If(%more, %n, %x) then_branch=@deeper else_branch=@bottom : float32
  return %y
}
func @bottom(%n: int32, %x: float32) -> (y: float32) {
  %y = StatefulPartitionedCall(%x) f=@add : float32
  return %y
}
func @deeper(%n: int32, %x: float32) -> (y: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %shape = Const() value=int32[0]{} : int32
  %r = RandomUniform(%shape) dtype=float32 : float32
  %xr = AddV2(%x, %r) : float32
  %left = StatefulPartitionedCall(%m, %xr) f=@down : float32
  %right = StatefulPartitionedCall(%m, %x) f=@down : float32
  %y = AddV2(%left, %right) : float32
  return %y
}
func @recursing(%i: int32, %x: float32) -> (j: int32, y: float32) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %y = StatefulPartitionedCall(%i, %x) f=@down : float32
  return %j, %y
}
)";
  const std::vector<std::string> fetches = {"main:0", "main2:0", "call:0",   "call2:0",
                                            "if:0",   "case:0",  "while:1",  "nested:1",
                                            "for:0",  "tree:0",  "inloop:1", "hand:0"};
  auto reference = SessionFor(kText, On("reference"));
  ASSERT_NE(reference, nullptr);
  std::vector<RunResult> want;
  for (int run = 0; run < 2; ++run) want.push_back(reference->Run({}, fetches));
  ASSERT_TRUE(want[0].ok()) << want[0].status();
  EXPECT_TRUE(BitDifference(want[0], want[1])) << "each run draws new ones";
  for (const uint64_t seed : {0, 0, 1, 2, 3}) {
    auto session = SessionFor(kText, On("dataflow", seed, 2));
    ASSERT_NE(session, nullptr);
    for (int run = 0; run < 2; ++run) {
      const RunResult got = session->Run({}, fetches);
      ASSERT_TRUE(got.ok()) << got.status();
      for (size_t i = 0; i < fetches.size(); ++i) {
        EXPECT_EQ((*got)[i].scalar<float>(), (*want[run])[i].scalar<float>())
            << fetches[i] << " with schedule seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace gyre::testing
