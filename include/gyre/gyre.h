// The C++ API of Gyre: everything to build programs and run them. Each header says its thread
// rules. Functions are in snake_case, and what goes wrong is thrown as an Error. (The headers of
// gyre/core, for what is to go on without exceptions, are in CamelCase, and return absl::Status.
// Tensors, shapes, options and observers are the same in both.)
//
//   gyre::Graph graph;
//   gyre::GraphScope in(graph);
//   gyre::Value n = gyre::placeholder(gyre::DType::kInt32, gyre::PartialShape::Scalar());
//   auto [i, sum] = gyre::while_loop(
//       [&](gyre::Value i, gyre::Value sum) { return i < n; },
//       [&](gyre::Value i, gyre::Value sum) { return std::tuple(i + 1, sum + i); }, 0, 0);
//   gyre::GraphSession session(graph);
//   session.eval(sum, {{n, 5}});  // 10
#pragma once

#include "gyre/control_flow.h"  // IWYU pragma: export
#include "gyre/functions.h"     // IWYU pragma: export
#include "gyre/gradients.h"     // IWYU pragma: export
#include "gyre/graph.h"         // IWYU pragma: export
#include "gyre/math.h"          // IWYU pragma: export
#include "gyre/model.h"         // IWYU pragma: export
#include "gyre/state.h"         // IWYU pragma: export
#include "gyre/training.h"      // IWYU pragma: export
#include "gyre/value.h"         // IWYU pragma: export
