// Cases of whole runs: what a call costs, from one thread and from two, and a process.
#pragma once

#include <utility>
#include <vector>

#include "graph.h"
#include "loops_cases.h"
#include "workload.h"

namespace gyre::bench {

// Fetches what was fed: nothing is computed.
inline Workload NullStepFed() {
  Graph g;
  g.Placeholder("x", DType::kFloat);
  return {.program = MakeProgram(g.Build()),
          .feeds = {{"x:0", Tensor::Scalar(3.0f)}},
          .fetches = {"x:0"},
          .check = AllAre(3)};
}

inline Workload NullStepConst() {
  Graph g;
  g.Op("Const", {}, Attrs({{"dtype", DType::kFloat}, {"value", Tensor::Scalar(3.0f)}}), "x");
  return {.program = MakeProgram(g.Build()), .fetches = {"x:0"}, .check = AllAre(3)};
}

inline Workload ShortLoop() {
  Workload work = WhileLoop(100);
  work.units = 1;
  return work;
}

inline std::vector<Case> RunsCases() {
  return {
      {.name = "null_step/fed", .make = NullStepFed},
      {.name = "null_step/const", .make = NullStepConst},
      {.name = "loop_of_100/one_client", .make = ShortLoop},
      {.name = "loop_of_100/two_clients", .make = ShortLoop, .clients = 2},
      {.name = "process/saved_graph", .make = ShortLoop, .as_process = true},
  };
}

}  // namespace gyre::bench
