// GraphSession::export_onnx and Model::export_onnx: what was built, or loaded, as a model of ONNX.
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gyre/gyre.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(ExportOnnx, AGraphWithALoopAndAVariable) {
  const test::TempFolder folder;
  const std::string path = folder.Path("model.onnx");
  Graph graph;
  const GraphScope in(graph);
  const Value x = placeholder(DType::kFloat, Dims{2}, "x");
  const Value n = placeholder(DType::kInt32, Dims{}, "n");
  const Variable w("w", Tensor::Vector<float>({2, 3}));
  const auto [count, y] =
      while_loop([&](Value i, Value) { return i < n; },
                 [&](Value i, Value v) { return std::tuple(i + 1, v * w); }, constant(0), x);
  GraphSession session(graph);
  EXPECT_THROW(session.export_onnx(path, {y}, {x, n}), Error);  // w has no value yet
  session.initialize();
  session.export_onnx(path, {y}, {x, n});

  const Model model = Model::load(path);
  const std::vector<std::string> fetches = {absl::StrReplaceAll(y.name(), {{":", "_"}})};
  const auto outputs = model.run({{"x", std::vector<float>{1, 1}}, {"n", 3}}, fetches);
  EXPECT_THAT(outputs[0].values<float>(), ElementsAre(8, 27));
}

// Small constants are copied into bodies; what replaces them must reach those, too.
TEST(ExportOnnx, WeightsWithinALoopMayBeReplaced) {
  const test::TempFolder folder;
  const std::string path = folder.Path("model.onnx");
  {
    Graph graph;
    const GraphScope in(graph);
    const Value x = placeholder(DType::kFloat, Dims{2}, "x");
    const Variable w("w", Tensor::Vector<float>({2, 3}));
    const Value y = for_range(3, [&](Value, Value v) { return v * w; }, x);
    GraphSession session(graph);
    session.initialize();
    session.export_onnx(path, {identity(y, "y")}, {x});
  }
  Graph graph;
  const GraphScope in(graph);
  const Variable w("w", import_graph(path, {"w"})[0]);
  const std::vector<Value> model = import_graph(path, {"y", "x"}, {{"w", w}});
  const Value gradient = gradients({model[0]}, {w})[0];
  GraphSession session(graph);
  session.initialize();
  const Tensor slope = session.eval(gradient, {{model[1], Tensor::Vector<float>({1, 1})}});
  EXPECT_THAT(slope.values<float>(), ElementsAre(12, 27));
}

TEST(ExportOnnx, WhatChangesAVariableIsRefused) {
  const test::TempFolder folder;
  Graph graph;
  const GraphScope in(graph);
  const Variable w("w", 1.0f);
  w.assign(w * 2.0f);
  const Value doubled = w.read();
  GraphSession session(graph);
  session.initialize();
  try {
    session.export_onnx(folder.Path("model.onnx"), {doubled});
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("changes what outlives the run"));
  }
}

TEST(ExportOnnx, ASignatureOfAModel) {
  const test::TempFolder folder;
  const std::string path = folder.Path("model.onnx");
  const Model lstm = Model::load(test::SourcePath("tests/saved_models/keras_lstm/model"));
  lstm.export_onnx(path, "serving_default");
  const auto& signature = lstm.signatures().at("serving_default");
  const auto& [input, argument] = *signature.inputs.begin();
  const auto& output = signature.outputs.begin()->first;
  Dims dims(argument.shape.dims().begin(), argument.shape.dims().end());
  for (int64_t& dim : dims) dim = dim < 0 ? 2 : dim;
  const Shape shape = *Shape::Make(dims);
  std::vector<float> numbers(shape.num_elements(), 0.25f);
  const Tensor x = Tensor::FromValues<float>(numbers, shape);
  const Tensor want = lstm.call("serving_default", {{input, x}}).at(output);
  const Tensor got = Model::load(path).run({{input, x}}, {output})[0];
  EXPECT_THAT(got.values<float>(), Pointwise(FloatNear(1e-6f), want.values<float>()));
  EXPECT_THROW(lstm.export_onnx(path, "there_is_none"), Error);
}

}  // namespace
}  // namespace gyre
