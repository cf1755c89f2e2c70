// Cases that compute gradients: forward and backward in one run.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "grad/gradients.h"
#include "graph.h"
#include "loops_cases.h"
#include "lstm.h"
#include "workload.h"

namespace gyre::bench {

// `work` with the gradients of its first fetch by these placeholders as its fetches.
inline Workload GradientOf(Workload work, const std::vector<std::string>& xs) {
  const Function& main = work.program->main();
  const auto find = [&](absl::string_view name) {
    const Node* node = main.FindNode(name.substr(0, name.find(':')));
    if (node == nullptr) Die(absl::StrCat("there is no node ", name));
    return Endpoint{node->id, 0};
  };
  GradientRequest request{.ys = {find(work.fetches[0])}};
  for (const std::string& x : xs) request.xs.push_back(find(x));
  const GradientResult result = OrDie(DenseGradients(work.program, request));
  work.fetches.clear();
  for (const auto& gradient : result.gradients)
    work.fetches.push_back(result.program->main().EndpointName(gradient->values));
  work.program = result.program;
  return work;
}

// x = sin(x * w), n times; the gradient by w.
inline Workload SineLoop(int trips) {
  const auto sine = [](Graph& g, const LoopArgs& args) {
    return g.Op("Sin", {g.Op("Mul", {args.x, args.c})});
  };
  double x = 0.5, dw = 0;  // dw: of the last x by w
  constexpr double kW = 1.1;
  for (int i = 0; i < trips; ++i) {
    dw = std::cos(x * kW) * (x + kW * dw);
    x = std::sin(x * kW);
  }
  Workload loop = LoopWorkload(trips, {LoopBody("body", sine)}, 0, PartialShape::Scalar());
  Workload work = GradientOf(std::move(loop), {"c"});
  work.feeds[1].second = Tensor::Scalar(0.5f);
  work.feeds[2].second = Tensor::Scalar(static_cast<float>(kW));
  work.check = AllAre(dw, 1, 1e-4);
  return work;
}

// The weights' gradients of the sum of all elements of the last h.
inline Workload LstmGradient() {
  Workload work = GradientOf(LstmLoop(), {"w", "u", "b"});
  work.check = [](const std::vector<Tensor>&) { return std::string(); };
  return work;
}

inline std::vector<Case> GradientCases() {
  return {
      {.name = "gradient/scalar_loop", .make = [] { return SineLoop(10'000); }},
      {.name = "gradient/lstm", .make = [] { return LstmGradient(); }},
  };
}

}  // namespace gyre::bench
