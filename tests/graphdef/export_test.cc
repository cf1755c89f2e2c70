// Writing programs: what an import kept comes back, and programs made otherwise are written, too.
#include "graphdef/export.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/unknown_field_set.h"
#include "graphdef/canonical.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using test::Canonicalize;
using test::Differences;
using test::ParseBinary;

wire::GraphDef FromText(const std::string& text) {
  wire::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph));
  return graph;
}

wire::GraphDef Export(const Program& program) {
  const absl::StatusOr<std::string> bytes = ExportGraphDef(program);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? ParseBinary(*bytes) : wire::GraphDef();
}

// What becomes of `graph` on its way in and out.
wire::GraphDef RoundTrip(const wire::GraphDef& graph) {
  const auto program = ImportGraphDef(graph.SerializeAsString(), Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? Export(**program) : wire::GraphDef();
}

void ExpectUnchanged(wire::GraphDef graph) {
  wire::GraphDef after = RoundTrip(graph);
  Canonicalize(Ops(), graph);
  Canonicalize(Ops(), after);
  EXPECT_EQ(Differences(graph, after), "");
}

void AddUnknownField(google::protobuf::Message* message, uint64_t value) {
  message->GetReflection()->MutableUnknownFields(message)->AddVarint(1000, value);
}

TEST(Export, KeepsWhatItDoesNotInterpret) {
  ExpectUnchanged(FromText(
      "node { name: 'x' op: 'Placeholder' device: '/gpu:7' attr { key: 'dtype' value { type: "
      "DT_FLOAT } }"
      " attr { key: 'shape' value { shape { dim { size: 2 name: 'batch' } } } }"
      " attr { key: '_odd' value { type: DT_FLOAT8_E5M2 } } attr { key: '_none' value { } }"
      " attr { key: '_handle' value { tensor { dtype: DT_RESOURCE resource_handle_val { name: 'v' "
      "} } } }"
      " experimental_debug_info { original_node_names: 'y' } experimental_type { type_id: "
      "TFT_TENSOR } }"
      "versions { producer: 9 min_consumer: 8 bad_consumers: 7 } version: 6"
      " debug_info { files: 'a.py' name_to_trace_id { key: 'x' value: 3 } }"
      "library { gradient { function_name: 'f' gradient_func: 'g' }"
      " registered_gradients { gradient_func: 'g' registered_op_type: 'T' }"
      " function { signature { name: 'f' description: 'Says why.' summary: 's'"
      "   input_arg { name: 'a' type: DT_RESOURCE description: 'it'"
      "     handle_data { dtype: DT_FLOAT shape { dim { size: 1 } } } } output_arg { name: 'r' "
      "type: DT_RESOURCE } }"
      "  ret { key: 'r' value: 'a' } resource_arg_unique_id { key: 0 value: 4 }"
      "  attr { key: '_why' value { s: 'x' } } arg_attr { key: 0 value { attr { key: '_n' value { "
      "s: 'q' } } } } } }"));
}

TEST(Export, KeepsUnknownFieldsAtEveryLevel) {
  wire::GraphDef graph = FromText(
      "node { name: 'x' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
      " attr { key: 'value' value { tensor { dtype: DT_FLOAT float_val: 2 tensor_shape { } } } } }"
      "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } }"
      " node_def { name: 'n' op: 'NoOp' } } }");
  wire::TensorProto* tensor = (*graph.mutable_node(0)->mutable_attr())["value"].mutable_tensor();
  wire::FunctionDef* function = graph.mutable_library()->mutable_function(0);
  uint64_t value = 1;
  for (google::protobuf::Message* message : std::initializer_list<google::protobuf::Message*>{
           &graph, graph.mutable_node(0), &(*graph.mutable_node(0)->mutable_attr())["dtype"],
           graph.mutable_library(), function, function->mutable_signature(),
           function->mutable_signature()->mutable_input_arg(0), function->mutable_node_def(0)}) {
    AddUnknownField(message, value++);
  }
  ExpectUnchanged(graph);
  AddUnknownField(tensor, value++);
  AddUnknownField(tensor->mutable_tensor_shape(), value);
  const wire::GraphDef after = RoundTrip(graph);
  EXPECT_EQ(after.node(0).attr().at("value").SerializeAsString(),
            graph.node(0).attr().at("value").SerializeAsString());
}

TEST(Export, WritesCallsByNameAsTheyCame) {
  ExpectUnchanged(FromText(
      "node { name: 'c' op: 'f' attr { key: '_mark' value { i: 1 } } }"
      "library { function { signature { name: 'f' output_arg { name: 'r' type: DT_FLOAT } }"
      "  node_def { name: 'g' op: 'g' } node_def { name: 'n' op: 'Neg' input: 'g:s:0'"
      "   attr { key: 'T' value { type: DT_FLOAT } } } ret { key: 'r' value: 'n:y:0' } }"
      " function { signature { name: 'g' output_arg { name: 's' type: DT_FLOAT } }"
      "  node_def { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
      "   attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } "
      "}"
      "  ret { key: 's' value: 'k:output:0' } } }"));
}

TEST(Export, KeepsUnknownOpsAndTheNamesOfTheirOutputs) {
  ExpectUnchanged(FromText(
      "node { name: 'u' op: 'Mystery' attr { key: 'k' value { list { i: [1, 2] } } } }"
      "node { name: 'w' op: 'Mystery' input: 'u:3' input: '^u' }"
      "library { function { signature { name: 'f' output_arg { name: 'r' type: DT_FLOAT } }"
      "  node_def { name: 'u' op: 'Mystery' } node_def { name: 'w' op: 'Mystery' input: 'u:b:1' "
      "input: 'u:a:0' }"
      "  ret { key: 'r' value: 'u:b:1' } } }"));
}

TEST(Export, InstancesOfGenericFunctionsBecomePlainOnes) {
  wire::GraphDef graph = FromText(
      "node { name: 'c' op: 'Same' input: 'k' attr { key: 'T' value { type: DT_FLOAT } } }"
      "node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
      " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }"
      "library { function { signature { name: 'Same' input_arg { name: 'a' type_attr: 'T' }"
      "   output_arg { name: 'r' type_attr: 'T' } attr { name: 'T' type: 'type' } }"
      "  node_def { name: 'i' op: 'Identity' input: 'a' attr { key: 'T' value { placeholder: 'T' } "
      "} }"
      "  ret { key: 'r' value: 'i:output:0' } } }");
  const wire::GraphDef after = RoundTrip(graph);
  ASSERT_EQ(after.library().function_size(), 2);  // the generic one is still there
  EXPECT_EQ(Differences(ParseBinary(graph.SerializeAsString()), graph), "");
  const wire::FunctionDef& generic = after.library().function(0);
  const wire::FunctionDef& instance = after.library().function(1);
  EXPECT_EQ(generic.SerializeAsString(), graph.library().function(0).SerializeAsString());
  EXPECT_EQ(instance.signature().name(), "Same_T_float32");
  EXPECT_EQ(instance.signature().input_arg(0).type(), wire::DT_FLOAT);
  EXPECT_EQ(after.node(0).op(), "Same_T_float32");
  EXPECT_TRUE(after.node(0).attr().empty());
  ExpectUnchanged(after);
}

// A node of the program under construction, with its signature resolved.
Node MakeNode(NodeId id, const std::string& name, const std::string& op,
              std::vector<Endpoint> inputs, AttrMap attrs) {
  Node node;
  node.id = id;
  node.name = name;
  node.op_name = op;
  node.op = Ops().Find(op);
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  const auto signature = ResolveSignature(*node.op, node.attrs);
  EXPECT_TRUE(signature.ok()) << signature.status();
  if (signature.ok()) node.signature = *signature;
  return node;
}

AttrMap FloatAttrs() {
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  return attrs;
}

TEST(Export, NamesThatTheFormatForbidsAreChanged) {
  Function main;
  AttrMap dtype;
  dtype.Set("dtype", DType::kFloat);
  main.nodes.push_back(MakeNode(0, "größe", "Placeholder", {}, dtype));
  main.nodes.push_back(MakeNode(1, "", "Neg", {{0, 0}}, FloatAttrs()));
  main.nodes.push_back(MakeNode(2, "node", "Neg", {{1, 0}}, FloatAttrs()));
  main.nodes.push_back(MakeNode(3, "node", "Neg", {{2, 0}}, FloatAttrs()));
  const wire::GraphDef graph = Export(*ProgramBuilder(Ops()).SetMain(main).Build());
  EXPECT_EQ(graph.node(2).name(), "node");  // the first with a sound name keeps it
  EXPECT_EQ(graph.node(3).input(0), "node");
  EXPECT_TRUE(ImportGraphDef(graph.SerializeAsString(), Ops()).ok());
}

Function Twice() {
  Function f;
  f.name = "twice";
  AttrMap arg = FloatAttrs();
  arg.Set("index", int64_t{0});
  f.nodes.push_back(MakeNode(0, "arg", "_Arg", {}, arg));
  f.nodes.push_back(MakeNode(1, "sum", "Add", {{0, 0}, {0, 0}}, FloatAttrs()));
  f.nodes[1].control_inputs = {0};
  f.args = {{"x", DType::kFloat, false, PartialShape::UnknownOfRank(1), {}}};
  f.arg_nodes = {0};
  f.results = {{"out", DType::kFloat, {1, 0}}, {"out", DType::kFloat, {0, 0}}};
  f.control_results = {{"done", 1}};
  f.stateful = true;
  return f;
}

TEST(Export, WritesFunctionsThatNoFileHeld) {
  const wire::GraphDef graph = Export(*ProgramBuilder(Ops()).SetFunction(Twice()).Build());
  ASSERT_EQ(graph.library().function_size(), 1);
  const wire::FunctionDef& f = graph.library().function(0);
  EXPECT_EQ(f.signature().input_arg(0).name(), "x");
  EXPECT_TRUE(f.signature().is_stateful());
  EXPECT_EQ(f.arg_attr().at(0).attr().at("_output_shapes").list().shape(0).dim(0).size(), -1);
  EXPECT_EQ(f.node_def(0).input(0), "x");
  EXPECT_EQ(f.node_def(0).input(2), "^x");
  EXPECT_EQ(f.ret().at("out"), "sum:z:0");
  EXPECT_EQ(f.ret().at("out_1"), "x");
  EXPECT_EQ(f.control_ret().at("done"), "sum");
  const auto again = ImportGraphDef(graph.SerializeAsString(), Ops());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->FindFunction("twice")->args[0].shape.ToString(), "[?]");
}

TEST(Export, ReplacedFunctionsKeepNothingOfTheOldSignature) {
  const auto imported = ImportGraphDef(
      FromText("library { function { signature { name: 'twice' input_arg { name: 'a' type: DT_INT32"
               " description: 'old' } input_arg { name: 'b' type: DT_INT32 } } } }")
          .SerializeAsString(),
      Ops());
  ASSERT_TRUE(imported.ok()) << imported.status();
  Function replacement = Twice();
  replacement.wire_extra = (*imported)->FindFunction("twice")->wire_extra;
  const wire::GraphDef graph = Export(*ProgramBuilder(**imported).SetFunction(replacement).Build());
  ASSERT_EQ(graph.library().function(0).signature().input_arg_size(), 1);
  EXPECT_EQ(graph.library().function(0).signature().input_arg(0).description(), "");
}

TEST(Export, SessionValuesAreRefusedWithTheirNode) {
  Function main;
  AttrMap attrs;
  attrs.Set("dtype", DType::kVariant);
  attrs.Set("value", Tensor::FromObject(DType::kVariant, nullptr));
  main.nodes.push_back(MakeNode(0, "list", "Const", {}, attrs));
  const absl::Status status = ExportGraphDef(*ProgramBuilder(Ops()).SetMain(main).Build()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "node list: attribute value")) << status;
}

// A text form may be changed by hand, also where it keeps what Gyre does not interpret.
TEST(Export, EditedRemainsOfAFileAreTheUsersError) {
  for (const auto& [text, whose] : {
           std::pair<const char*, const char*>{"graph { %n = NoOp() wire \"\\x01\" }", "node n: "},
           {"graph { } func @f() -> () { wire \"\\x01\" }", "function f: "},
           {"program wire \"\\x01\" graph { }", "the program: "},
       }) {
    const auto program = ParseProgram(text, Ops());
    ASSERT_TRUE(program.ok()) << program.status();
    const absl::Status status = ExportGraphDef(**program).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(absl::StrContains(status.message(), whose)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "leave 'wire' out")) << status;
  }
}

TEST(Export, BrokenProgramsAreReportedAsOurs) {
  Function main;
  main.nodes.push_back(MakeNode(0, "n", "Neg", {{5, 0}}, FloatAttrs()));
  EXPECT_EQ(ExportGraphDef(*ProgramBuilder(Ops()).SetMain(main).Build()).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace gyre
