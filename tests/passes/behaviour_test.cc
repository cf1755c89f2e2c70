// Optimised programs do what they did: the same values, and effects in the same order, in whatever
// order ready nodes run.
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ir/text/literal.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// Runs in one session, in words: values or the error's code, then what was printed.
std::string Observe(const std::string& text, const std::vector<Feeds>& runs,
                    const std::vector<std::string>& fetches,
                    const std::vector<std::string>& targets, SessionOptions options) {
  std::string printed, results;
  options.seed = 7;
  options.print = [&](absl::string_view, absl::string_view line) {
    absl::StrAppend(&printed, line, " ");
  };
  const auto session = SessionFor(text, options);
  if (session == nullptr) return "no session";
  for (const Feeds& feeds : runs) {
    const auto values = session->Run(feeds, fetches, targets);
    if (!values.ok()) {
      absl::StrAppend(&results, absl::StatusCodeToString(values.status().code()), "; ");
      continue;
    }
    for (const Tensor& value : *values) absl::StrAppend(&results, WriteAttrValue(value), " ");
    absl::StrAppend(&results, "; ");
  }
  return absl::StrCat(results, "printed: ", printed);
}

// Fails the test unless the optimised program does the same as the imported one, on both engines
// and in many orders; says what it does.
std::string RunAllForms(const std::string& text, const std::vector<Feeds>& runs,
                        const std::vector<std::string>& fetches,
                        const std::vector<std::string>& targets = {}) {
  SessionOptions imported;
  imported.engine = EngineKind::kReference;
  const std::string want = Observe(text, runs, fetches, targets, imported);
  SessionOptions optimized;
  optimized.form = ProgramForm::kOptimized;
  optimized.passes.verify = true;
  for (uint64_t seed = 0; seed <= 40; ++seed) {
    optimized.testing.schedule_seed = seed;
    optimized.testing.passes_order_seed = seed % 3 == 0 ? 0 : seed;
    EXPECT_EQ(Observe(text, runs, fetches, targets, optimized), want) << "seed " << seed;
  }
  optimized.engine = EngineKind::kReference;
  optimized.testing.passes_order_seed = 0;
  EXPECT_EQ(Observe(text, runs, fetches, targets, optimized), want) << "on the reference engine";
  return want;
}

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

TEST(OptimizedBehaviour, EffectsOfCallsComeInTheirOrder) {
  EXPECT_EQ(RunAllForms(R"(
    graph {
      %x = Placeholder() dtype=int32 shape=()
      %v = VarHandleOp() dtype=int32 shape=() shared_name="v"
      %zero = Const() value=int32{0}
      %init = AssignVariableOp(%v, %zero)
      %add = StatefulPartitionedCall(%v, %x, ^%init) f=@add : int32
      %old = ReadVariableOp(%v, ^%add) dtype=int32
      %again = StatefulPartitionedCall(%v, %old) f=@add : int32
      %new = ReadVariableOp(%v, ^%again) dtype=int32
    }
    func @add(%v: resource, %x: int32) -> (n: int32) {
      %n = ReadVariableOp(%v) dtype=int32
      %text = AsString(%x)
      %print = PrintV2(%text) end=""
      %grow = AssignAddVariableOp(%v, %x, ^%print, ^%n)
      %done = PrintV2(%word, ^%grow) end=""
      %word = Const() value=string{"done"}
      return %n
    })",
                        {{{"x", Int(3)}}, {{"x", Int(-1)}}}, {"add", "old", "again", "new"}),
            "int32{0} int32{3} int32{3} int32{6} ; int32{0} int32{-1} int32{-1} int32{-2} ; "
            "printed: 3 done 3 done -1 done -1 done ");
}

TEST(OptimizedBehaviour, DecidedControlFlowWithEffects) {
  EXPECT_EQ(RunAllForms(R"(
    graph {
      %x = Placeholder() dtype=int32
      %yes = Const() value=bool{true}
      %zero = Const() value=int32{0}
      %one = Const() value=int32{1}
      %if = If(%yes, %x) then_branch=@say else_branch=@fail : int32
      %for = For(%zero, %one, %one, %if, ^%if) body=@say_i : int32
      %loop = While(%zero, %for, ^%for) cond=@below body=@step : (int32, int32)
      %y = AddV2(%loop, %loop:1)
    }
    func @say(%x: int32) -> (x: int32) {
      %word = Const() value=string{"if"}
      %print = PrintV2(%word) end=""
      return %x
    }
    func @fail(%x: int32) -> (x: int32) {
      %no = Const() value=bool{false}
      %assert = Assert(%no, %x)
      return %x
    }
    func @say_i(%i: int32, %x: int32) -> (x: int32) {
      %text = AsString(%i)
      %print = PrintV2(%text) end=""
      %y = AddV2(%x, %i)
      return %y
    }
    func @below(%i: int32, %x: int32) -> (p: bool) {
      %one = Const() value=int32{1}
      %p = Less(%i, %one)
      return %p
    }
    func @step(%i: int32, %x: int32) -> (i: int32, x: int32) {
      %word = Const() value=string{"step"}
      %print = PrintV2(%word) end=""
      %one = Const() value=int32{1}
      %j = AddV2(%i, %one)
      %y = Mul(%x, %x)
      return %j, %y
    })",
                        {{{"x", Int(5)}}}, {"y"}),
            "int32{26} ; printed: if 0 step ");
}

TEST(OptimizedBehaviour, AFedValueOverridesWhatWouldBeFolded) {
  EXPECT_EQ(RunAllForms(R"(
    graph {
      %two = Const() value=int32{2}
      %four = AddV2(%two, %two)
      %same = AddV2(%two, %two)
      %y = Mul(%four, %same)
      %z = Neg(%y)
    })",
                        {{}, {{"four", Int(10)}}, {{"two", Int(1)}}, {{"y", Int(0)}}},
                        {"y", "z", "four"}),
            "int32{16} int32{-16} int32{4} ; int32{40} int32{-40} int32{10} ; "
            "int32{4} int32{-4} int32{2} ; int32{0} int32{0} int32{4} ; printed: ");
}

// Who waited for what a pass has dropped does not wait for the maker of a fed value instead: not as
// a target, and not over a control edge.
TEST(OptimizedBehaviour, WhatMakesAFedValueDoesNotRun) {
  constexpr char kText[] = R"(
    graph {
      %x = Placeholder() dtype=int32 shape=()
      %c = Neg(%x) : int32
      %y = Identity(%c) : int32
      %call = PartitionedCall(%x) f=@same : int32
      %one = Const() value=int32{1}
      %z = AddV2(%one, %one, ^%y)
    }
    func @same(%x: int32) -> (y: int32) { return %x })";
  EXPECT_EQ(RunAllForms(kText, {{{"x:0", Int(2)}}}, {"y:0"}, {"y"}), "int32{-2} ; printed: ");
  EXPECT_EQ(RunAllForms(kText, {{{"c:0", Int(5)}}}, {"y:0", "z:0"}, {"y"}),
            "int32{5} int32{2} ; printed: ");
  EXPECT_EQ(RunAllForms(kText, {{{"x:0", Int(2)}}}, {"call:0"}, {"call"}), "int32{2} ; printed: ");
}

// In a graph of primitives, which is raised: the node runs for its own sake, its readers see the
// feed.
TEST(OptimizedBehaviour, ATargetMayBeFed) {
  constexpr char kText[] = R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=int32 shape=()
      %side = Switch(%x, %p) : (int32, int32)
      %neg = Neg(%side) : int32
      %m = Merge(%neg, %side:1) : (int32, int32)
      %n = Neg(%m) : int32
      %y = Neg(%n) : int32
    })";
  const Feeds feeds = {{"p:0", Tensor::Scalar(true)}, {"x:0", Int(3)}};
  Feeds more = feeds;
  more.emplace_back("n:0", Int(7));
  EXPECT_EQ(RunAllForms(kText, {more}, {"n:0", "y:0", "m:0"}, {"n"}),
            "int32{7} int32{-7} int32{3} ; printed: ");
  more = feeds;
  more.emplace_back("m:1", Int(5));
  EXPECT_EQ(RunAllForms(kText, {more}, {"m:1", "y:0"}, {"m"}), "int32{5} int32{3} ; printed: ");
}

// A body that fails in its first run is no reason to take the loop's variables for constants: once
// the failing node had gone, the loop would count for ever.
TEST(OptimizedBehaviour, ALoopWhoseBodyFailsStillFails) {
  constexpr char kText[] = R"(
func @below(%i: int32, %x: float32) -> (z: bool) {
  %three = Const() value=int32{3} : int32
  %less = Less(%i, %three) : bool
  return %less
}
func @count(%i: int32, %x: float32) -> (i: int32, x: float32) {
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32
  %list = Const() value=float32[2]{1, 2} : float32
  %axis = Const() value=int32[1]{1} : int32
  %sum = Sum(%list, %axis) : float32
  return %next, %sum
}
graph {
  %i = Const() value=int32{0} : int32
  %x = Const() value=float32{0} : float32
  %loop = StatelessWhile(%i, %x) cond=@below body=@count : (int32, float32)
  %n = Identity(%loop) : int32
  %v = Identity(%loop:1) : float32
}
)";
  EXPECT_EQ(RunAllForms(kText, {{}}, {"n:0", "v:0"}), "INVALID_ARGUMENT; printed: ");
}

// A Merge makes two values, of which one may be fed to another conditional and the other be
// fetched.
TEST(OptimizedBehaviour, AFedBranchValueIsUsedThoughItsIndexIsFetched) {
  constexpr char kText[] = R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Placeholder() dtype=int32 shape=() : int32
  %switch = Switch(%x, %p) : (int32, int32)
  %one = Const() value=int32{1} : int32
  %more = AddV2(%switch:1, %one) : int32
  %less = Sub(%switch, %one) : int32
  %merge = Merge(%less, %more) : (int32, int32)
  %again = Switch(%merge, %p) : (int32, int32)
  %double = AddV2(%again:1, %again:1) : int32
  %minus = Neg(%again) : int32
  %result = Merge(%minus, %double) : (int32, int32)
}
)";
  const Feeds feeds = {{"p:0", Tensor::Scalar<bool>(true)}, {"x:0", Int(5)}, {"merge:0", Int(100)}};
  const std::string got = RunAllForms(kText, {feeds}, {"merge:1", "result:0"});
  EXPECT_EQ(got, "int32{1} int32{200} ; printed: ");
}

TEST(OptimizedBehaviour, WhatALoopMayNotReachDoesNotFail) {
  const std::string text = R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %d = Placeholder() dtype=int32 shape=()
      %hundred = Const() value=int32{100}
      %sum = Const() value=int32{0}
      %loop = StatelessWhile(%n, %d, %sum, %hundred) cond=@more body=@step : (int32, int32, int32, int32)
      %p = Less(%n, %hundred)
      %quotient = FloorDiv(%hundred, %d)
      %if = StatelessIf(%n, %quotient, %hundred) then_branch=@first else_branch=@second : int32
    }
    func @more(%n: int32, %d: int32, %sum: int32, %h: int32) -> (p: bool) {
      %zero = Const() value=int32{0}
      %p = Greater(%n, %zero)
      return %p
    }
    func @step(%n: int32, %d: int32, %sum: int32, %h: int32) -> (n: int32, d: int32, sum: int32, h: int32) {
      %one = Const() value=int32{1}
      %m = Sub(%n, %one)
      %q = FloorDiv(%h, %d)
      %twice = AddV2(%d, %d)
      %s = AddN(%sum, %q, %twice)
      return %m, %d, %s, %h
    }
    func @first(%a: int32, %b: int32) -> (x: int32) {
      return %a
    }
    func @second(%a: int32, %b: int32) -> (x: int32) {
      return %b
    })";
  EXPECT_EQ(RunAllForms(text, {{{"n", Int(3)}, {"d", Int(7)}}, {{"n", Int(0)}, {"d", Int(7)}}},
                        {"loop:2", "if"}),
            "int32{84} int32{14} ; int32{0} int32{100} ; printed: ");
  EXPECT_EQ(RunAllForms(text, {{{"n", Int(0)}, {"d", Int(0)}}, {{"n", Int(1)}, {"d", Int(0)}}},
                        {"loop:2"}),
            "int32{0} ; INVALID_ARGUMENT; printed: ");
}

TEST(OptimizedBehaviour, RandomNumbersStayTheSame) {
  RunAllForms(R"(
    graph {
      %x = Placeholder() dtype=int32
      %zero = Const() value=int32{0}
      %three = Const() value=int32{3}
      %one = Const() value=int32{1}
      %shape = Const() value=int32[1]{2}
      %start = Const() value=float32[2]{0, 0}
      %for = For(%zero, %three, %one, %start, %shape) body=@walk : (float32, int32)
      %a = StatefulPartitionedCall(%shape) f=@draw : float32
      %b = StatefulPartitionedCall(%shape) f=@draw : float32
    }
    func @walk(%i: int32, %x: float32, %shape: int32) -> (x: float32, shape: int32) {
      %step = StatefulPartitionedCall(%shape) f=@draw : float32
      %y = AddV2(%x, %step)
      return %y, %shape
    }
    func @draw(%shape: int32) -> (x: float32) {
      %x = RandomUniform(%shape) dtype=float32
      return %x
    })",
              {{{"x", Int(0)}}, {{"x", Int(0)}}}, {"for", "a", "b"});
}

}  // namespace
}  // namespace gyre::testing
