// Lowered programs do what they did: values, errors, and effects in their order.
#include <random>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "ir/parse.h"
#include "ir/text/literal.h"
#include "ir/text/printer.h"
#include "lower/lowering.h"
#include "session/names.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One run, in words: values or the first line of the error, then what was printed.
struct Observed {
  std::string text;
  std::vector<std::string> printed;
};

Observed Observe(const std::shared_ptr<const Program>& program, const RunSignature& signature,
                 const std::vector<Tensor>& feeds) {
  Runner runner;
  const auto result = runner.Run(program, signature, feeds);
  Observed observed;
  if (result.ok()) {
    for (const Tensor& value : *result) absl::StrAppend(&observed.text, WriteAttrValue(value), " ");
  } else {
    const std::vector<std::string> lines = absl::StrSplit(result.status().message(), '\n');
    observed.text = absl::StrCat(absl::StatusCodeToString(result.status().code()), ": ", lines[0]);
  }
  observed.printed = runner.printed();
  return observed;
}

// Runs the main graph as it is and lowered; fails the test unless both are observed to do the same.
Observed RunBoth(const std::string& text, const std::vector<std::string>& feeds,
                 const std::vector<Tensor>& values, const std::vector<std::string>& fetches) {
  const auto program = Parse(text);
  const auto signature = MainNames(*program).FindSignature(feeds, fetches, {});
  EXPECT_TRUE(signature.ok()) << signature.status();
  if (!signature.ok()) return {};
  const Observed want = Observe(program, *signature, values);
  for (const int depth : {64, 1, 0}) {
    const auto lowered = LowerMain(*program, *signature, {.max_depth = depth});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    if (!lowered.ok()) return {};
    const LoweredProgram shuffled = Shuffled(*lowered, depth);
    for (const LoweredProgram& each : {*lowered, shuffled}) {
      const Observed got = Observe(each.program, each.signature, values);
      EXPECT_EQ(got.text, want.text) << text << PrintFunction(lowered->program->main());
      EXPECT_EQ(got.printed, want.printed) << text << PrintFunction(lowered->program->main());
    }
  }
  return want;
}

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

TEST(LowerBehaviour, BoundsOfAFor) {
  const std::string text = R"(
    graph {
      %start = Placeholder() dtype=int32
      %limit = Placeholder() dtype=int32
      %delta = Placeholder() dtype=int32
      %x = Const() value=int32{1}
      %for = For(%start, %limit, %delta, %x, %x) body=@add : (int32, int32)
    }
    func @add(%i: int32, %x: int32, %y: int32) -> (x: int32, y: int32) {
      %ten = Const() value=int32{10}
      %shifted = Mul(%x, %ten)
      %sum = AddV2(%shifted, %i)
      return %sum, %y
    })";
  const auto run = [&](Tensor start, Tensor limit, Tensor delta) {
    return RunBoth(text, {"start:0", "limit:0", "delta:0"}, {start, limit, delta},
                   {"for:0", "for:1"})
        .text;
  };
  EXPECT_EQ(run(Int(2), Int(9), Int(3)), "int32{1258} int32{1} ");
  EXPECT_EQ(run(Int(3), Int(-1), Int(-2)), "int32{131} int32{1} ");
  EXPECT_EQ(run(Int(4), Int(4), Int(0)), "int32{1} int32{1} ");
  EXPECT_EQ(run(Int(INT32_MAX - 1), Int(INT32_MAX), Int(INT32_MAX)),
            run(Int(INT32_MAX - 1), Int(INT32_MAX), Int(1)));
  EXPECT_EQ(run(Int(1), Int(0), Int(1)), "INVALID_ARGUMENT: Invalid start/limit/delta: 1/0/1");
  EXPECT_THAT(run(Int(1), Tensor::Vector<int32_t>({1}), Int(1)),
              HasSubstr("start, limit and delta must be scalars, but input 1 has shape [1]"));
}

TEST(LowerBehaviour, ConditionsAndIndices) {
  const std::string text = R"(
    graph {
      %i = Placeholder() dtype=int32
      %x = Const() value=int32{5}
      %if = StatelessIf(%i, %x) then_branch=@negate else_branch=@same : int32
      %case = StatelessCase(%i, %x) branches=[@same, @negate, @zero] : int32
    }
    func @negate(%x: int32) -> (y: int32) {
      %y = Neg(%x)
      return %y
    }
    func @zero(%x: int32) -> (y: int32) {
      %y = Const() value=int32{0}
      return %y
    }
    func @same(%x: int32) -> (y: int32) {
      return %x
    })";
  EXPECT_EQ(RunBoth(text, {"i:0"}, {Int(0)}, {"if:0", "case:0"}).text, "int32{5} int32{5} ");
  EXPECT_EQ(RunBoth(text, {"i:0"}, {Int(1)}, {"if:0", "case:0"}).text, "int32{-5} int32{-5} ");
  EXPECT_EQ(RunBoth(text, {"i:0"}, {Int(-1)}, {"if:0", "case:0"}).text, "int32{-5} int32{0} ");
  EXPECT_EQ(RunBoth(text, {"i:0"}, {Tensor::Vector<int32_t>({0})}, {"if:0"}).text, "int32{-5} ");
  const auto program = Parse(text);
  const auto signature = MainNames(*program).FindSignature({"i:0"}, {"case:0"}, {});
  const auto lowered = LowerMain(*program, *signature);
  ASSERT_TRUE(lowered.ok());
  EXPECT_THAT(Observe(lowered->program, lowered->signature, {Tensor::Vector<int32_t>({0})}).text,
              HasSubstr("INVALID_ARGUMENT: "));
}

// In the iteration that ends the loop, neither a branch with a constant condition nor what stands
// in it runs, though its constants and invariants are there.
TEST(LowerBehaviour, NothingOfABodyRunsWhenTheLoopIsOver) {
  EXPECT_THAT(RunBoth(R"(
    graph {
      %i = Const() value=int32{0}
      %word = Placeholder() dtype=string
      %loop = While(%i, %word) cond=@small body=@step : (int32, string)
    }
    func @small(%i: int32, %word: string) -> (p: bool) {
      %two = Const() value=int32{2}
      %p = Less(%i, %two)
      return %p
    }
    func @step(%i: int32, %word: string) -> (i: int32, word: string) {
      %one = Const() value=int32{1}
      %yes = Const() value=bool{true}
      %next = AddV2(%i, %one)
      %if = If(%yes, %word) then_branch=@say else_branch=@fail : int32
      return %next, %word
    }
    func @say(%word: string) -> (n: int32) {
      %one = Const() value=int32{1}
      %inner = While(%one, %word) cond=@small body=@shout : (int32, string)
      return %inner
    }
    func @shout(%i: int32, %word: string) -> (i: int32, word: string) {
      %print = PrintV2(%word) end=""
      %two = Const() value=int32{2}
      return %two, %word
    }
    func @fail(%word: string) -> (n: int32) {
      %no = Const() value=bool{false}
      %assert = Assert(%no, %word)
      %one = Const() value=int32{1}
      return %one
    })",
                      {"word:0"}, {Tensor::Scalar<std::string>("hey")}, {"loop:0"})
                  .printed,
              ElementsAre("stderr: hey", "stderr: hey"));
}

// A loop of primitives with structured nodes in its body: their inputs live in its frame, and so
// must what they become, constants included.
constexpr char kMixed[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=()
  %zero = Const() value=int32{0} : int32
  %enter = Enter(%zero) frame_name="loop" : int32
  %limit = Enter(%n) frame_name="loop" is_constant=true : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %less = Less(%merge, %limit) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %call = PartitionedCall(%switch:1, %limit) f=@step : (int32, int32)
  %while = StatelessWhile(%call, %call:1) cond=@odd body=@step : (int32, int32)
  %if = StatelessIf(%while:1, %while) then_branch=@same else_branch=@same : int32
  %next = NextIteration(%if) : int32
  %exit = Exit(%switch) : int32
}
func @step(%x: int32, %y: int32) -> (x: int32, y: int32) {
  %one = Const() value=int32{1}
  %sum = AddV2(%x, %one)
  return %sum, %one
}
func @odd(%x: int32, %y: int32) -> (p: bool) {
  %two = Const() value=int32{2}
  %zero = Const() value=int32{0}
  %rest = FloorMod(%x, %two)
  %p = NotEqual(%rest, %zero)
  return %p
}
func @same(%x: int32) -> (x: int32) {
  return %x
})";

TEST(LowerBehaviour, StructuredNodesInALoopOfPrimitives) {
  EXPECT_EQ(RunBoth(kMixed, {"n:0"}, {Int(5)}, {"exit:0"}).text, "int32{6} ");
  EXPECT_EQ(RunBoth(kMixed, {"n:0", "while:0"}, {Int(5), Int(8)}, {"exit:0"}).text, "int32{8} ");
  RunBoth(kMixed, {"n:0", "call:0"}, {Int(5), Int(7)}, {"exit:0"});
  RunBoth(kMixed, {"n:0", "while:0", "while:1"}, {Int(5), Int(9), Int(1)}, {"exit:0"});
  RunBoth(kMixed, {"n:0", "if:0"}, {Int(5), Int(9)}, {"exit:0"});
  RunBoth(kMixed, {"n:0", "switch:1"}, {Int(5), Int(9)}, {"exit:0"});
}

// One dead input kills a call, even where the result does not depend on it.
TEST(LowerBehaviour, ACallWithADeadInputIsDead) {
  const std::string text = R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Const() value=int32{1}
      %y = Const() value=int32{2}
      %switch = Switch(%x, %p)
      %call = PartitionedCall(%y, %switch:1) f=@first : int32
      %none = PartitionedCall(^%call) f=@seven : int32
      %merge = Merge(%switch, %none)
    }
    func @first(%x: int32, %y: int32) -> (x: int32) {
      return %x
    }
    func @seven() -> (x: int32) {
      %x = Const() value=int32{7}
      return %x
    })";
  EXPECT_EQ(RunBoth(text, {"p:0"}, {Tensor::Scalar<bool>(true)}, {"merge:0"}).text, "int32{7} ");
  EXPECT_EQ(RunBoth(text, {"p:0"}, {Tensor::Scalar<bool>(false)}, {"merge:0"}).text, "int32{1} ");
  EXPECT_THAT(RunBoth(text, {"p:0"}, {Tensor::Scalar<bool>(false)}, {"none:0"}).text,
              HasSubstr("INVALID_ARGUMENT"));
}

// A reference is read when the node that captures it fires, not when a branch uses it.
TEST(LowerBehaviour, ReferencesAreReadWhenTheNodeFires) {
  EXPECT_EQ(RunBoth(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %v = VariableV2() shape=() dtype=int32
      %one = Const() value=int32{1}
      %two = Const() value=int32{2}
      %set = Assign(%v, %one)
      %if = If(%p, %v, ^%set) then_branch=@slow else_branch=@slow : int32
      %reset = Assign(%v, %two, ^%if)
      %sum = AddV2(%if, %reset)
    }
    func @slow(%x: int32) -> (x: int32) {
      %s = AsString(%x)
      %print = PrintV2(%s)
      %y = Identity(%x, ^%print)
      return %y
    })",
                    {"p:0"}, {Tensor::Scalar<bool>(true)}, {"sum:0"})
                .text,
            "int32{3} ");
}

// Programs of calls, branches and loops, nested at random, that print what they compute. Control
// edges put the effects of each body into one order.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {}

  std::string Write() {
    const std::string callee = Function(3);
    return absl::StrCat(
        "graph {\n  %x = Placeholder() dtype=int32\n  %y = Placeholder() dtype=int32\n",
        "  %r = StatefulPartitionedCall(%x, %y) f=@", callee, " : (int32, int32)\n",
        "  %s = StatefulPartitionedCall(%r:1, %r) f=@", callee, " : (int32, int32)\n}\n",
        functions_);
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % n); }

  // A function (x, y) → (x, y), or, of a loop's condition or body, one that counts x.
  std::string Function(int depth, bool is_body = false) {
    const std::string name = absl::StrCat("f", ++num_functions_);
    std::vector<std::string> values = {"x", "y"};
    std::string text, last;
    const auto value = [&] { return values[Pick(values.size())]; };
    for (int i = Pick(5) + (depth > 0 ? 1 : 0); i >= 0; --i) {
      const std::string v = absl::StrCat("v", i);
      const std::string after = last.empty() ? "" : absl::StrCat(", ^%", last);
      switch (depth > 0 ? Pick(7) : Pick(3)) {
        case 0:
          absl::StrAppend(&text, "  %", v, " = Const() value=int32{", Pick(9), "}\n");
          break;
        case 1:
          absl::StrAppend(&text, "  %", v, " = AddV2(%", value(), ", %", value(), ")\n");
          break;
        case 2: {
          const std::string what = value();
          absl::StrAppend(&text, "  %", v, "s = AsString(%", what, ")\n  %", v, "p = PrintV2(%", v,
                          "s", after, ")\n");
          last = v + "p";
          continue;
        }
        case 3:
          absl::StrAppend(&text, "  %", v, " = If(%", value(), ", %", value(), ", %", value(),
                          after, ") then_branch=@", Function(depth - 1), " else_branch=@",
                          Function(depth - 1), " : (int32, int32)\n");
          break;
        case 4:
          absl::StrAppend(&text, "  %", v, " = Case(%", value(), ", %", value(), ", %", value(),
                          after, ") branches=[@", Function(depth - 1), ", @", Function(depth - 1),
                          ", @", Function(depth - 1), "] : (int32, int32)\n");
          break;
        case 5:
          absl::StrAppend(&text, "  %", v, "i = Const() value=int32{0}\n  %", v, " = While(%", v,
                          "i, %", value(), after, ") cond=@", Condition(), " body=@",
                          Function(depth - 1, true), " : (int32, int32)\n");
          break;
        default:
          absl::StrAppend(&text, "  %", v, " = StatefulPartitionedCall(%", value(), ", %", value(),
                          after, ") f=@", Function(depth - 1), " : (int32, int32)\n");
          break;
      }
      values.push_back(v);
      if (absl::StrContains(text.substr(text.rfind('\n', text.size() - 2) + 1), ": (int32")) {
        values.push_back(v + ":1");
        last = v;
      }
    }
    std::string first = value();
    if (is_body) {
      absl::StrAppend(&text, "  %one = Const() value=int32{1}\n  %count = AddV2(%x, %one)\n");
      first = "count";
    }
    absl::StrAppend(&functions_, "func @", name,
                    "(%x: int32, %y: int32) -> (x: int32, y: int32) {\n", text, "  return %", first,
                    ", %", value(), "\n}\n");
    return name;
  }

  std::string Condition() {
    const std::string name = absl::StrCat("f", ++num_functions_);
    absl::StrAppend(&functions_, "func @", name, "(%x: int32, %y: int32) -> (p: bool) {\n",
                    "  %n = Const() value=int32{", Pick(4), "}\n  %p = Less(%x, %n)\n");
    if (Pick(2) == 0) absl::StrAppend(&functions_, "  %s = AsString(%y)\n  %say = PrintV2(%s)\n");
    absl::StrAppend(&functions_, "  return %p\n}\n");
    return name;
  }

  std::mt19937 random_;
  std::string functions_;
  int num_functions_ = 0;
};

TEST(LowerBehaviour, RandomProgramsPrintTheSameLines) {
  size_t lines = 0;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    const std::string text = RandomProgram(seed).Write();
    const Observed observed = RunBoth(text, {"x:0", "y:0"}, {Int(1), Int(-2)}, {"s:0", "s:1"});
    lines += observed.printed.size();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(lines, 1000u);
}

}  // namespace
}  // namespace gyre::testing
