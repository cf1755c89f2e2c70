// Gradients through control flow that models of ONNX brought: If, Loop, Scan and what is made of
// them, compared with differences, up to second derivatives.
#include <string>
#include <vector>

#include "grad/check_gradient.h"
#include "gtest/gtest.h"
#include "ir/text/printer.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"
#include "ops/registry.h"
#include "support/onnx_nodes.h"

namespace gyre::testing {
namespace {

using onnx::wire::AttributeProto;
using onnx::wire::GraphProto;
using onnx::wire::ModelProto;
using onnx::wire::NodeProto;
using onnx::wire::TensorProto;
using onnx::wire::ValueInfoProto;
using test::AddAttribute;
using test::AddNode;

void SetInt(NodeProto& node, const std::string& name, int64_t value) {
  AddAttribute(node, name, AttributeProto::INT).set_i(value);
}

void SetInts(NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto& attribute = AddAttribute(node, name, AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

GraphProto& SetGraph(NodeProto& node, const std::string& name) {
  return *AddAttribute(node, name, AttributeProto::GRAPH).mutable_g();
}

void AddInput(GraphProto& graph, const std::string& name, int elem_type,
              const std::vector<int64_t>& dims) {
  ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(elem_type);
  tensor.mutable_shape();
  for (const int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

void AddDouble(GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims) {
  AddInput(graph, name, TensorProto::DOUBLE, dims);
}

void AddOutputs(GraphProto& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) graph.add_output()->set_name(name);
}

ModelProto Model() {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph();
  return model;
}

// The gradients of each output by all floating inputs.
void ExpectGradients(const ModelProto& model, const Feeds& feeds) {
  const auto imported = ImportOnnx(model.SerializeAsString(), Ops());
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::string text = PrintProgram(*imported->program);
  std::vector<std::string> xs;
  for (const OnnxValue& input : imported->inputs) {
    if (input.type.dtype == DType::kDouble) xs.push_back(input.endpoint);
  }
  for (const OnnxValue& output : imported->outputs) {
    SCOPED_TRACE(output.name);
    ExpectGradient(text, feeds, xs, output.endpoint);
  }
}

TEST(OnnxControlFlow, GradientsOfTheBranchThatIsTaken) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "which", TensorProto::BOOL, {});
  AddDouble(graph, "x", {3});
  AddDouble(graph, "w", {});
  NodeProto& node = AddNode(graph, "If", {"which"}, {"y"});
  GraphProto& then = SetGraph(node, "then_branch");
  AddNode(then, "Mul", {"x", "x"}, {"square"});
  AddNode(then, "Mul", {"square", "w"}, {"a"});
  AddOutputs(then, {"a"});
  GraphProto& otherwise = SetGraph(node, "else_branch");
  AddNode(otherwise, "Mul", {"x", "w"}, {"product"});
  AddNode(otherwise, "Sin", {"product"}, {"b"});
  AddOutputs(otherwise, {"b"});
  AddOutputs(graph, {"y"});
  Draw draw;
  for (const bool which : {true, false})
    ExpectGradients(model, {{"which:0", which}, {"x:0", draw({3})}, {"w:0", draw({})}});
}

// v += tanh(v * w), as often as n says or until an element reaches the limit; v * x is collected.
ModelProto Growth(double limit) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "n", TensorProto::INT64, {});
  AddInput(graph, "go", TensorProto::BOOL, {});
  AddDouble(graph, "x", {2});
  AddDouble(graph, "w", {2});
  TensorProto& initializer = *graph.add_initializer();
  initializer.set_name("limit");
  initializer.set_data_type(TensorProto::DOUBLE);
  initializer.add_double_data(limit);
  NodeProto& loop = AddNode(graph, "Loop", {"n", "go", "x"}, {"last", "all"});
  GraphProto& body = SetGraph(loop, "body");
  AddInput(body, "i", TensorProto::INT64, {});
  AddInput(body, "go_on", TensorProto::BOOL, {});
  AddDouble(body, "v", {2});
  AddNode(body, "Mul", {"v", "w"}, {"product"});
  AddNode(body, "Tanh", {"product"}, {"part"});
  AddNode(body, "Add", {"part", "v"}, {"next"});
  AddNode(body, "ReduceMax", {"next"}, {"largest"});
  SetInt(*body.mutable_node(3), "keepdims", 0);
  AddNode(body, "Less", {"largest", "limit"}, {"again"});
  AddNode(body, "Mul", {"next", "x"}, {"kept"});
  AddOutputs(body, {"again", "next", "kept"});
  AddOutputs(graph, {"last", "all"});
  return model;
}

TEST(OnnxControlFlow, GradientsOfLoopsThatCollectAndMayStopEarly) {
  const auto feeds = [](int64_t n) {
    return Feeds{{"n:0", n},
                 {"go:0", true},
                 {"x:0", Tensor::Vector<double>({0.3, 0.5})},
                 {"w:0", Tensor::Vector<double>({0.7, 0.9})}};
  };
  ExpectGradients(Growth(100), feeds(4));
  ExpectGradients(Growth(2), feeds(50));
  ExpectGradients(Growth(100), feeds(1));
}

// A state beside two sequences, one of them backwards and along another axis.
TEST(OnnxControlFlow, GradientsOfScans) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddDouble(graph, "state", {2});
  AddDouble(graph, "a", {4, 2});
  AddDouble(graph, "b", {2, 4});
  AddDouble(graph, "w", {2, 2});
  NodeProto& scan = AddNode(graph, "Scan", {"state", "a", "b"}, {"last", "all"});
  SetInt(scan, "num_scan_inputs", 2);
  SetInts(scan, "scan_input_axes", {0, 1});
  SetInts(scan, "scan_input_directions", {0, 1});
  SetInts(scan, "scan_output_axes", {1});
  SetInts(scan, "scan_output_directions", {1});
  GraphProto& body = SetGraph(scan, "body");
  AddDouble(body, "h", {2});
  AddDouble(body, "p", {2});
  AddDouble(body, "q", {2});
  AddNode(body, "MatMul", {"h", "w"}, {"turned"});
  AddNode(body, "Mul", {"p", "q"}, {"product"});
  AddNode(body, "Add", {"turned", "product"}, {"sum"});
  AddNode(body, "Tanh", {"sum"}, {"next"});
  AddNode(body, "Mul", {"next", "q"}, {"kept"});
  AddOutputs(body, {"next", "kept"});
  AddOutputs(graph, {"last", "all"});
  Draw draw;
  ExpectGradients(model, {{"state:0", draw({2})},
                          {"a:0", draw({4, 2})},
                          {"b:0", draw({2, 4})},
                          {"w:0", draw({2, 2})}});
}

// In each iteration another branch, which reaches a value two graphs outside.
TEST(OnnxControlFlow, GradientsOfBranchesInLoops) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "n", TensorProto::INT64, {});
  AddInput(graph, "two", TensorProto::INT64, {});
  AddDouble(graph, "x", {2});
  AddDouble(graph, "w", {2});
  NodeProto& loop = AddNode(graph, "Loop", {"n", "", "x"}, {"y"});
  GraphProto& body = SetGraph(loop, "body");
  AddInput(body, "i", TensorProto::INT64, {});
  AddInput(body, "go", TensorProto::BOOL, {});
  AddDouble(body, "v", {2});
  AddNode(body, "Mod", {"i", "two"}, {"rest"});
  AddNode(body, "Cast", {"rest"}, {"is_odd"});
  SetInt(*body.mutable_node(1), "to", TensorProto::BOOL);
  NodeProto& node = AddNode(body, "If", {"is_odd"}, {"next"});
  GraphProto& then = SetGraph(node, "then_branch");
  AddNode(then, "Mul", {"v", "w"}, {"a"});
  AddOutputs(then, {"a"});
  GraphProto& otherwise = SetGraph(node, "else_branch");
  AddNode(otherwise, "Exp", {"v"}, {"e"});
  AddNode(otherwise, "Sub", {"e", "w"}, {"b"});
  AddOutputs(otherwise, {"b"});
  AddNode(body, "Identity", {"go"}, {"again"});
  AddOutputs(body, {"again", "next"});
  AddOutputs(graph, {"y"});
  Draw draw;
  ExpectGradients(
      model, {{"n:0", int64_t{5}}, {"two:0", int64_t{2}}, {"x:0", draw({2})}, {"w:0", draw({2})}});
}

TEST(OnnxControlFlow, GradientsOfRecurrentNodes) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddDouble(graph, "x", {3, 1, 2});
  AddDouble(graph, "w", {2, 8, 2});
  AddDouble(graph, "r", {2, 8, 2});
  AddDouble(graph, "b", {2, 16});
  NodeProto& lstm = AddNode(graph, "LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"});
  SetInt(lstm, "hidden_size", 2);
  AddAttribute(lstm, "direction", AttributeProto::STRING).set_s("bidirectional");
  AddOutputs(graph, {"y", "c"});
  Draw draw;
  ExpectGradients(model, {{"x:0", draw({3, 1, 2})},
                          {"w:0", draw({2, 8, 2})},
                          {"r:0", draw({2, 8, 2})},
                          {"b:0", draw({2, 16})}});
}

// Elements of a sequence, each through a body.
TEST(OnnxControlFlow, GradientsOfBodiesOverSequences) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddDouble(graph, "x", {4, 2});
  AddDouble(graph, "w", {2});
  AddNode(graph, "SplitToSequence", {"x"}, {"parts"});
  NodeProto& map = AddNode(graph, "SequenceMap", {"parts"}, {"mapped"});
  GraphProto& body = SetGraph(map, "body");
  body.add_input()->set_name("part");
  AddNode(body, "Mul", {"part", "w"}, {"product"});
  AddNode(body, "Sin", {"product"}, {"result"});
  AddOutputs(body, {"result"});
  SetInt(AddNode(graph, "ConcatFromSequence", {"mapped"}, {"y"}), "axis", 0);
  AddOutputs(graph, {"y"});
  Draw draw;
  ExpectGradients(model, {{"x:0", draw({4, 2})}, {"w:0", draw({2})}});
}

}  // namespace
}  // namespace gyre::testing
