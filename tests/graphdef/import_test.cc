// Reading GraphDefs: nodes, edges, functions, and a sentence for whatever is wrong.
#include "graphdef/import.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using testing::ElementsAre;

absl::StatusOr<std::shared_ptr<const Program>> Import(const std::string& text,
                                                      const ImportOptions& options = {}) {
  return ImportGraphDef(text, Ops(), options);
}

std::shared_ptr<const Program> MustImport(const std::string& text) {
  const auto program = Import(text);
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << text;
  return program.ok() ? *program : ProgramBuilder(Ops()).Build();
}

void ExpectError(const std::string& text, absl::StatusCode code, absl::string_view message) {
  const absl::Status status = Import(text).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), message)) << status;
}

void ExpectInvalid(const std::string& text, absl::string_view message) {
  ExpectError(text, absl::StatusCode::kInvalidArgument, message);
}

std::string Placeholder(const std::string& name, const std::string& type = "DT_FLOAT") {
  return absl::StrCat("node { name: '", name,
                      "' op: 'Placeholder' attr { key: 'dtype' value { type: ", type, " } } }\n");
}

// A node with attribute T: float and the given inputs.
std::string Float(const std::string& name, const std::string& op,
                  const std::vector<std::string>& inputs, const std::string& field = "node") {
  std::string text = absl::StrCat(field, " { name: '", name, "' op: '", op, "'");
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  return absl::StrCat(text, " attr { key: 'T' value { type: DT_FLOAT } } }\n");
}

TEST(Import, ConnectsNodesInAnyOrder) {
  const auto program = MustImport(Float("z", "Add", {"y", "x:0", "^w"}) + Placeholder("x") +
                                  Placeholder("w") + Float("y", "Neg", {"x"}));
  const Function& main = program->main();
  ASSERT_EQ(main.nodes.size(), 4u);
  const Node& z = main.nodes[0];
  EXPECT_EQ(z.op->name, "Add");
  EXPECT_THAT(z.inputs, ElementsAre(Endpoint{3, 0}, Endpoint{1, 0}));
  EXPECT_THAT(z.control_inputs, ElementsAre(2));
  EXPECT_EQ(z.signature.outputs[0].dtype, DType::kFloat);
}

TEST(Import, FillsInDefaults) {
  const auto program = MustImport(Placeholder("x") + "versions { producer: 5 min_consumer: 3 }");
  const PartialShape* shape = program->main().nodes[0].attrs.Get<PartialShape>("shape");
  ASSERT_NE(shape, nullptr);
  EXPECT_FALSE(shape->has_rank());
  EXPECT_EQ(program->producer(), 5);
  EXPECT_EQ(program->min_consumer(), 3);
}

TEST(Import, AnEmptyFileIsAnEmptyGraph) { EXPECT_TRUE(MustImport("")->main().nodes.empty()); }

TEST(Import, AControlInputNamedTwiceCountsOnce) {
  const auto program = MustImport(Placeholder("x") + Float("y", "Neg", {"x", "^x", "^x"}));
  EXPECT_THAT(program->main().nodes[1].control_inputs, ElementsAre(0));
}

TEST(Import, SaysWhichNodeIsWrong) {
  ExpectInvalid(Placeholder("x") + Placeholder("x"), "node x: two nodes have this name");
  ExpectInvalid(Placeholder("a b"), "'a b' is not a valid name");
  ExpectInvalid(Placeholder(""), "'' is not a valid name");
  ExpectInvalid(Float("y", "Neg", {"ghost"}), "node y: there is no node named 'ghost'");
  ExpectInvalid(Float("y", "Neg", {"^ghost"}), "node y: there is no node named 'ghost'");
  ExpectInvalid(Placeholder("x") + Float("y", "Neg", {"x:1"}),
                "no output 1 of node x, which has 1");
  ExpectInvalid(Placeholder("x") + Float("y", "Neg", {"x:01"}), "'x:01' does not name an input");
  ExpectInvalid(Placeholder("x") + Float("y", "Neg", {""}), "'' does not name an input");
  ExpectInvalid(Placeholder("x") + Float("y", "Neg", {"x", "x"}), "node y: needs 1 inputs");
  ExpectInvalid(Float("y", "Neg", {}), "node y: needs 1 inputs, but the file lists 0");
  ExpectInvalid(Placeholder("x") + Float("y", "Add", {"x", "^x", "x"}), "control inputs come last");
  ExpectInvalid(Placeholder("i", "DT_INT32") + Float("y", "Neg", {"i"}),
                "node y: input 0 must be float32, but output 0 of node i is int32");
  ExpectInvalid("node { name: 'y' op: 'Neg' }", "node y: attribute T of op Neg is missing");
}

TEST(Import, ReferencesServeAsValuesButNotTheOtherWayRound) {
  const std::string variable =
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } }"
      " attr { key: 'shape' value { shape { } } } }\n";
  const auto program =
      MustImport(variable + Float("y", "Neg", {"v"}) + Float("a", "Assign", {"v", "y"}));
  EXPECT_TRUE(program->main().nodes[0].signature.outputs[0].is_ref);
  ExpectInvalid(Placeholder("x") + Float("a", "Assign", {"x", "x"}),
                "input 0 must be a reference to a variable, but output 0 of node x is a value");
}

TEST(Import, OnlyLoopsMayBeCycles) {
  ExpectInvalid(Float("a", "Neg", {"b"}) + Float("b", "Neg", {"a"}), "b -> a -> b");
  ExpectInvalid(Placeholder("x") + Float("a", "Neg", {"x", "^b"}) + Float("b", "Neg", {"a"}),
                "cycle");
  const std::string merge =
      "node { name: 'm' op: 'Merge' input: 'x' input: 'n' attr { key: 'T' value { type: DT_FLOAT } "
      "}"
      " attr { key: 'N' value { i: 2 } } }\n";
  MustImport(Placeholder("x") + merge + Float("n", "NextIteration", {"m"}));
  ExpectInvalid(Placeholder("x") + merge + Float("n", "Neg", {"m"}), "cycle");
}

TEST(Import, AnOpThatNobodyNeedsMayBeUnknown) {
  const std::string text = Placeholder("x") +
                           "node { name: 'u' op: 'Mystery' input: 'x' input: 'x' }\n" +
                           Float("y", "Add", {"u:1", "u"});
  const auto program = MustImport(text);
  const Node& unknown = program->main().nodes[1];
  EXPECT_EQ(unknown.op, nullptr);
  EXPECT_EQ(unknown.op_name, "Mystery");
  EXPECT_EQ(unknown.num_outputs(), 2);
  EXPECT_EQ(unknown.inputs.size(), 2u);
  ImportOptions strict;
  strict.refuse_unknown_ops = true;
  const absl::Status status = Import(text, strict).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(
      absl::StrContains(status.message(), "node u needs the op Mystery, which is not registered"))
      << status;
}

TEST(Import, RefusesFilesForOtherReaders) {
  ExpectInvalid("versions { min_consumer: 1000000 }", "needs a reader of version 1000000");
  ExpectInvalid("versions { producer: -1 }", "version -1");
  ExpectInvalid(absl::StrCat("versions { producer: 1 bad_consumers: ", kGraphVersion, " }"),
                "some excepted");
}

TEST(Import, TextErrorsHaveALineAndAColumn) {
  ExpectInvalid("node { name: 'x' }\nnode { nme: 'y' }", "line 2, column 11");
  ExpectInvalid("complete nonsense", "line 1");
}

TEST(Import, TheFormatCanBeForced) {
  ImportOptions options;
  options.format = GraphFormat::kBinary;
  EXPECT_FALSE(Import(Placeholder("x"), options).ok());
  options.format = GraphFormat::kText;
  EXPECT_TRUE(Import(Placeholder("x"), options).ok());
}

TEST(Import, DeepTextIsRefusedLikeDeepBytes) {
  std::string text = "node { name: 'x' op: 'NoOp' attr { key: 'f' value { ";
  std::string end = " } } }";
  for (int i = 0; i < 5000; ++i) {
    text += "func { attr { key: 'f' value { ";
    end += " } } }";
  }
  EXPECT_EQ(Import(text + end).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Import, ManyOutputsMustBePaidFor) {
  ImportOptions options;
  options.max_expanded_bytes = 1 << 20;
  std::string text = Placeholder("axis", "DT_INT32") + Placeholder("x");
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&text, "node { name: 's", i, "' op: 'Split' input: 'axis' input: 'x'",
                    " attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'num_split' value { "
                    "i: 100000 } } }\n");
  }
  const absl::Status status = Import(text, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "take more memory than a file may ask for"))
      << status;
}

// The function f(a) = -a, whose node takes `input`, with `signature` and `more` added to it.
std::string NegDefinition(const std::string& more = "", const std::string& input = "a",
                          const std::string& signature = "") {
  return absl::StrCat(
      "function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT }"
      " output_arg { name: 'r' type: DT_FLOAT } ",
      signature, " } ", Float("n", "Neg", {input}, "node_def"), " ret { key: 'r' value: 'n:y:0' } ",
      more, " }\n");
}

std::string Library(const std::string& functions) {
  return absl::StrCat("library { ", functions, " }\n");
}

std::string NegFunction(const std::string& more = "", const std::string& input = "a",
                        const std::string& signature = "") {
  return Library(NegDefinition(more, input, signature));
}

TEST(ImportFunctions, BodiesBecomeFunctions) {
  const auto program = MustImport(NegFunction(
      "attr { key: '_x' value { i: 7 } } arg_attr { key: 0 value { attr { key: '_output_shapes'"
      " value { list { shape { dim { size: 2 } } } } } } } control_ret { key: 'done' value: 'n' "
      "}"));
  const Function* f = program->FindFunction("f");
  ASSERT_NE(f, nullptr);
  ASSERT_EQ(f->args.size(), 1u);
  EXPECT_EQ(f->args[0].name, "a");
  EXPECT_EQ(f->args[0].shape.ToString(), "[2]");
  EXPECT_EQ(f->nodes[f->arg_nodes[0]].op_name, "_Arg");
  ASSERT_EQ(f->results.size(), 1u);
  EXPECT_EQ(f->EndpointName(f->results[0].value), "n");
  EXPECT_EQ(f->attrs.GetOr<int64_t>("_x", 0), 7);
  ASSERT_EQ(f->control_results.size(), 1u);
  EXPECT_EQ(f->control_results[0].first, "done");
  EXPECT_FALSE(f->stateful);
}

TEST(ImportFunctions, SayWhatIsWrong) {
  ExpectInvalid(NegFunction("", "b"), "function f, node n: there is no node named 'b'");
  ExpectInvalid(NegFunction("", "a:1"), "there is no element 1 of argument a, which has 1");
  ExpectInvalid(NegFunction("", "n"), "'n' is not an argument");
  ExpectInvalid(NegFunction("", "n:z:0"), "node n has no output named 'z'");
  ExpectInvalid(NegFunction("", "n:y:1"), "no element 1 of output y of node n, which has 1");
  ExpectInvalid(NegFunction("ret { key: 'r' value: 'gone:y:0' }"),
                "function f, result r: there is no node named 'gone'");
  ExpectInvalid(NegFunction("control_ret { key: 'c' value: 'gone' }"),
                "control output c: there is no node named 'gone'");
  ExpectInvalid(NegFunction("", "a", "control_output: 'c'"),
                "control output c: the function does not return it");
  ExpectInvalid(NegFunction("", "a", "output_arg { name: 'q' type: DT_FLOAT }"),
                "result q: the function does not");
  ExpectInvalid(NegFunction("", "a", "input_arg { name: 'n' type: DT_FLOAT }"),
                "node n: two nodes have this name");
  ExpectInvalid(NegFunction("", "a", "input_arg { name: 'x' }"), "argument x: type number 0");
  ExpectInvalid(Library(NegDefinition() + NegDefinition("attr { key: 'x' value { i: 1 } }")),
                "two functions named f");
  ExpectInvalid("library { function { signature { name: 'Neg' } } }",
                "function Neg has the name of an op");
  ExpectInvalid("library { function { } }", "has no name");
}

TEST(ImportFunctions, TheSameDefinitionTwiceIsOne) {
  EXPECT_EQ(MustImport(Library(NegDefinition() + NegDefinition()))->functions().size(), 1u);
  // Attributes lie in a map, which has no order of its own.
  std::string attrs, reversed;
  for (int i = 0; i < 20; ++i) {
    const std::string attr = absl::StrCat(" attr { key: '_a", i, "' value { i: ", i, " } }");
    attrs += attr;
    reversed = attr + reversed;
  }
  for (int i = 0; i < 20; ++i) {
    const auto program = MustImport(Library(NegDefinition(attrs) + NegDefinition(reversed)));
    EXPECT_EQ(program->functions().size(), 1u);
  }
}

TEST(ImportFunctions, MissingOnesAreNamed) {
  const std::string call =
      "node { name: 'c' op: 'PartitionedCall' attr { key: 'f' value { func { name: 'absent' } } }"
      " attr { key: 'Tin' value { list { } } } attr { key: 'Tout' value { list { } } } }";
  ExpectError(call, absl::StatusCode::kNotFound,
              "node c: attribute f: there is no function named 'absent'");
}

TEST(ImportFunctions, OutputListsCanBeNamedWholeOrInPart) {
  const std::string text =
      "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT }"
      " output_arg { name: 'r' type: DT_FLOAT } output_arg { name: 's' type: DT_FLOAT } }"
      "node_def { name: 'ids' op: 'IdentityN' input: 'a' input: 'a'"
      "  attr { key: 'T' value { list { type: [DT_FLOAT, DT_FLOAT] } } } }"
      "node_def { name: 'sum' op: 'AddN' input: 'ids:output'"
      "  attr { key: 'N' value { i: 2 } } attr { key: 'T' value { type: DT_FLOAT } } }"
      "ret { key: 'r' value: 'sum:sum' } ret { key: 's' value: 'ids:output:1' } } }";
  const auto program = MustImport(text);
  const Function& f = *program->FindFunction("f");
  EXPECT_THAT(f.nodes[2].inputs, ElementsAre(Endpoint{1, 0}, Endpoint{1, 1}));
  EXPECT_EQ(f.results[1].value, (Endpoint{1, 1}));
}

TEST(ImportFunctions, CallsByNameBecomeCallNodes) {
  const auto program =
      MustImport(Placeholder("x") + "node { name: 'c' op: 'f' input: 'x' device: '/cpu:0' }\n" +
                 Float("y", "Neg", {"c"}) + NegFunction());
  const Node& call = program->main().nodes[1];
  EXPECT_EQ(call.op_name, "PartitionedCall");
  EXPECT_EQ(call.attrs.Get<FunctionRef>("f")->name, "f");
  EXPECT_THAT(*call.attrs.Get<std::vector<DType>>("Tin"), ElementsAre(DType::kFloat));
  EXPECT_EQ(call.device, "/cpu:0");
  ExpectInvalid(Placeholder("x") + "node { name: 'c' op: 'f' }\n" + NegFunction(),
                "node c: needs 1 inputs");
  ExpectInvalid(Placeholder("x") +
                    "node { name: 'c' op: 'f' input: 'x' attr { key: 'k' value { i: 1 } } }\n" +
                    NegFunction(),
                "function f does not declare attribute k");
}

TEST(ImportFunctions, EffectsReachCallersThroughCallsByName) {
  const std::string text =
      "library { function { signature { name: 'outer' } node_def { name: 'c' op: 'inner' } }"
      " function { signature { name: 'inner' } node_def { name: 'r' op: 'self' } }"
      " function { signature { name: 'self' } node_def { name: 's' op: 'self' } node_def { name: "
      "'v' op: 'VarHandleOp'"
      "  attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { } } } }"
      "  node_def { name: 'd' op: 'AssignVariableOp' input: 'v:resource:0' input: 'k:output:0'"
      "   attr { key: 'dtype' value { type: DT_FLOAT } } } node_def { name: 'k' op: 'Const'"
      "   attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
      "dtype: DT_FLOAT } } } } }"
      " function { signature { name: 'pure' } } }"
      "node { name: 'a' op: 'outer' } node { name: 'b' op: 'pure' }";
  const auto program = MustImport(text);
  EXPECT_EQ(program->main().nodes[0].op_name, "StatefulPartitionedCall");
  EXPECT_EQ(program->main().nodes[1].op_name, "PartitionedCall");
  EXPECT_TRUE(program->FindFunction("inner")->stateful);
}

// twice(xs: N * T) -> sum: T, generic in N and T.
const char kGeneric[] =
    "library { function { signature { name: 'total' input_arg { name: 'xs' number_attr: 'N' "
    "type_attr: 'T' }"
    " output_arg { name: 'sum' type_attr: 'T' } attr { name: 'N' type: 'int' } attr { name: 'T' "
    "type: 'type' } }"
    " node_def { name: 'add' op: 'AddN' input: 'xs' attr { key: 'N' value { placeholder: 'N' } }"
    "  attr { key: 'T' value { placeholder: 'T' } } } ret { key: 'sum' value: 'add:sum:0' } } }\n";

std::string CallTotal(const std::string& name, int n, const std::string& type,
                      const std::string& input) {
  std::string text =
      absl::StrCat("node { name: '", name, "' op: 'total' attr { key: 'N' value { i: ", n,
                   " } } attr { key: 'T' value { type: ", type, " } }");
  for (int i = 0; i < n; ++i) absl::StrAppend(&text, " input: '", input, "'");
  return text + " }\n";
}

TEST(ImportFunctions, GenericOnesAreInstantiatedPerCall) {
  const auto program =
      MustImport(kGeneric + Placeholder("x") + Placeholder("i", "DT_INT32") +
                 CallTotal("a", 2, "DT_FLOAT", "x") + CallTotal("b", 3, "DT_INT32", "i") +
                 CallTotal("c", 2, "DT_FLOAT", "x"));
  EXPECT_EQ(program->functions().size(), 2u);
  const auto callee = [&](int node) {
    return program->FindFunction(program->main().nodes[node].attrs.Get<FunctionRef>("f")->name);
  };
  ASSERT_NE(callee(3), nullptr);
  EXPECT_EQ(callee(3)->args.size(), 3u);
  EXPECT_EQ(callee(3)->results[0].dtype, DType::kInt32);
  EXPECT_EQ(callee(2), callee(4));
  ExpectInvalid(
      kGeneric + std::string("node { name: 'a' op: 'total' attr { key: 'N' value { i: 1 } } }"),
      "node a: function total: attribute T is missing");
  ExpectInvalid(kGeneric + CallTotal("a", 0, "DT_FLOAT", "x"),
                "attribute N of op AddN must be at least 1");
}

TEST(ImportFunctions, GenericsThatNeverEndAreRefused) {
  // Each instance calls the function with an attribute that holds the one before.
  ExpectInvalid(
      "library { function { signature { name: 'grow' attr { name: 'A' type: 'func' } } node_def { "
      "name: 'c' op: 'grow'"
      " attr { key: 'A' value { func { name: 'g' attr { key: 'l' value { placeholder: 'A' } }"
      " attr { key: 'r' value { placeholder: 'A' } } } } } } } }"
      "node { name: 'start' op: 'grow' attr { key: 'A' value { func { name: 'g' } } } }",
      "is too large");
  ExpectInvalid(
      "library { function { signature { name: 'grow' attr { name: 'A' type: 'func' } } node_def { "
      "name: 'c' op: 'grow'"
      " attr { key: 'A' value { func { name: 'g' attr { key: 'l' value { placeholder: 'A' } } } } "
      "} } } }"
      "node { name: 'start' op: 'grow' attr { key: 'A' value { func { name: 'g' } } } }",
      "grow");
}

}  // namespace
}  // namespace gyre
