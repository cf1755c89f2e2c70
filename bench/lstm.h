// An LSTM of 20 steps, batch 32, hidden size 512, and the matrix products that it cannot do
// without.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "graph.h"
#include "workload.h"

namespace gyre::bench {

constexpr int kLstmSteps = 20, kLstmBatch = 32, kLstmHidden = 512;

// Weights and inputs are such that all elements of a gate are equal: what comes out is known from
// the same recurrence on four scalars. peers/lstm_values.py has the same numbers.
struct LstmValues {
  // By gate: input, forget, output, candidate. A weight matrix holds these, divided by kLstmHidden.
  static constexpr float kW[4] = {0.5f, -0.25f, 1.0f, 0.75f}, kU[4] = {-0.5f, 0.5f, 0.25f, 1.0f},
                         kB[4] = {0.125f, 1.0f, 0.0f, -0.125f};
  static float X(int step) { return 0.1f * static_cast<float>(step % 5) - 0.2f; }

  static Tensor Weights(const float (&by_gate)[4], int64_t rows, float divisor) {
    std::vector<float> values;
    for (int64_t row = 0; row < rows; ++row) {
      for (const float value : by_gate) values.insert(values.end(), kLstmHidden, value / divisor);
    }
    const int64_t columns = 4 * kLstmHidden;
    return Tensor::FromValues<float>(values,
                                     rows == 1 ? Shape::Vector(columns) : Matrix(rows, columns));
  }
  static Tensor Inputs() {
    std::vector<float> values;
    for (int step = 0; step < kLstmSteps; ++step)
      values.insert(values.end(), size_t{kLstmBatch} * kLstmHidden, X(step));
    return Tensor::FromValues<float>(values, Shape::Trusted({kLstmSteps, kLstmBatch, kLstmHidden}));
  }
  // h after the last step.
  static double Result() {
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    double h = 0, c = 0;
    for (int step = 0; step < kLstmSteps; ++step) {
      double gate[4];
      for (int k = 0; k < 4; ++k) gate[k] = X(step) * kW[k] + h * kU[k] + kB[k];
      c = sigmoid(gate[1]) * c + sigmoid(gate[0]) * std::tanh(gate[3]);
      h = sigmoid(gate[2]) * std::tanh(c);
    }
    return h;
  }
};

// (t + 1, h', c') from the gates σ(x W + h U + b); xs, W, U, b and n go through unchanged.
inline Function LstmBody() {
  Graph g("body");
  const Endpoint t = g.Arg("t", DType::kInt32), n = g.Arg("n", DType::kInt32);
  const Endpoint h = g.Arg("h", DType::kFloat), c = g.Arg("c", DType::kFloat);
  const Endpoint xs = g.Arg("xs", DType::kFloat), w = g.Arg("w", DType::kFloat);
  const Endpoint u = g.Arg("u", DType::kFloat), b = g.Arg("b", DType::kFloat);
  const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
  const Endpoint one = g.Const(Tensor::Scalar(int32_t{1}));
  const Endpoint x = g.Op("GatherV2", {xs, t, zero});
  const Endpoint sum = g.Op("AddV2", {g.Op("MatMul", {x, w}), g.Op("MatMul", {h, u})});
  const Endpoint gates =
      g.Op("Split", {one, g.Op("BiasAdd", {sum, b})}, Attrs({{"num_split", int64_t{4}}}));
  const auto sigmoid = [&](int slot) { return g.Op("Sigmoid", {Endpoint{gates.node, slot}}); };
  const Endpoint kept = g.Op("Mul", {sigmoid(1), c});
  const Endpoint added = g.Op("Mul", {sigmoid(0), g.Op("Tanh", {Endpoint{gates.node, 3}})});
  const Endpoint cell = g.Op("AddV2", {kept, added});
  g.Return("t", g.Op("AddV2", {t, one}));
  g.Return("n", n);
  g.Return("h", g.Op("Mul", {sigmoid(2), g.Op("Tanh", {cell})}));
  g.Return("c", cell);
  for (const auto& [name, value] : {std::pair{"xs", xs}, {"w", w}, {"u", u}, {"b", b}})
    g.Return(name, value);
  return g.Build();
}

inline Workload LstmLoop() {
  Graph cond("cond");
  const Endpoint t = cond.Arg("t", DType::kInt32), n = cond.Arg("n", DType::kInt32);
  for (const char* name : {"h", "c", "xs", "w", "u", "b"}) cond.Arg(name, DType::kFloat);
  cond.Return("go", cond.Op("Less", {t, n}));

  Graph g;
  const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
  std::vector<Endpoint> inputs = {zero, g.Placeholder("n", DType::kInt32)};
  for (const char* name : {"h", "c", "xs", "w", "u", "b"})
    inputs.push_back(g.Placeholder(name, DType::kFloat));
  const Endpoint loop =
      g.Op("StatelessWhile", inputs, Attrs({{"cond", Callee("cond")}, {"body", Callee("body")}}));
  g.Op("Identity", {Endpoint{loop.node, 2}}, {}, "y");

  const Tensor state = Filled(0, Matrix(kLstmBatch, kLstmHidden));
  const float hidden = kLstmHidden;
  return {.program = MakeProgram(g.Build(), {cond.Build(), LstmBody()}),
          .feeds = {{"n:0", Tensor::Scalar(int32_t{kLstmSteps})},
                    {"h:0", state},
                    {"c:0", state},
                    {"xs:0", LstmValues::Inputs()},
                    {"w:0", LstmValues::Weights(LstmValues::kW, kLstmHidden, hidden)},
                    {"u:0", LstmValues::Weights(LstmValues::kU, kLstmHidden, hidden)},
                    {"b:0", LstmValues::Weights(LstmValues::kB, 1, 1)}},
          .fetches = {"y:0"},
          .units = kLstmSteps,
          .check = AllAre(LstmValues::Result(), int64_t{kLstmBatch} * kLstmHidden, 1e-4)};
}

// x W and h U alone, once per step, all independent. Each reads a feed of its own, so that no two
// are the same product.
inline Workload LstmProducts() {
  Graph g;
  const Endpoint w = g.Placeholder("w", DType::kFloat), u = g.Placeholder("u", DType::kFloat);
  const Tensor state = Filled(1, Matrix(kLstmBatch, kLstmHidden));
  Workload work = {
      .feeds = {{"w:0", LstmValues::Weights(LstmValues::kW, kLstmHidden, kLstmHidden)},
                {"u:0", LstmValues::Weights(LstmValues::kU, kLstmHidden, kLstmHidden)}},
      .fetches = {"y:0"},
      .targets = {"all"},
      .units = kLstmSteps};
  std::vector<NodeId> products;
  for (int step = 0; step < kLstmSteps; ++step) {
    for (const Endpoint weights : {w, u}) {
      const std::string name = absl::StrCat("x", products.size());
      const Endpoint x = g.Placeholder(name, DType::kFloat);
      work.feeds.emplace_back(absl::StrCat(name, ":0"), state);
      products.push_back(g.Op("MatMul", {x, weights}).node);
    }
  }
  g.Op("GatherNd", {Endpoint{products[0], 0}, g.Const(Tensor::Vector<int32_t>({0, 0}))}, {}, "y");
  g.Op("NoOp", {}, {}, "all", products);
  work.program = MakeProgram(g.Build());
  work.check = AllAre(LstmValues::kW[0], 1, 1e-4);
  return work;
}

}  // namespace gyre::bench
