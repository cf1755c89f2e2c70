// Cases that have work for two threads.
#pragma once

#include <utility>
#include <vector>

#include "graph.h"
#include "workload.h"

namespace gyre::bench {

// A loop whose iterations do not need each other: iteration i multiplies its own matrix eight times
// with a permutation and adds up the elements; only the sum of the sums is carried. Eight products
// of 128 × 128 take some 0.3 ms; a single one is too small to be worth splitting, so what two
// threads gain they gain from iterations that overlap.
inline Workload HeavyIterations() {
  constexpr int kIterations = 32, kSize = 128, kProducts = 8;
  Graph cond("cond"), body("body"), g;
  const auto declare = [](Graph& f) {
    return std::vector<Endpoint>{f.Arg("i", DType::kInt32), f.Arg("n", DType::kInt32),
                                 f.Arg("sum", DType::kFloat), f.Arg("matrices", DType::kFloat),
                                 f.Arg("permutation", DType::kFloat)};
  };
  const std::vector<Endpoint> tested = declare(cond);
  cond.Return("go", cond.Op("Less", {tested[0], tested[1]}));

  const std::vector<Endpoint> args = declare(body);
  const Endpoint zero = body.Const(Tensor::Scalar(int32_t{0}));
  Endpoint y = body.Op("GatherV2", {args[3], args[0], zero});
  for (int k = 0; k < kProducts; ++k) y = body.Op("MatMul", {y, args[4]});
  y = body.Op("Sum", {y, body.Const(Tensor::Vector<int32_t>({0, 1}))});
  body.Return("i", body.Op("AddV2", {args[0], body.Const(Tensor::Scalar(int32_t{1}))}));
  body.Return("n", args[1]);
  body.Return("sum", body.Op("AddV2", {args[2], y}));
  body.Return("matrices", args[3]);
  body.Return("permutation", args[4]);

  std::vector<Endpoint> inputs = {g.Const(Tensor::Scalar(int32_t{0})),
                                  g.Placeholder("n", DType::kInt32)};
  for (const char* name : {"sum", "matrices", "permutation"})
    inputs.push_back(g.Placeholder(name, DType::kFloat));
  const Endpoint loop =
      g.Op("StatelessWhile", inputs, Attrs({{"cond", Callee("cond")}, {"body", Callee("body")}}));
  g.Op("Identity", {Endpoint{loop.node, 2}}, {}, "y");

  // Matrix i is filled with i; all sums stay below 2^24 and are exact in any order.
  std::vector<float> matrices, permutation(size_t{kSize} * kSize, 0);
  for (int i = 0; i < kIterations; ++i)
    matrices.insert(matrices.end(), size_t{kSize} * kSize, static_cast<float>(i));
  for (int i = 0; i < kSize; ++i) permutation[i * kSize + (i + 1) % kSize] = 1;
  const Shape shape = Shape::Trusted({kIterations, kSize, kSize});
  return {
      .program = MakeProgram(g.Build(), {cond.Build(), body.Build()}),
      .feeds = {{"n:0", Tensor::Scalar(int32_t{kIterations})},
                {"sum:0", Tensor::Scalar(0.0f)},
                {"matrices:0", Tensor::FromValues<float>(matrices, shape)},
                {"permutation:0", Tensor::FromValues<float>(permutation, Matrix(kSize, kSize))}},
      .fetches = {"y:0"},
      .units = kIterations,
      .check = AllAre(double{kSize} * kSize * kIterations * (kIterations - 1) / 2)};
}

inline std::vector<Case> ParallelCases() {
  return {
      {.name = "window/1", .make = HeavyIterations, .window = 1},
      {.name = "window/8", .make = HeavyIterations, .window = 8},
      {.name = "window/not_set", .make = HeavyIterations},
  };
}

}  // namespace gyre::bench
