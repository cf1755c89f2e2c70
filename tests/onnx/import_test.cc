// Models of ONNX: what they become, and what is said of those that are not sound.
#include "onnx/import.h"

#include <string>

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
