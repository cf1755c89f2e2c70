// An LSTM, what its gradients are, and the matrix products that it cannot do without.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "graph.h"
#include "workload.h"

namespace gyre::bench {

struct LstmSize {
  int steps = 20, batch = 32, hidden = 512;
};

// Weights and inputs are such that all elements of a gate are equal: what comes out is known from
// the same recurrence on four scalars. peers/values.py has the same numbers.
struct LstmValues {
  // By gate: input, forget, output, candidate. A weight matrix holds these, divided by kLstmHidden.
  static constexpr float kW[4] = {0.5f, -0.25f, 1.0f, 0.75f}, kU[4] = {-0.5f, 0.5f, 0.25f, 1.0f},
                         kB[4] = {0.125f, 1.0f, 0.0f, -0.125f};
  static float X(int step) { return 0.1f * static_cast<float>(step % 5) - 0.2f; }

  static Tensor Weights(const float (&by_gate)[4], int64_t rows, float divisor, int64_t hidden) {
    std::vector<float> values;
    for (int64_t row = 0; row < rows; ++row) {
      for (const float value : by_gate)
        values.insert(values.end(), static_cast<size_t>(hidden), value / divisor);
    }
    const int64_t columns = 4 * hidden;
    return Tensor::FromValues<float>(values,
                                     rows == 1 ? Shape::Vector(columns) : Matrix(rows, columns));
  }
  static Tensor Inputs(const LstmSize& size) {
    std::vector<float> values;
    for (int step = 0; step < size.steps; ++step)
      values.insert(values.end(), static_cast<size_t>(size.batch) * size.hidden, X(step));
    return Tensor::FromValues<float>(values, Shape::Trusted({size.steps, size.batch, size.hidden}));
  }
};

// The same LSTM on scalars: an element of every tensor.
class ScalarLstm {
 public:
  explicit ScalarLstm(const LstmSize& size) : size_(size), iterations_(size.steps) {
    double h = 0, c = 0;
    for (int step = 0; step < size.steps; ++step) {
      Iteration& iteration = iterations_[step];
      iteration.h = h, iteration.c = c;
      for (int k = 0; k < 4; ++k) {
        const double sum = LstmValues::X(step) * LstmValues::kW[k] + h * LstmValues::kU[k];
        iteration.gate[k] = Activation(k, sum + LstmValues::kB[k]);
      }
      c = iteration.gate[1] * c + iteration.gate[0] * iteration.gate[3];
      iteration.tanh_c = std::tanh(c);
      h = iteration.gate[2] * iteration.tanh_c;
    }
    result_ = h;
  }

  // h after the last step.
  double result() const { return result_; }

  // By gate: the gradient of the sum of all elements of the last h by an element of W, of U, of b.
  struct Gradients {
    double w[4] = {}, u[4] = {}, b[4] = {};
  };
  Gradients gradients() const {
    Gradients sums;
    double dh = 1, dc = 0;
    for (int step = size_.steps - 1; step >= 0; --step) {
      const Iteration& iteration = iterations_[step];
      const auto& [i, f, o, g] = iteration.gate;
      dc += dh * o * (1 - iteration.tanh_c * iteration.tanh_c);
      const double d[4] = {dc * g * i * (1 - i), dc * iteration.c * f * (1 - f),
                           dh * iteration.tanh_c * o * (1 - o), dc * i * (1 - g * g)};
      dh = 0, dc *= f;
      for (int k = 0; k < 4; ++k) {
        sums.w[k] += size_.batch * d[k] * LstmValues::X(step);
        sums.u[k] += size_.batch * d[k] * iteration.h;
        sums.b[k] += size_.batch * d[k];
        dh += d[k] * LstmValues::kU[k];
      }
    }
    return sums;
  }

 private:
  struct Iteration {
    double h, c;  // before it
    double gate[4];
    double tanh_c;  // of the c behind it
  };
  static double Activation(int gate, double sum) {
    return gate == 3 ? std::tanh(sum) : 1 / (1 + std::exp(-sum));
  }

  LstmSize size_;
  std::vector<Iteration> iterations_;
  double result_ = 0;
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

inline Workload LstmLoop(const LstmSize& size = {}) {
  Graph cond("cond");
  const Endpoint t = cond.Arg("t", DType::kInt32), n = cond.Arg("n", DType::kInt32);
  for (const char* name : {"h", "c", "xs", "w", "u", "b"}) cond.Arg(name, DType::kFloat);
  cond.Return("go", cond.Op("Less", {t, n}));

  const Tensor state = Filled(0, Matrix(size.batch, size.hidden));
  const auto weights = [&size](const float(&by_gate)[4]) {
    return LstmValues::Weights(by_gate, size.hidden, static_cast<float>(size.hidden), size.hidden);
  };
  Workload work = {
      .feeds = {{"n", Tensor::Scalar(int32_t{size.steps})},
                {"h", state},
                {"c", state},
                {"xs", LstmValues::Inputs(size)},
                {"w", weights(LstmValues::kW)},
                {"u", weights(LstmValues::kU)},
                {"b", LstmValues::Weights(LstmValues::kB, 1, 1, size.hidden)}},
      .fetches = {"y:0"},
      .units = size.steps,
      .check = AllAre(ScalarLstm(size).result(), int64_t{size.batch} * size.hidden, 1e-4)};
  Graph g;
  std::vector<Endpoint> inputs = {g.Const(Tensor::Scalar(int32_t{0}))};
  for (const auto& [name, value] : work.feeds)
    inputs.push_back(
        g.Placeholder(name, value.tensor().dtype(), PartialShape(value.tensor().shape())));
  const Endpoint loop =
      g.Op("StatelessWhile", inputs, Attrs({{"cond", Callee("cond")}, {"body", Callee("body")}}));
  g.Op("Identity", {Endpoint{loop.node, 2}}, {}, "y");
  work.program = MakeProgram(g.Build(), {cond.Build(), LstmBody()});
  return work;
}

// x W and h U alone, once per step, all independent. Each reads a feed of its own, so that no two
// are the same product.
inline Workload LstmProducts() {
  Graph g;
  const Endpoint w = g.Placeholder("w", DType::kFloat), u = g.Placeholder("u", DType::kFloat);
  const LstmSize size;
  const Tensor state = Filled(1, Matrix(size.batch, size.hidden));
  const auto weights = [&size](const float(&by_gate)[4]) {
    return LstmValues::Weights(by_gate, size.hidden, static_cast<float>(size.hidden), size.hidden);
  };
  Workload work = {.feeds = {{"w:0", weights(LstmValues::kW)}, {"u:0", weights(LstmValues::kU)}},
                   .fetches = {"y:0"},
                   .targets = {"all"},
                   .units = size.steps};
  std::vector<NodeId> products;
  for (int step = 0; step < size.steps; ++step) {
    for (const Endpoint factor : {w, u}) {
      const std::string name = absl::StrCat("x", products.size());
      const Endpoint x = g.Placeholder(name, DType::kFloat);
      work.feeds.emplace_back(absl::StrCat(name, ":0"), state);
      products.push_back(g.Op("MatMul", {x, factor}).node);
    }
  }
  g.Op("GatherNd", {Endpoint{products[0], 0}, g.Const(Tensor::Vector<int32_t>({0, 0}))}, {}, "y");
  g.Op("NoOp", {}, {}, "all", products);
  work.program = MakeProgram(g.Build());
  work.check = AllAre(LstmValues::kW[0], 1, 1e-4);
  return work;
}

}  // namespace gyre::bench
