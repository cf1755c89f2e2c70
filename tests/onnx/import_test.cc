// Models of ONNX: what they become, and what is said of those that are not sound.
#include "onnx/import.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "gmock/gmock.h"
#include "gyre/core/session.h"
#include "onnx/onnx.pb.h"
#include "ops/registry.h"
#include "support/onnx_nodes.h"
#include "support/temp_folder.h"

namespace gyre::onnx {
namespace {

using test::AddAttribute;
using test::AddNode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::AttributeProto;
using wire::GraphProto;
using wire::ModelProto;
using wire::NodeProto;
using wire::TensorProto;

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

// A model of one node, whose first input is x.
ModelProto OneNode(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<int64_t>& dims = {2, 3}, int elem_type = TensorProto::FLOAT) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x", elem_type, dims);
  AddNode(graph, op, inputs, {"y"});
  graph.add_output()->set_name("y");
  return model;
}

// One whose inputs are x and int64 vectors.
ModelProto OneNodeOfVectors(const std::string& op, const std::vector<int64_t>& dims,
                            const std::vector<std::vector<int64_t>>& vectors) {
  std::vector<std::string> inputs = {"x"};
  for (size_t i = 1; i <= vectors.size(); ++i) inputs.push_back(absl::StrCat("v", i));
  ModelProto model = OneNode(op, inputs, dims);
  for (size_t i = 0; i < vectors.size(); ++i) {
    TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(inputs[i + 1]);
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(vectors[i].size()));
    for (const int64_t value : vectors[i]) tensor.add_int64_data(value);
  }
  return model;
}

void AddInts(ModelProto& model, const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto& attribute =
      AddAttribute(*model.mutable_graph()->mutable_node(0), name, AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

void AddInt(ModelProto& model, const std::string& name, int64_t value) {
  AddAttribute(*model.mutable_graph()->mutable_node(0), name, AttributeProto::INT).set_i(value);
}

TEST(ImportOnnx, RefusesConstantsOfAnotherTypeOrShapeThanTheNodeWants) {
  ModelProto dropout = OneNode("Dropout", {"x", "", "training"});
  AddInitializer(*dropout.mutable_graph(), "training", {1, 2});
  EXPECT_THAT(ErrorOf(dropout), HasSubstr("whether it is training must be true or false"));

  ModelProto resize = OneNode("Resize", {"x", "", "scales"});
  AddInitializer(*resize.mutable_graph(), "scales", {1, 2, 1, 2}).set_dims(0, 2);
  resize.mutable_graph()->mutable_initializer(0)->add_dims(2);
  EXPECT_FALSE(absl::IsInternal(Import(resize).status())) << Import(resize).status();
}

TEST(ImportOnnx, RefusesScalesThatReachTooFar) {
  ModelProto model = OneNode("Resize", {"x", "", "scales"});
  AddInitializer(*model.mutable_graph(), "scales", {1, 1e-6F});
  AddInt(model, "antialias", 1);
  AddAttribute(*model.mutable_graph()->mutable_node(0), "mode", AttributeProto::STRING)
      .set_s("linear");
  EXPECT_THAT(ErrorOf(model), HasSubstr("its scale is too small"));
}

TEST(ImportOnnx, RefusesRegionsThatAreNoVector) {
  ModelProto model = OneNode("Resize", {"x", "region", "", "sizes"});
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "region", TensorProto::FLOAT, {});
  AddInput(graph, "sizes", TensorProto::INT64, {2});
  NodeProto& node = *graph.mutable_node(0);
  AddAttribute(node, "mode", AttributeProto::STRING).set_s("linear");
  AddAttribute(node, "coordinate_transformation_mode", AttributeProto::STRING)
      .set_s("tf_crop_and_resize");
  EXPECT_EQ(Import(model).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ImportOnnx, RefusesNodesWithoutOutputs) {
  ModelProto model = OneNode("Split", {"x"});
  model.mutable_graph()->mutable_node(0)->clear_output();
  EXPECT_THAT(ErrorOf(model), HasSubstr("it has no outputs"));
}

TEST(ImportOnnx, RefusesWindowsOfSizesThatOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62, kLarge = 1 << 30;
  ModelProto unpool = OneNodeOfVectors("MaxUnpool", {1, 1, 2, 2}, {{0}});
  AddInts(unpool, "kernel_shape", {kHuge, kHuge});
  EXPECT_THAT(ErrorOf(unpool), HasSubstr("a size of its windows is less than 1, or too large"));

  ModelProto pads = OneNode("MaxPool", {"x"}, {1, 1, 2, 2});
  AddInts(pads, "kernel_shape", {1, 1});
  AddInts(pads, "pads", {kHuge, 0, kHuge, 0});
  EXPECT_THAT(ErrorOf(pads), HasSubstr("its attribute 'pads' has 4611686018427387904"));

  ModelProto indices = OneNode("MaxPool", {"x"}, {1, 1, 2, 2, 2});
  AddInts(indices, "kernel_shape", {kLarge, kLarge, kLarge});
  indices.mutable_graph()->mutable_node(0)->add_output("indices");
  EXPECT_THAT(ErrorOf(indices), HasSubstr("its windows have no elements, or too many"));

  ModelProto convolution = OneNodeOfVectors("ConvTranspose", {1, 1, 2, 2}, {{1}});
  AddInts(convolution, "kernel_shape", {kHuge, kHuge});
  EXPECT_THAT(ErrorOf(convolution), HasSubstr("a size of its windows"));

  EXPECT_THAT(ErrorOf(OneNodeOfVectors("Col2Im", {1, 1, 1}, {{kHuge, 1}, {1, 1}})),
              HasSubstr("a size of its image is out of range"));
  EXPECT_THAT(ErrorOf(OneNodeOfVectors("Col2Im", {1, 1, 1}, {{1, 1}, {kHuge, kHuge}})),
              HasSubstr("a size of its windows"));
  EXPECT_THAT(ErrorOf(OneNodeOfVectors("Col2Im", {1, 1, 1}, {{2, 2}, {3, 1}})),
              HasSubstr("its windows are larger than its image with its pads"));

  ModelProto blocks = OneNode("DepthToSpace", {"x"}, {1, 4, 1, 1});
  AddInt(blocks, "blocksize", kHuge);
  EXPECT_THAT(ErrorOf(blocks), HasSubstr("'blocksize', 4611686018427387904, is out of range"));
}

TEST(ImportOnnx, RefusesParametersThatAreNoScalarsOfTheirType) {
  EXPECT_THAT(ErrorOf(OneNodeOfVectors("Dropout", {1}, {{1}, {1, 2}})),
              HasSubstr("whether it is training must be true or false"));
  ModelProto resize = OneNodeOfVectors("Resize", {1}, {{}, {2}});
  AddInt(resize, "antialias", 1);
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
  const absl::Status status = Import(model).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a sparse tensor of shape [419430400] takes up too much"));
}

TEST(ImportOnnx, RefusesScalarsWhereThereMustBeAnAxis) {
  EXPECT_THAT(ErrorOf(OneNode("SplitToSequence", {"x"}, {})), HasSubstr("axis 0"));
  EXPECT_THAT(ErrorOf(OneNode("TensorScatter", {"x", "x"}, {})), HasSubstr("axis -2"));
}

TEST(ImportOnnx, FailsOnlyOnceInANode) {
  ModelProto model = OneNode("ScatterND", {"x", "at", "x"});
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "at", TensorProto::INT32, {1, 1});
  AddAttribute(*graph.mutable_node(0), "reduction", AttributeProto::STRING).set_s("mul");
  EXPECT_EQ(Import(model).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ImportOnnx, RefusesFunctionsThatReturnWhatTheyAreNotGiven) {
  ModelProto model = OneNode("Returns", {});
  model.mutable_graph()->mutable_node(0)->set_domain("mine");
  wire::FunctionProto& function = *model.add_functions();
  function.set_name("Returns");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("a");
  EXPECT_THAT(ErrorOf(model), HasSubstr("the function is not given its input 'a'"));
}

TEST(ImportOnnx, RefusesAttributesOfAnotherType) {
  ModelProto model = OneNode("Softmax", {"x"});
  AddAttribute(*model.mutable_graph()->mutable_node(0), "axis", AttributeProto::FLOAT).set_f(1);
  EXPECT_THAT(ErrorOf(model), HasSubstr("its attribute 'axis' is of another type"));
}

TEST(ImportOnnx, RefusesNumbersOfMoreBitsThanTheyMayHave) {
  ModelProto model = OneNode("Cast", {"x"});
  AddAttribute(*model.mutable_graph()->mutable_node(0), "to", AttributeProto::INT)
      .set_i((int64_t{1} << 32) + TensorProto::FLOAT);
  EXPECT_THAT(ErrorOf(model), HasSubstr("'to', 4294967297, is out of range"));
}

TEST(ImportOnnx, RefusesAxesThatAreNamedTwice) {
  ModelProto model = OneNode("Resize", {"x", "", "scales"});
  AddInitializer(*model.mutable_graph(), "scales", {1, 1});
  AttributeProto& axes =
      AddAttribute(*model.mutable_graph()->mutable_node(0), "axes", AttributeProto::INTS);
  axes.add_ints(0);
  axes.add_ints(-2);
  EXPECT_THAT(ErrorOf(model), HasSubstr("axis -2 is named twice"));
}

TEST(ImportOnnx, NumbersOfUnsignedTypesAreNumbersToo) {
  ModelProto model = OneNode("PRelu", {"x", "x"}, {3}, TensorProto::UINT32);
  const auto outputs = RunModel(model, {{"x:0", std::vector<uint32_t>{0, 1, 7}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<uint32_t>(), ElementsAre(0, 1, 7));
}

// x + w, twice each within the next.
ModelProto Doubling(int depth) {
  ModelProto model = OneNode("f0", {"x"});
  model.mutable_graph()->mutable_node(0)->set_domain("mine");
  for (int i = 0; i <= depth; ++i) {
    wire::FunctionProto& function = *model.add_functions();
    function.set_name(absl::StrCat("f", i));
    function.set_domain("mine");
    function.add_input("a");
    function.add_output("c");
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      NodeProto& node = *function.add_node();
      node.set_op_type(i == depth ? "Neg" : absl::StrCat("f", i + 1));
      if (i < depth) node.set_domain("mine");
      node.add_input(from);
      node.add_output(to);
    }
  }
  return model;
}

TEST(ImportOnnx, EndsWhereFunctionsMakeTooManyNodes) {
  EXPECT_TRUE(Import(Doubling(10)).ok()) << Import(Doubling(10)).status();
  const int64_t before = WorkSpent();
  const absl::Status status = Import(Doubling(60)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("too many nodes"));
  EXPECT_LT(WorkSpent() - before, 5'000'000);
}

TEST(ImportOnnx, ReadsAConstantOnceHoweverOftenItsFunctionIsCalled) {
  ModelProto model = Doubling(10);
  wire::FunctionProto& last = *model.mutable_functions(10);
  NodeProto& constant = *last.add_node();
  constant.set_op_type("Constant");
  constant.add_output("k");
  TensorProto& value = *AddAttribute(constant, "value", AttributeProto::TENSOR).mutable_t();
  value.set_data_type(TensorProto::FLOAT);
  value.add_dims(1 << 18);
  value.set_raw_data(std::string(1 << 20, '\0'));
  constexpr int64_t kBudget = 64 << 20;
  const WorkLimit limit(nullptr, kBudget);
  EXPECT_TRUE(Import(model).ok()) << Import(model).status();
}

TEST(ImportOnnx, LongNamesAreNotWrittenAgainAndAgain) {
  ModelProto model = OneNode("HardSwish", {"x"});
  model.mutable_graph()->mutable_node(0)->set_name(std::string(100'000, 'a'));
  const auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  for (const Node& node : imported->program->main().nodes) EXPECT_LT(node.name.size(), 300u);
}

// Axes that are fed.
absl::StatusOr<Tensor> RunWithAxes(const std::string& op, const Tensor& x, const Tensor& axes) {
  ModelProto model = OneNode(
      op, {"x", "axes"}, std::vector<int64_t>(x.shape().dims().begin(), x.shape().dims().end()));
  model.mutable_opset_import(0)->set_version(18);
  AddInput(*model.mutable_graph(), "axes", TensorProto::INT64, {axes.num_elements()});
  const auto outputs = RunModel(model, {{"x:0", x}, {"axes:0", axes}});
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

TEST(ImportOnnx, AxesMayBeKnownWhenTheProgramRuns) {
  const Tensor x = *Tensor::Zeros(DType::kFloat, Shape::Trusted({1, 2, 1, 3}), Tensor::Alloc());
  const auto squeezed = RunWithAxes("Squeeze", x, Tensor::Vector<int64_t>({-2, 0}));
  ASSERT_TRUE(squeezed.ok()) << squeezed.status();
  EXPECT_EQ(squeezed->shape(), Shape::Trusted({2, 3}));
  EXPECT_FALSE(RunWithAxes("Squeeze", x, Tensor::Vector<int64_t>({1})).ok()) << "its size is 2";
  EXPECT_FALSE(RunWithAxes("Squeeze", x, Tensor::Vector<int64_t>({4})).ok());

  const auto unsqueezed = RunWithAxes("Unsqueeze", x, Tensor::Vector<int64_t>({5, 0, -4}));
  ASSERT_TRUE(unsqueezed.ok()) << unsqueezed.status();
  EXPECT_EQ(unsqueezed->shape(), Shape::Trusted({1, 1, 2, 1, 1, 1, 3}));
  EXPECT_FALSE(RunWithAxes("Unsqueeze", x, Tensor::Vector<int64_t>({0, 0})).ok());
  EXPECT_FALSE(RunWithAxes("Unsqueeze", x, Tensor::Vector<int64_t>({5})).ok());
}

TEST(ImportOnnx, SlicesAndPadsAlongAxesThatAreFed) {
  ModelProto slice = OneNode("Slice", {"x", "starts", "ends", "axes", "steps"}, {2, 3});
  for (const char* name : {"starts", "ends", "axes", "steps"})
    AddInput(*slice.mutable_graph(), name, TensorProto::INT64, {1});
  const auto ints = [](int64_t value) { return Tensor::Vector<int64_t>({value}); };
  const Tensor x = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, Shape::Trusted({2, 3}));
  const auto sliced = RunModel(slice, {{"x:0", x},
                                       {"starts:0", ints(-1)},
                                       {"ends:0", ints(std::numeric_limits<int64_t>::min())},
                                       {"axes:0", ints(-1)},
                                       {"steps:0", ints(-2)}});
  ASSERT_TRUE(sliced.ok()) << sliced.status();
  EXPECT_EQ((*sliced)[0].shape(), Shape::Trusted({2, 2}));
  EXPECT_THAT((*sliced)[0].values<float>(), ElementsAre(3, 1, 6, 4));

  ModelProto pad = OneNode("Pad", {"x", "pads", "", "axes"}, {2, 3});
  pad.mutable_opset_import(0)->set_version(18);
  AddInput(*pad.mutable_graph(), "pads", TensorProto::INT64, {2});
  AddInput(*pad.mutable_graph(), "axes", TensorProto::INT64, {1});
  const auto padded = RunModel(
      pad, {{"x:0", x}, {"pads:0", Tensor::Vector<int64_t>({1, -2})}, {"axes:0", ints(-1)}});
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ((*padded)[0].shape(), Shape::Trusted({2, 2}));
  EXPECT_THAT((*padded)[0].values<float>(), ElementsAre(0, 1, 0, 4));
}

TEST(ImportOnnx, OldModelsSayWhereASecondOperandBegins) {
  ModelProto model = OneNode("Add", {"x", "w"});
  model.mutable_opset_import(0)->set_version(6);
  AddInitializer(*model.mutable_graph(), "w", {10, 20});
  NodeProto& node = *model.mutable_graph()->mutable_node(0);
  AddAttribute(node, "broadcast", AttributeProto::INT).set_i(1);
  AddAttribute(node, "axis", AttributeProto::INT).set_i(0);
  const auto outputs = RunModel(
      model, {{"x:0", Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, Shape::Trusted({2, 3}))}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(11, 12, 13, 24, 25, 26));
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

// Of a sequence nobody knows the rank of an element; value_info may say it.
ModelProto TransposedElement(int rank) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  AddInput(graph, "x", TensorProto::FLOAT, {-1, -1});
  AddInput(graph, "i", TensorProto::INT64, {});
  NodeProto& split = AddNode(graph, "SplitToSequence", {"x"}, {"rows"});
  AddAttribute(split, "keepdims", AttributeProto::INT).set_i(1);
  AddNode(graph, "SequenceAt", {"rows", "i"}, {"row"});
  AddNode(graph, "Transpose", {"row"}, {"y"});  // all axes, turned round: their number is needed
  graph.add_output()->set_name("y");
  if (rank > 0)
    AddValue(*graph.add_value_info(), "row", TensorProto::FLOAT, std::vector<int64_t>(rank, -1));
  return model;
}

TEST(ImportOnnx, RanksThatOnlyTheModelSaysAreBelievedAndChecked) {
  EXPECT_THAT(ErrorOf(TransposedElement(0)), HasSubstr("the rank of one of its inputs"));
  const Tensor x = Tensor::FromValues<float>({1, 2, 3, 4}, *Shape::Make({2, 2}));
  const auto outputs = RunModel(TransposedElement(2), {{"x:0", x}, {"i:0", int64_t{1}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(3, 4));
  EXPECT_EQ((*outputs)[0].shape(), *Shape::Make({2, 1}));
  const auto wrong = RunModel(TransposedElement(3), {{"x:0", x}, {"i:0", int64_t{1}}});
  EXPECT_FALSE(wrong.ok());
}

TEST(ImportOnnx, SomeOpsNeedNoRank) {
  ModelProto model = Model();
  GraphProto& graph = *model.mutable_graph();
  graph.add_input()->set_name("x");
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  NodeProto& split = AddNode(graph, "SplitToSequence", {"x"}, {"rows"});
  AddAttribute(split, "keepdims", AttributeProto::INT).set_i(0);
  AddNode(graph, "SequenceLength", {"rows"}, {"count"});
  TensorProto& axes = *graph.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(-1);
  AddNode(graph, "Unsqueeze", {"x", "axes"}, {"column"});
  for (const char* name : {"count", "column"}) graph.add_output()->set_name(name);
  const auto outputs = RunModel(model, {{"x:0", std::vector<float>{1, 2, 3}}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].scalar<int64_t>(), 3);
  EXPECT_EQ((*outputs)[1].shape(), *Shape::Make({3, 1}));
}

// What is collected in no iteration has the shape that the body says.
TEST(ImportOnnx, ALoopThatNeverRunsCollectsNothingOfTheShapeThatIsDeclared) {
  ModelProto model = Powers();
  GraphProto& body = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  AddInput(*model.mutable_graph(), "rows", TensorProto::FLOAT, {-1, -1});
  body.mutable_node(2)->Clear();
  NodeProto& gather = *body.mutable_node(2);
  gather.set_op_type("Gather");
  gather.add_input("rows");
  gather.add_input("i");
  gather.add_output("number");
  AddValue(*body.mutable_output(2), "number", TensorProto::FLOAT, {3});
  const Tensor rows = Tensor::FromValues<float>(std::vector<float>(6), *Shape::Make({2, 3}));
  const auto outputs =
      RunModel(model, {{"n:0", int64_t{0}}, {"x:0", std::vector<float>{1, 1}}, {"rows:0", rows}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[1].shape(), *Shape::Make({0, 3}));
}

}  // namespace
}  // namespace gyre::onnx
