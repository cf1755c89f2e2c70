// # Lesson 11: an ONNX model, trained further
//
// ONNX is how models travel. This file holds an LSTM whose steps are a Loop; runtimes for ONNX have
// no gradient of that. Gyre reads it, trains it, and hands it back as ONNX.
//
//     $ build/release/bin/lessons/11_onnx
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::DType;
using gyre::Tensor;
using gyre::Value;
using gyre::Variable;

namespace {

constexpr int kBatch = 8;
constexpr int kHidden = 4;

Tensor Wave(int64_t rows, int64_t columns, float scale, float phase) {
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale * std::sin(phase + 1.7f * static_cast<float>(i));
  return Tensor::FromValues<float>(values, *gyre::Shape::Make({rows, columns}));
}

// Somebody's model: an LSTM over x, of shape (steps, kBatch, 1), and what it says at the end.
void MakeModel(const std::string& path) {
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value x = gyre::placeholder(DType::kFloat, {-1, kBatch, 1}, "x");
  const Variable kernel("kernel", Wave(1 + kHidden, 4 * kHidden, 0.5f, 0));
  const Variable bias("bias", Wave(1, 4 * kHidden, 0.1f, 1));
  const Variable output("output", Wave(kHidden, 1, 0.5f, 2));
  const Value none = gyre::zeros({kBatch, kHidden});
  using State = std::tuple<Value, Value>;
  const auto [h, c] = gyre::for_range(
      gyre::dim_of(x, 0),
      [&](Value i, const State& state) {
        const auto& [h, c] = state;
        const Value z = gyre::matmul(gyre::concat({x[i], h}, 1), kernel) + bias;
        const std::vector<Value> gates = gyre::op::Split(1, z, 4);
        const Value next =
            gyre::sigmoid(gates[1]) * c + gyre::sigmoid(gates[0]) * gyre::tanh(gates[2]);
        return State(gyre::sigmoid(gates[3]) * gyre::tanh(next), next);
      },
      State(none, none));
  const Value y = gyre::identity(gyre::matmul(h, output), "y");
  gyre::GraphSession session(graph);
  session.initialize();
  session.export_onnx(path, {y}, {x});
}

}  // namespace

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string theirs = folder / "lesson_11_lstm.onnx", ours = folder / "lesson_11_more.onnx";
  MakeModel(theirs);

  // `import_graph` reads it, with its tensors by their names. Its initializers are what is to be
  // trained: variables that begin as these stand in their places.
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const std::vector<std::string> names = {"kernel", "bias", "output"};
  std::vector<Variable> weights;
  gyre::ImportInputs replaced;
  for (const Value& initial : gyre::import_graph(theirs, names)) {
    weights.emplace_back(names[weights.size()], initial);
    replaced.emplace_back(names[weights.size() - 1], weights.back());
  }
  const std::vector<Value> model = gyre::import_graph(theirs, {"y", "x"}, replaced);
  const Value y = model[0], x = model[1];

  // The model has one more thing to learn: what it says at the end is to be the mean of what it
  // has seen. Its loop is a While now, which has a gradient.
  const Value wanted = gyre::reduce_mean(x, {0});
  const Value loss = gyre::reduce_mean(gyre::square(y - wanted));
  const std::vector<Value> gradients =
      gyre::gradients({loss}, {weights[0], weights[1], weights[2]});
  std::vector<gyre::Operation> train;
  for (size_t i = 0; i < weights.size(); ++i)
    train.push_back(weights[i].assign_sub(gradients[i] * 0.5f));
  gyre::GraphSession session(graph);
  session.initialize();
  const auto batch = [](int64_t steps, float phase) {
    return Wave(steps * kBatch, 1, 1, phase).Reshaped(*gyre::Shape::Make({steps, kBatch, 1}));
  };
  const Tensor test = batch(7, 0.4f);
  const float before = session.eval(loss, {{x, test}}).scalar<float>();
  for (int step = 0; step < 1000; ++step) {
    const Tensor now = batch(3 + step % 6, 0.1f * static_cast<float>(step));
    session.eval({loss}, {{x, now}}, train);
  }
  const float after = session.eval(loss, {{x, test}}).scalar<float>();
  lesson::ExpectThat("the loss went down to less than a fifth", after < before / 5);

  // What has been learned is a model of ONNX again, with a Loop and the weights as they are now. It
  // says what the session says, of sequences of any length.
  session.export_onnx(ours, {y}, {x});
  const gyre::Model again = gyre::Model::load(ours);
  double apart = 0;
  for (const int64_t steps : {1, 5, 40}) {
    const Tensor now = batch(steps, 3);
    const Tensor want = session.eval(y, {{x, now}});
    const Tensor got = again.run({{x.name(), now}}, {y.name()})[0];
    for (int i = 0; i < kBatch; ++i)
      apart = std::max(apart, std::abs(double{got.values<float>()[i]} - want.values<float>()[i]));
  }
  lesson::ExpectThat("the model that is handed back says the same", apart < 1e-6);
  std::filesystem::remove(theirs);
  std::filesystem::remove(ours);
  return lesson::Result();
}
