#include "ir/verifier.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/parse.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::string_view kSound = R"(
  graph {
    %p = Placeholder() dtype=bool
    %x = Placeholder() dtype=float32
    %n = Const() value=int32{3}
    %branch = If(%p, %x) then_branch=@negate else_branch=@same Tout=[float32]
    %case = Case(%n, %x) branches=[@negate, @same] Tout=[float32]
    %loop = While(%n, %x) cond=@more body=@step
    %for = For(%n, %n, %n, %x) body=@iteration
    %call = PartitionedCall(%x) f=@negate Tout=[float32]
  }
  func @negate(%x: float32) -> (y: float32) { %y = Neg(%x) return %y }
  func @same(%x: float32) -> (y: float32) { return %x }
  func @more(%i: int32, %x: float32) -> (go: bool) {
    %zero = Const() value=int32{0}
    %go = Greater(%i, %zero)
    return %go
  }
  func @step(%i: int32, %x: float32) -> (i: int32, x: float32) {
    %one = Const() value=int32{1}
    %next = Sub(%i, %one)
    return %next, %x
  }
  func @iteration(%i: int32, %x: float32) -> (x: float32) { %y = Neg(%x) return %y }
)";

// `broken` must fail `rule`, with a message that contains `text`, in this dialect.
void ExpectBroken(absl::string_view rule, const Program& broken, absl::string_view text,
                  Dialect dialect = Dialect::kStructured) {
  const absl::Status status = Verify(broken, dialect);
  EXPECT_THAT(std::string(status.message()),
              StartsWith(absl::StrCat("rule ", rule, " does not hold in ")));
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(text)));
}

// kSound with its main graph changed.
template <typename Change>
std::shared_ptr<const Program> WithMain(Change change) {
  const auto program = Parse(kSound);
  Function main = program->main();
  change(main);
  return ProgramBuilder(*program).SetMain(std::move(main)).Build();
}

// kSound with one of its functions changed.
template <typename Change>
std::shared_ptr<const Program> WithFunction(absl::string_view name, Change change) {
  const auto program = Parse(kSound);
  Function function = *program->FindFunction(name);
  change(function);
  return ProgramBuilder(*program).SetFunction(std::move(function)).Build();
}

TEST(Verifier, AcceptsASoundProgram) {
  const auto program = Parse(kSound);
  for (const Dialect dialect : {Dialect::kAny, Dialect::kStructured, Dialect::kDataflow}) {
    EXPECT_TRUE(Verify(*program, dialect).ok()) << Verify(*program, dialect);
  }
}

TEST(Verifier, DenseIds) {
  ExpectBroken("dense-ids", *WithMain([](Function& f) { std::swap(f.nodes[0], f.nodes[1]); }),
               "node x stands at 0, but has id 1");
}

TEST(Verifier, EdgesInRange) {
  ExpectBroken(
      "edges-in-range", *WithMain([](Function& f) { f.nodes[3].inputs[1].node = 99; }),
      "in the main graph at node branch (If): input 1 comes from node 99, which does not exist");
  ExpectBroken("edges-in-range", *WithMain([](Function& f) { f.nodes[3].inputs[1].slot = 2; }),
               "input 1 is output 2 of node x, which has 1 outputs");
  ExpectBroken("edges-in-range", *WithMain([](Function& f) { f.nodes[3].control_inputs = {-1}; }),
               "a control input");
}

TEST(Verifier, UniqueNames) {
  ExpectBroken("unique-names", *WithMain([](Function& f) { f.nodes[0].name = "x"; }),
               "two nodes are called x");
  ExpectBroken("unique-names", *WithMain([](Function& f) { f.nodes[0].name = ""; }), "has no name");
}

TEST(Verifier, ArgumentsHaveNodes) {
  ExpectBroken("arguments-have-nodes",
               *WithFunction("same", [](Function& f) { f.arg_nodes.clear(); }),
               "in function same: there are 1 arguments, but 0 nodes");
  ExpectBroken("arguments-have-nodes",
               *WithFunction("negate", [](Function& f) { f.arg_nodes[0] = 1; }),
               "argument x has no argument node");
  ExpectBroken(
      "arguments-have-nodes",
      *WithFunction("same", [](Function& f) { f.nodes[0].attrs.Set("index", int64_t{5}); }),
      "its attribute index says otherwise");
  ExpectBroken("arguments-have-nodes",
               *WithFunction("same", [](Function& f) { f.args[0].dtype = DType::kInt8; }),
               "argument x is int8, but its node makes float32");
  ExpectBroken("arguments-have-nodes",
               *WithFunction("same",
                             [](Function& f) {
                               f.args.clear();
                               f.arg_nodes.clear();
                             }),
               "there are 0 arguments, but 1 nodes that stand for one");
}

TEST(Verifier, ResultsExist) {
  ExpectBroken("results-exist",
               *WithFunction("same", [](Function& f) { f.results[0].value.node = 9; }),
               "result y is not computed by any node");
  ExpectBroken("results-exist",
               *WithFunction("same", [](Function& f) { f.results[0].value.slot = 1; }),
               "result y is output 1 of node x, which has 1 outputs");
  ExpectBroken("results-exist",
               *WithFunction("same", [](Function& f) { f.results[0].dtype = DType::kBool; }),
               "result y is bool, but node x makes float32");
  ExpectBroken("results-exist",
               *WithFunction("same", [](Function& f) { f.control_results = {{"c", 4}}; }),
               "control result c is no node of the function");
}

TEST(Verifier, SignatureFitsOp) {
  ExpectBroken("signature-fits-op", *WithMain([](Function& f) { f.nodes[0].attrs.Erase("dtype"); }),
               "attribute dtype of op Placeholder is missing");
  ExpectBroken("signature-fits-op", *WithMain([](Function& f) { f.nodes[0].attrs.Erase("shape"); }),
               "attributes that have defaults are not filled in");
  ExpectBroken("signature-fits-op", *WithMain([](Function& f) {
                 f.nodes[0].signature.outputs.clear();
                 f.nodes.resize(3);
               }),
               "the signature is not the one");
  ExpectBroken("signature-fits-op", *WithMain([](Function& f) { f.nodes[3].inputs.pop_back(); }),
               "takes 2 inputs with these attributes, but has 1");
}

TEST(Verifier, EdgeTypesAgree) {
  ExpectBroken("edge-types-agree", *WithMain([](Function& f) { f.nodes[3].inputs[1].node = 2; }),
               "input 1 must be float32, but n is int32");
  const auto refs = Parse(R"(graph {
    %v = VariableV2() shape=() dtype=float32
    %x = Const() value=float32{1}
    %a = Assign(%v, %v)   // a Ref is read where a value is wanted
  })");
  EXPECT_TRUE(Verify(*refs, Dialect::kAny).ok()) << Verify(*refs, Dialect::kAny);
  Function main = refs->main();
  main.nodes[2].inputs[0].node = 1;
  ExpectBroken("edge-types-agree", *ProgramBuilder(*refs).SetMain(std::move(main)).Build(),
               "input 0 must be a reference, but x is a value", Dialect::kAny);
}

TEST(Verifier, CyclesAreLoops) {
  ExpectBroken("cycles-are-loops", *Parse(R"(graph {
    %a = Neg(%c) : float32
    %b = Neg(%a) : float32
    %c = Neg(%b) : float32
    %d = Neg(%c) : float32
  })"),
               "these nodes wait for each other: a <- c <- b <- a", Dialect::kAny);
  ExpectBroken("cycles-are-loops", *Parse("graph { %a = NoOp(^%b) %b = NoOp(^%a) }"),
               "wait for each other");
  ExpectBroken("cycles-are-loops", *Parse("graph { %m = Merge(%m) : (int32, int32) }"), "m <- m",
               Dialect::kDataflow);
  // Only a value closes a loop: a Merge that waits for its NextIteration waits for ever.
  ExpectBroken("cycles-are-loops", *Parse(R"(graph {
    %x = Const() value=int32{1}
    %e = Enter(%x) frame_name="f"
    %m = Merge(%e, %n, ^%n) : (int32, int32)
    %n = NextIteration(%m)
  })"),
               "m <- n <- m", Dialect::kDataflow);
  EXPECT_TRUE(Verify(*Parse(R"(graph {
    %x = Const() value=int32{1}
    %e = Enter(%x) frame_name="f"
    %m = Merge(%e, %n) : (int32, int32)
    %n = NextIteration(%m)
  })"),
                     Dialect::kDataflow)
                  .ok());
}

// One variable that counts up; `start` makes %start, which it starts with.
std::shared_ptr<const Program> CountingLoop(absl::string_view start) {
  return Parse(absl::StrCat(R"(graph {
    %zero = Const() value=int32{0}
    %enter = Enter(%zero) frame_name="loop"
    %)",
                            start, R"(
    %merge = Merge(%start, %next) : (int32, int32)
    %next = NextIteration(%merge)
  })"));
}

TEST(Verifier, VariablesEnterOnce) {
  for (const char* start : {"start = Enter(%zero) frame_name=\"loop\"", "start = Identity(%enter)",
                            "start = Const(^%enter) value=int32{0}"}) {
    EXPECT_TRUE(Verify(*CountingLoop(start), Dialect::kAny).ok()) << start;
  }
  constexpr absl::string_view kConstant =
      "start = Enter(%zero) frame_name=\"loop\" is_constant=true";
  ExpectBroken("variables-enter-once", *CountingLoop(kConstant),
               "in the main graph: node merge (Merge) takes 'start', which comes in every "
               "iteration, beside what 'next' hands on from one to the next: it must be a variable "
               "of loop 'loop': set is_constant of 'start' to false",
               Dialect::kAny);
  ExpectBroken("variables-enter-once",
               *CountingLoop("constant = Enter(%zero) frame_name=\"loop\" is_constant=true\n"
                             "%start = Identity(%constant)"),
               "let an Enter that is not constant bring in what it starts with", Dialect::kAny);
  ExpectBroken("variables-enter-once", *CountingLoop("start = NextIteration(%enter)"),
               "node merge (Merge) takes nothing but what NextIterations hand on, and waits in the "
               "first iteration for ever: let an Enter bring in what it starts with",
               Dialect::kAny);
}

TEST(Verifier, NoPrimitives) {
  const auto program =
      Parse(R"(graph { %x = Const() value=int32{1} %e = Enter(%x) frame_name="f" })");
  ExpectBroken("no-primitives", *program, "Enter is a primitive of the dataflow dialect");
  EXPECT_TRUE(Verify(*program, Dialect::kDataflow).ok());
}

TEST(Verifier, FramesAreSound) {
  const auto program = Parse("graph { %x = Const() value=int32{1} %e = Exit(%x) }");
  ExpectBroken("frames-are-sound", *program, "Invalid Exit op", Dialect::kDataflow);
  EXPECT_TRUE(Verify(*program, Dialect::kAny).ok()) << "it may be pruned";
}

TEST(Verifier, CalleesExist) {
  const auto program = Parse("graph { %c = PartitionedCall() f=@ghost Tin=[] Tout=[] }");
  ExpectBroken("callees-exist", *program, "f is function ghost, which does not exist");
  EXPECT_EQ(Verify(*program, Dialect::kStructured).code(), absl::StatusCode::kNotFound);
}

TEST(Verifier, ArgumentsFit) {
  ExpectBroken("arguments-fit", *Parse(R"(
    graph { %x = Const() value=int32{1} %c = PartitionedCall(%x) f=@f Tout=[int32] }
    func @f() -> (y: int32) { %y = Const() value=int32{1} return %y })"),
               "at node c (PartitionedCall): f f has 0 arguments, but 1 are needed");
  ExpectBroken("arguments-fit", *Parse(R"(
    graph { %x = Const() value=int32{1} %c = If(%x, %x) then_branch=@f else_branch=@f Tout=[] }
    func @f(%x: float32) -> () { })"),
               "argument 0 of then_branch f is float32, but int32 is needed");
  ExpectBroken("arguments-fit", *Parse(R"(
    graph { %n = Const() value=int32{1} %l = For(%n, %n, %n) T=[] body=@f }
    func @f() -> () { })"),
               "body f has 0 arguments, but 1 are needed");
}

TEST(Verifier, ResultsFit) {
  ExpectBroken("results-fit", *Parse(R"(
    graph { %x = Const() value=int32{1} %l = While(%x) cond=@f body=@g }
    func @f(%x: int32) -> (y: int32) { return %x }
    func @g(%x: int32) -> () { })"),
               "body g has 0 results, but 1 are needed");
  ExpectBroken("results-fit", *Parse(R"(
    graph { %x = Const() value=int32{1} %c = PartitionedCall(%x) f=@f Tout=[bool] }
    func @f(%x: int32) -> (y: int32) { return %x })"),
               "result 0 of f f is int32, but bool is needed");
  ExpectBroken("results-fit", *Parse(R"(
    graph { %x = Const() value=int32{1} %l = While(%x) cond=@f body=@g }
    func @f(%x: int32) -> (y: int32, z: int32) { return %x, %x }
    func @g(%x: int32) -> (y: int32) { return %x })"),
               "Expected a single scalar return value from While cond, got 2 tensors.");
}

// One name per TEST above, kept honest by the names themselves.
TEST(Verifier, EveryRuleHasATest) {
  const ::testing::TestSuite* suite = ::testing::UnitTest::GetInstance()->current_test_suite();
  std::set<std::string> tests;
  for (int i = 0; i < suite->total_test_count(); ++i) tests.insert(suite->GetTestInfo(i)->name());
  for (const VerifierRule& rule : VerifierRules()) {
    std::string camel;
    bool upper = true;
    for (const char c : rule.name) {
      if (c != '-') camel += upper ? static_cast<char>(c - 'a' + 'A') : c;
      upper = c == '-';
    }
    EXPECT_TRUE(tests.contains(camel)) << rule.name;
    EXPECT_FALSE(rule.doc.empty()) << rule.name;
    EXPECT_TRUE((rule.check_function == nullptr) != (rule.check_node == nullptr)) << rule.name;
  }
}

}  // namespace
}  // namespace gyre
