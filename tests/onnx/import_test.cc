// Models of ONNX: what they become, and what is said of those that are not sound.
#include "onnx/import.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gyre/core/session.h"
#include "onnx/onnx.pb.h"
#include "ops/registry.h"
#include "support/temp_folder.h"

namespace gyre::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::AttributeProto;
using wire::GraphProto;
using wire::ModelProto;
using wire::NodeProto;
using wire::TensorProto;

NodeProto& AddNode(GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
  NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name("the_" + op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

void AddValue(wire::ValueInfoProto& info, const std::string& name, int elem_type,
              const std::vector<int64_t>& dims) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(elem_type);
  tensor.mutable_shape();
  for (const int64_t dim : dims) {
    auto& added = *tensor.mutable_shape()->add_dim();
    if (dim < 0) {
      added.set_dim_param("n");
    } else {
      added.set_dim_value(dim);
    }
  }
}

void AddInput(GraphProto& graph, const std::string& name, int elem_type,
              const std::vector<int64_t>& dims) {
  AddValue(*graph.add_input(), name, elem_type, dims);
}

TensorProto& AddInitializer(GraphProto& graph, const std::string& name,
                            const std::vector<float>& values) {
  TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

ModelProto Model(int opset = 17) {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph();
  return model;
}

absl::StatusOr<OnnxModel> Import(const ModelProto& model, const OnnxImportOptions& options = {}) {
  return ImportOnnx(model.SerializeAsString(), Ops(), options);
}

absl::StatusOr<std::vector<Tensor>> RunModel(const ModelProto& model, const Feeds& feeds) {
  absl::StatusOr<OnnxModel> imported = Import(model);
  if (!imported.ok()) return imported.status();
  auto session = Session::Create(imported->program);
  if (!session.ok()) return session.status();
  std::vector<std::string> fetches;
  for (const OnnxValue& output : imported->outputs) fetches.push_back(output.endpoint);
  return (*session)->Run(feeds, fetches);
}

std::string ErrorOf(const ModelProto& model) {
  return std::string(Import(model).status().message());
}

// x + w.
ModelProto Sum() {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x", TensorProto::FLOAT, {-1});
  AddInitializer(graph, "w", {1, 2});
  AddNode(graph, "Add", {"x", "w"}, {"y"});
  graph.add_output()->set_name("y");
  return model;
}

TEST(ImportOnnx, RunsByTheNamesOfTheModel) {
  const auto outputs = RunModel(Sum(), {{"x:0", std::vector<float>{10, 20}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(11, 22));
}

TEST(ImportOnnx, MakesPlaceholdersOfInitializersThatAreTrained) {
  const auto model = Import(Sum(), {.folder = "", .trainable_initializers = true});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->inputs.size(), 1u);
  ASSERT_EQ(model->initializers.size(), 1u);
  EXPECT_EQ(model->initializers[0].endpoint, "w:0");
  EXPECT_THAT(model->initializers[0].value.values<float>(), ElementsAre(1, 2));
}

// A loop whose body is x * w, with w from outside, and collects its number.
ModelProto Powers() {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "n", TensorProto::INT64, {});
  AddInput(graph, "x", TensorProto::FLOAT, {2});
  AddInitializer(graph, "w", {2, 3});
  NodeProto& loop = AddNode(graph, "Loop", {"n", "", "x"}, {"y", "numbers"});
  AttributeProto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  GraphProto& body = *attribute.mutable_g();
  AddInput(body, "i", TensorProto::INT64, {});
  AddInput(body, "go", TensorProto::BOOL, {});
  body.add_input()->set_name("v");
  AddNode(body, "Mul", {"v", "w"}, {"next"});
  AddNode(body, "Identity", {"go"}, {"again"});
  AddNode(body, "Identity", {"i"}, {"number"});
  for (const char* name : {"again", "next", "number"}) body.add_output()->set_name(name);
  for (const char* name : {"y", "numbers"}) graph.add_output()->set_name(name);
  return model;
}

TEST(ImportOnnx, LoopsRunAsOftenAsTheyAreTold) {
  const auto outputs = RunModel(Powers(), {{"n:0", int64_t{3}}, {"x:0", std::vector<float>{1, 1}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(8, 27));
  EXPECT_THAT((*outputs)[1].values<int64_t>(), ElementsAre(0, 1, 2));
}

TEST(ImportOnnx, LoopsMayEndBeforeTheyBegin) {
  const auto outputs = RunModel(Powers(), {{"n:0", int64_t{0}}, {"x:0", std::vector<float>{1, 5}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(1, 5));
  EXPECT_EQ((*outputs)[1].shape(), Shape::Vector(0));
}

TEST(ImportOnnx, FunctionsOfTheModelTakeThePlaceOfTheirCalls) {
  ModelProto model = Sum();
  wire::FunctionProto& function = *model.add_functions();
  function.set_name("Twice");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  NodeProto& add = *function.add_node();
  add.set_op_type("Add");
  add.add_input("a");
  add.add_input("a");
  add.add_output("b");
  NodeProto& call = AddNode(*model.mutable_graph(), "Twice", {"y"}, {"z"});
  call.set_domain("mine");
  model.mutable_graph()->add_output()->set_name("z");
  const auto outputs = RunModel(model, {{"x:0", std::vector<float>{1, 1}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[1].values<float>(), ElementsAre(4, 6));
}

TEST(ImportOnnx, NamesTheNodeOfAnUnknownOp) {
  ModelProto model = Powers();
  NodeProto& loop = *model.mutable_graph()->mutable_node(0);
  loop.mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Frobnicate");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'the_Mul' (Frobnicate), in node 'the_Loop' (Loop)"));
  EXPECT_EQ(Import(model).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ImportOnnx, RefusesWhatIsUsedBeforeItIsComputed) {
  ModelProto model = Sum();
  model.mutable_graph()->mutable_node(0)->set_input(0, "y");
  EXPECT_THAT(ErrorOf(model), HasSubstr("there is no value 'y' at this place"));
}

TEST(ImportOnnx, RefusesFunctionsThatCallThemselves) {
  ModelProto model = Sum();
  wire::FunctionProto& function = *model.add_functions();
  function.set_name("Again");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  for (int i = 0; i < 2; ++i) {
    NodeProto& call = *function.add_node();
    call.set_op_type("Again");
    call.set_domain("mine");
    call.add_input("a");
    call.add_output(i == 0 ? "b" : "c");
  }
  AddNode(*model.mutable_graph(), "Again", {"y"}, {"z"}).set_domain("mine");
  EXPECT_THAT(ErrorOf(model), HasSubstr("deep"));
}

TEST(ImportOnnx, RefusesDataThatDoesNotFillItsShape) {
  ModelProto model = Sum();
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 40);
  EXPECT_THAT(ErrorOf(model), HasSubstr("tensor 'w': its shape wants 1099511627776 elements"));
}

TEST(ImportOnnx, RefusesFilesOutsideOfItsFolder) {
  for (const char* location : {"../secret", "/etc/passwd", "a/../../secret"}) {
    ModelProto model = Sum();
    TensorProto& tensor = *model.mutable_graph()->mutable_initializer(0);
    tensor.clear_float_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
    const test::TempFolder folder;
    const auto imported =
        Import(model, {.folder = folder.Path("model"), .trainable_initializers = false});
    EXPECT_FALSE(imported.ok()) << location;
  }
}

void AddInts(NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  for (const int64_t value : values) attribute.add_ints(value);
}

void AddInt(NodeProto& node, const std::string& name, int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_i(value);
}

// A node whose inputs are x, of these dimensions, and int64 vectors.
ModelProto OneNode(const std::string& op, const std::vector<int64_t>& x_dims,
                   const std::vector<std::vector<int64_t>>& vectors) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x", TensorProto::FLOAT, x_dims);
  std::vector<std::string> inputs = {"x"};
  for (const std::vector<int64_t>& values : vectors) {
    TensorProto& tensor = *graph.add_initializer();
    inputs.push_back("v" + std::to_string(inputs.size()));
    tensor.set_name(inputs.back());
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  AddNode(graph, op, inputs, {"y"});
  return model;
}

TEST(ImportOnnx, RefusesSplitsIntoNothing) {
  ModelProto model = OneNode("Split", {4}, {});
  model.mutable_graph()->mutable_node(0)->clear_output();
  EXPECT_THAT(ErrorOf(model), HasSubstr("it has no outputs"));
}

TEST(ImportOnnx, RefusesWindowsOfSizesThatOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62, kLarge = 1 << 30;
  ModelProto unpool = OneNode("MaxUnpool", {1, 1, 2, 2}, {{0}});
  AddInts(*unpool.mutable_graph()->mutable_node(0), "kernel_shape", {kHuge, kHuge});
  EXPECT_THAT(ErrorOf(unpool), HasSubstr("a size of its windows is less than 1, or too large"));

  ModelProto pads = OneNode("MaxPool", {1, 1, 2, 2}, {});
  AddInts(*pads.mutable_graph()->mutable_node(0), "kernel_shape", {1, 1});
  AddInts(*pads.mutable_graph()->mutable_node(0), "pads", {kHuge, 0, kHuge, 0});
  EXPECT_THAT(ErrorOf(pads), HasSubstr("its attribute 'pads' has 4611686018427387904"));

  ModelProto indices = OneNode("MaxPool", {1, 1, 2, 2, 2}, {});
  AddInts(*indices.mutable_graph()->mutable_node(0), "kernel_shape", {kLarge, kLarge, kLarge});
  indices.mutable_graph()->mutable_node(0)->add_output("indices");
  EXPECT_THAT(ErrorOf(indices), HasSubstr("its windows have no elements, or too many"));

  ModelProto convolution = OneNode("ConvTranspose", {1, 1, 2, 2}, {{1}});
  AddInts(*convolution.mutable_graph()->mutable_node(0), "kernel_shape", {kHuge, kHuge});
  EXPECT_THAT(ErrorOf(convolution), HasSubstr("a size of its windows"));

  EXPECT_THAT(ErrorOf(OneNode("Col2Im", {1, 1, 1}, {{kHuge, 1}, {1, 1}})),
              HasSubstr("a size of its image is out of range"));
  EXPECT_THAT(ErrorOf(OneNode("Col2Im", {1, 1, 1}, {{1, 1}, {kHuge, kHuge}})),
              HasSubstr("a size of its windows"));

  ModelProto blocks = OneNode("DepthToSpace", {1, 4, 1, 1}, {});
  AddInt(*blocks.mutable_graph()->mutable_node(0), "blocksize", kHuge);
  (void)Import(blocks);  // and nothing overflows
}

TEST(ImportOnnx, RefusesNumbersOfTypesThatOnlyLookAsIfTheyWereOne) {
  ModelProto model = OneNode("Cast", {1}, {});
  AddInt(*model.mutable_graph()->mutable_node(0), "to", (int64_t{1} << 32) + TensorProto::FLOAT);
  EXPECT_THAT(ErrorOf(model), HasSubstr("is the number of no element type"));
}

TEST(ImportOnnx, RefusesParametersThatAreNoScalarsOfTheirType) {
  EXPECT_THAT(ErrorOf(OneNode("Dropout", {1}, {{1}, {1, 2}})),
              HasSubstr("whether it is training, a bool"));
  ModelProto resize = OneNode("Resize", {1}, {{}, {2}});
  AddInt(*resize.mutable_graph()->mutable_node(0), "antialias", 1);
  GraphProto& graph = *resize.mutable_graph();
  for (TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.name() != "v2") continue;
    tensor.add_dims(1);  // a matrix
  }
  (void)Import(resize);  // and throws nothing
}

// Each node wraps what the one before it has made.
TEST(ImportOnnx, RefusesTypesThatLieTooDeepInEachOther) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x0", TensorProto::FLOAT, {});
  constexpr int kDepth = 200'000;
  for (int i = 0; i < kDepth; ++i)
    AddNode(graph, "Optional", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
  graph.add_output()->set_name("x" + std::to_string(kDepth));
  EXPECT_THAT(ErrorOf(model), HasSubstr("sequences and optionals lie in each other more than 64"));
}

TEST(ImportOnnx, RefusesSparseTensorsThatTakeUpTooMuchTogether) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < 3; ++i) {
    wire::SparseTensorProto& sparse = *graph.add_sparse_initializer();
    sparse.add_dims(400 << 20);
    sparse.mutable_values()->set_name("s" + std::to_string(i));
    sparse.mutable_values()->set_data_type(TensorProto::BOOL);
    sparse.mutable_values()->add_dims(0);
    sparse.mutable_indices()->set_data_type(TensorProto::INT64);
    sparse.mutable_indices()->add_dims(0);
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("a sparse tensor of shape [419430400] takes up too much"));
}

TEST(ImportOnnx, RefusesWhatIsCutOff) {
  const std::string bytes = Powers().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size)
    (void)ImportOnnx(bytes.substr(0, size), Ops(), {});  // and does not crash
  EXPECT_FALSE(ImportOnnx(bytes.substr(0, bytes.size() - 1), Ops(), {}).ok());
  EXPECT_FALSE(ImportOnnx("", Ops(), {}).ok());
  std::string broken = bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const char c : {'\0', '\x7f', '\xff'}) {
      broken[i] = c;
      (void)ImportOnnx(broken, Ops(), {});
    }
    broken[i] = bytes[i];
  }
}

}  // namespace
}  // namespace gyre::onnx
