// Cases without control flow: what one op costs, alone, in a row, and beside others.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "graph.h"
#include "workload.h"

namespace gyre::bench {

// x + c + c + …: each op waits for the one before it. Fed, so that nothing can be computed ahead.
inline Workload Chain(int ops, const Shape& shape) {
  Graph g;
  Endpoint y = g.Placeholder("x", DType::kFloat);
  const Endpoint c = g.Placeholder("c", DType::kFloat);
  for (int i = 0; i < ops; ++i) y = g.Op("AddV2", {y, c});
  g.Op("Identity", {y}, {}, "y");
  return {.program = MakeProgram(g.Build()),
          .feeds = {{"x:0", Filled(1, shape)}, {"c:0", Filled(2, shape)}},
          .fetches = {"y:0"},
          .units = ops,
          .check = AllAre(1 + 2.0 * ops, shape.num_elements())};
}

// Differences of all pairs out of 142 fed scalars, the first 10,000 of 10,011, joined by one AddN.
// Pairs, because equal ops would be merged by whoever looks for them; differences, because a tree
// of additions may be rewritten as one sum.
inline Workload IndependentOps() {
  constexpr int kOps = 10'000, kFeeds = 142;
  Graph g;
  Workload work{.fetches = {"sum:0"}, .units = kOps};
  std::vector<Endpoint> fed, differences;
  for (int i = 0; i < kFeeds; ++i) {
    const std::string name = absl::StrCat("f", i);
    fed.push_back(g.Placeholder(name, DType::kFloat));
    work.feeds.emplace_back(absl::StrCat(name, ":0"), Tensor::Scalar(static_cast<float>(i)));
  }
  double sum = 0;
  for (int i = 0; i < kFeeds; ++i) {
    for (int j = i + 1; j < kFeeds && differences.size() < kOps; ++j) {
      differences.push_back(g.Op("Sub", {fed[i], fed[j]}));
      sum += i - j;
    }
  }
  g.Op("AddN", differences, {}, "sum");
  work.program = MakeProgram(g.Build());
  work.check = AllAre(sum);
  return work;
}

// Elementwise op on 2^20 floats; `unit` is one element.
inline Workload Elementwise(absl::string_view op, std::vector<float> inputs, double want,
                            double error) {
  constexpr int64_t kElements = 1 << 20;
  Graph g;
  Workload work{.fetches = {"y:0"}, .units = kElements, .check = AllAre(want, kElements, error)};
  std::vector<Endpoint> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    fed.push_back(g.Placeholder(name, DType::kFloat));
    work.feeds.emplace_back(absl::StrCat(name, ":0"), Filled(inputs[i], Shape::Vector(kElements)));
  }
  g.Op(op, fed, {}, "y");
  work.program = MakeProgram(g.Build());
  return work;
}

// x c + d, four times, on 2^20 floats; `unit` is one element.
inline Workload ElementwiseChain() {
  constexpr int64_t kElements = 1 << 20;
  constexpr int kSteps = 4;
  Graph g;
  Endpoint y = g.Placeholder("x", DType::kFloat);
  const Endpoint c = g.Placeholder("c", DType::kFloat), d = g.Placeholder("d", DType::kFloat);
  float want = 1;
  for (int i = 0; i < kSteps; ++i) {
    y = g.Op("AddV2", {g.Op("Mul", {y, c}), d});
    want = want * 2 + 3;
  }
  g.Op("Identity", {y}, {}, "y");
  const auto filled = [](float value) { return Filled(value, Shape::Vector(kElements)); };
  return {.program = MakeProgram(g.Build()),
          .feeds = {{"x:0", filled(1)}, {"c:0", filled(2)}, {"d:0", filled(3)}},
          .fetches = {"y:0"},
          .units = kElements,
          .check = AllAre(want, kElements)};
}

inline Workload MatrixProduct(int64_t n) {
  Graph g;
  const Endpoint a = g.Placeholder("a", DType::kFloat), b = g.Placeholder("b", DType::kFloat);
  g.Op("MatMul", {a, b}, {}, "y");
  return {.program = MakeProgram(g.Build()),
          .feeds = {{"a:0", Filled(0.5f, Matrix(n, n))}, {"b:0", Filled(2, Matrix(n, n))}},
          .fetches = {"y:0"},
          .check = AllAre(static_cast<double>(n), n * n)};
}

inline std::vector<Case> OpsCases() {
  return {
      {.name = "chain/scalar", .make = [] { return Chain(1000, Shape()); }},
      {.name = "chain/vector", .make = [] { return Chain(1000, Shape::Vector(1024)); }},
      {.name = "tiny_ops/independent", .make = IndependentOps},
      {.name = "elementwise/add", .make = [] { return Elementwise("AddV2", {1, 2}, 3, 0); }},
      {.name = "elementwise/tanh",
       .make = [] { return Elementwise("Tanh", {0.7f}, std::tanh(0.7f), 1e-6); }},
      {.name = "elementwise/chain", .make = &ElementwiseChain},
      {.name = "matmul/1024", .make = [] { return MatrixProduct(1024); }},
  };
}

}  // namespace gyre::bench
