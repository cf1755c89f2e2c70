// Programs as ONNX models: what is written, and what is said of those that have no form there.
#include "onnx/export.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gyre/core/session.h"
#include "ir/text/parser.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"
#include "ops/registry.h"
#include "session/names.h"
#include "session/onnx/onnx_file.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::GraphProto;
using wire::ModelProto;
using wire::NodeProto;

absl::StatusOr<OnnxSource> Source(const std::string& text, const std::vector<std::string>& feeds,
                                  const std::vector<std::string>& fetches) {
  const auto program = ParseProgram(text, Ops());
  if (!program.ok()) return program.status();
  auto signature = MainNames(**program).FindSignature(feeds, fetches);
  if (!signature.ok()) return signature.status();
  return SourceOf(*program, *std::move(signature));
}

absl::StatusOr<ModelProto> Export(const std::string& text, const std::vector<std::string>& feeds,
                                  const std::vector<std::string>& fetches) {
  const auto source = Source(text, feeds, fetches);
  if (!source.ok()) return source.status();
  const auto file = ExportAsOnnx(*source);
  if (!file.ok()) return file.status();
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(file->model));
  return model;
}

std::string ErrorOf(const std::string& text, const std::vector<std::string>& feeds = {"x"},
                    const std::vector<std::string>& fetches = {"y"}) {
  const auto model = Export(text, feeds, fetches);
  return model.ok() ? "it is written" : std::string(model.status().message());
}

std::vector<std::string> OpsOf(const GraphProto& graph) {
  std::vector<std::string> ops;
  for (const NodeProto& node : graph.node()) ops.push_back(node.op_type());
  return ops;
}

const GraphProto& GraphOf(const NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.g();
  }
  static const auto* const kNone = new GraphProto();
  ADD_FAILURE() << "there is no graph " << name;
  return *kNone;
}

// x * w, as long as the sum is less than n; with the number of iterations.
constexpr char kLoop[] = R"(
graph {
  %x = Placeholder() shape=(?) : float32
  %n = Placeholder() shape=() : float32
  %w = Const() value=float32[2]{2, 3} : float32
  %i = Const() value=int32{0} : int32
  %loop = StatelessWhile(%i, %x, %n, %w) cond=@go body=@step : (int32, float32, float32, float32)
  %count = Identity(%loop:0) : int32
  %y = Identity(%loop:1) : float32
}

func @go(i: int32 = %i, x: float32 = %x, n: float32 = %n, w: float32 = %w) -> (go: bool) {
  %i = _Arg() index=0 : int32
  %x = _Arg() index=1 : float32
  %n = _Arg() index=2 : float32
  %w = _Arg() index=3 : float32
  %axes = Const() value=int32[1]{0} : int32
  %sum = Sum(%x, %axes) : float32
  %less = Less(%sum, %n) : bool
  return %less
}

func @step(i: int32 = %i, x: float32 = %x, n: float32 = %n, w: float32 = %w) -> (i: int32, x: float32, n: float32, w: float32) {
  %i = _Arg() index=0 : int32
  %x = _Arg() index=1 : float32
  %n = _Arg() index=2 : float32
  %w = _Arg() index=3 : float32
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32
  %y = Mul(%x, %w) : float32
  return %next, %y, %n, %w
}
)";

TEST(ExportOnnx, AWhileIsALoopThatSeesWhatDoesNotChange) {
  const auto model = Export(kLoop, {"x", "n"}, {"y", "count"});
  ASSERT_TRUE(model.ok()) << model.status();
  const GraphProto& graph = model->graph();
  EXPECT_THAT(OpsOf(graph), ElementsAre("ReduceSum", "Less", "Loop"));
  EXPECT_EQ(graph.input(0).name(), "x");
  EXPECT_EQ(graph.output(1).name(), "count");
  const NodeProto& loop = graph.node(2);
  EXPECT_THAT(loop.input(), SizeIs(4));  // no count, the first condition, and two variables
  EXPECT_THAT(loop.output(), ElementsAre("count", "y"));
  const GraphProto& body = GraphOf(loop, "body");
  EXPECT_THAT(body.input(), SizeIs(4));
  EXPECT_THAT(OpsOf(body), ElementsAre("Add", "Mul", "ReduceSum", "Less"));
  EXPECT_EQ(body.node(1).input(1), "w");
  EXPECT_EQ(body.node(3).input(1), "n");
}

TEST(ExportOnnx, WhatIsReadAgainGivesTheSame) {
  const auto source = Source(kLoop, {"x", "n"}, {"y", "count"});
  ASSERT_TRUE(source.ok()) << source.status();
  const test::TempFolder folder;
  const std::string path = folder.Path("model.onnx");
  ASSERT_TRUE(SaveAsOnnx(*source, path).ok());
  const auto model = ImportOnnxFile(path, Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto session = Session::Create(model->program);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs =
      (*session)->Run({{"x:0", std::vector<float>{1, 1}}, {"n:0", 20.0f}}, {"y:0", "count:0"});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].values<float>(), ElementsAre(8, 27));
  EXPECT_EQ((*outputs)[1].scalar<int32_t>(), 3);
}

TEST(ExportOnnx, LargeDataLiesInAFileOfItsOwn) {
  const auto source = Source(R"(
graph {
  %x = Placeholder() shape=(512) : float32
  %y = AddV2(%x, %w) : float32
  %w = Fill(%dims, %half) : float32
  %dims = Const() value=int32[1]{512} : int32
  %half = Const() value=float32{0.5} : float32
})",
                             {"x", "w"}, {"y"});
  ASSERT_TRUE(source.ok()) << source.status();
  OnnxSource with_data = *source;
  with_data.asked.signature.feeds.pop_back();
  std::vector<float> values(512, 0.25f);
  with_data.constants = {
      {source->asked.signature.feeds[1], Tensor::FromValues<float>(values, Shape::Vector(512))}};
  OnnxExportOptions options;
  options.data_name = "model.onnx.data";
  options.most_bytes = 1024;
  const auto file = ExportAsOnnx(with_data, options);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_THAT(file->data, SizeIs(1));
  EXPECT_LT(file->model.size(), 1024u);
  const test::TempFolder folder;
  folder.Write("model.onnx.data", file->data[0]);
  const auto model = ImportOnnxFile(folder.Write("model.onnx", file->model), Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto session = Session::Create(model->program);
  const auto outputs = (*session)->Run({{"x:0", values}}, {"y:0"});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].values<float>()[511], 0.5f);
}

// A list that each iteration adds x * i to.
std::string Collecting(const std::string& use) {
  return absl::StrCat(R"(
graph {
  %x = Placeholder() shape=(?) : float32
  %start = Const() value=int32{0} : int32
  %limit = Const() value=int32{4} : int32
  %one = Const() value=int32{1} : int32
  %any = Const() value=int32{-1} : int32
  %list = EmptyTensorList(%any, %any) element_dtype=float32 : variant
  %loop = For(%start, %limit, %one, %list, %x) body=@step : (variant, float32)
)",
                      use, R"(
}

func @step(i: int32 = %i, list: variant = %list, x: float32 = %x) -> (list: variant, x: float32) {
  %i = _Arg() index=0 : int32
  %list = _Arg() index=1 : variant
  %x = _Arg() index=2 : float32
  %factor = Cast(%i) DstT=float32 : float32
  %item = Mul(%x, %factor) : float32
  %more = TensorListPushBack(%list, %item) : variant
  return %more, %x
}
)");
}

TEST(ExportOnnx, AListThatIsOnlyStackedIsWhatTheLoopCollects) {
  const auto model =
      Export(Collecting("  %y = TensorListStack(%loop:0, %any) element_dtype=float32 : float32"),
             {"x"}, {"y"});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(OpsOf(model->graph()), ElementsAre("Loop"));
  const NodeProto& loop = model->graph().node(0);
  EXPECT_THAT(loop.input(), SizeIs(1));  // the count
  EXPECT_THAT(loop.output(), ElementsAre("y"));
}

TEST(ExportOnnx, OtherListsAreSequences) {
  const auto model = Export(Collecting(R"(
  %y = TensorListGetItem(%loop:0, %one, %any) element_dtype=float32 : float32)"),
                            {"x"}, {"y"});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(OpsOf(model->graph()), ElementsAre("SequenceEmpty", "Loop", "SequenceAt"));
}

TEST(ExportOnnx, RecursionIsRefusedByName) {
  EXPECT_THAT(ErrorOf(R"(
graph {
  %x = Placeholder() shape=() : int32
  %y = PartitionedCall(%x) f=@down Tout=[int32] : int32
}
func @down(n: int32 = %n) -> (r: int32) {
  %n = _Arg() index=0 : int32
  %zero = Const() value=int32{0} : int32
  %go = Greater(%n, %zero) : bool
  %r = StatelessIf(%go, %n) then_branch=@deeper else_branch=@stop : int32
  return %r
}
func @deeper(n: int32 = %n) -> (r: int32) {
  %n = _Arg() index=0 : int32
  %one = Const() value=int32{1} : int32
  %less = Sub(%n, %one) : int32
  %r = PartitionedCall(%less) f=@down Tout=[int32] : int32
  return %r
}
func @stop(n: int32 = %n) -> (r: int32) {
  %n = _Arg() index=0 : int32
  return %n
}
)"),
              HasSubstr("calls itself, which ONNX has no form for: write it as a loop"));
}

TEST(ExportOnnx, OpsWithoutAFormAreRefusedByNameAndNode) {
  const std::string error = ErrorOf(R"(
graph {
  %x = Placeholder() shape=(2,2) : float64
  %y = MatrixInverse(%x) : float64
})");
  EXPECT_THAT(error, HasSubstr("node 'y' (MatrixInverse)"));
  EXPECT_THAT(error, HasSubstr("the op MatrixInverse has no form in ONNX: compute its outputs"));
}

TEST(ExportOnnx, TypesWithoutAFormAreRefused) {
  EXPECT_THAT(ErrorOf(R"(
graph {
  %x = Placeholder() shape=(2) : complex64
  %y = Mul(%x, %x) : complex64
})"),
              HasSubstr("ONNX has no Mul of complex64"));
}

TEST(ExportOnnx, VariablesNeedAValueAndNobodyMayChangeThem) {
  constexpr char kVariable[] = R"(
graph {
  %x = Placeholder() shape=() : float32
  %v = VarHandleOp() dtype=float32 shape=() shared_name="weight" : resource
  %r = ReadVariableOp(%v) dtype=float32 : float32
  %y = AddV2(%r, %x) : float32
  %a = AssignAddVariableOp(%v, %x) dtype=float32
  %after = ReadVariableOp(%v, ^%a) dtype=float32 : float32
})";
  EXPECT_THAT(ErrorOf(kVariable), HasSubstr("variable 'weight' has no value"));
  EXPECT_THAT(ErrorOf(kVariable, {"x"}, {"after"}), HasSubstr("changes what outlives the run"));
  auto source = Source(kVariable, {"x"}, {"y"});
  ASSERT_TRUE(source.ok()) << source.status();
  source->variables["weight"] = {Tensor::Scalar(1.5f)};
  const auto file = ExportAsOnnx(*source);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto model = ImportOnnx(file->model, Ops(), {.trainable_initializers = true});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_THAT(model->initializers, SizeIs(1));
  EXPECT_EQ(model->initializers[0].name, "weight");
  EXPECT_EQ(model->initializers[0].value.scalar<float>(), 1.5f);
}

TEST(ExportOnnx, ScalarsOfAProgramAreNoWeights) {
  const auto source = Source(R"(
graph {
  %x = Placeholder() shape=(2) : float32
  %half = Const() value=float32{0.5} : float32
  %y = Mul(%x, %half) : float32
})",
                             {"x"}, {"y"});
  const auto file = ExportAsOnnx(*source);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto model = ImportOnnx(file->model, Ops(), {.trainable_initializers = true});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->initializers, IsEmpty());
}

TEST(ExportOnnx, AModelHasOutputsAndItsInputsAreNamed) {
  EXPECT_THAT(ErrorOf(kLoop, {"x", "n"}, {}), HasSubstr("a model of ONNX has outputs"));
  EXPECT_THAT(ErrorOf(kLoop, {"x"}, {"y"}), HasSubstr("it is none of the inputs"));
}

TEST(ExportOnnx, AnInputMayBeAnOutput) {
  const auto model = Export(R"(
graph {
  %x = Placeholder() shape=() : float32
})",
                            {"x"}, {"x"});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NE(model->graph().output(0).name(), model->graph().input(0).name());
  EXPECT_THAT(OpsOf(model->graph()), ElementsAre("Identity"));
}

// Functions that call two others each, so that calls written in place are 2^30.
TEST(ExportOnnx, WhatGrowsWithoutEndIsRefused) {
  std::string text = R"(
graph {
  %x = Placeholder() shape=() : float32
  %y = PartitionedCall(%x) f=@f0 Tout=[float32] : float32
}
)";
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&text, "func @f", i, R"((x: float32 = %x) -> (y: float32) {
  %x = _Arg() index=0 : float32
  %a = PartitionedCall(%x) f=@f)",
                    i + 1, R"( Tout=[float32] _noinline=true : float32
  %b = PartitionedCall(%a) f=@f)",
                    i + 1, R"( Tout=[float32] _noinline=true : float32
  return %b
}
)");
  }
  text += R"(func @f30(x: float32 = %x) -> (y: float32) {
  %x = _Arg() index=0 : float32
  %y = Sin(%x) : float32
  return %y
}
)";
  EXPECT_THAT(ErrorOf(text), HasSubstr("too many nodes"));
}

}  // namespace
}  // namespace gyre::onnx
