// Vectorize: a function of one row becomes a function of all rows at once.
//
//   row(x: float32[3], w: float32[3,2]) -> y: float32[2]
//   all(x: float32[?,3], w: float32[3,2], rows: int32) -> y: float32[?,2]
//
// Where each node can take its rows together, as an op of tensors with one more axis in front,
// there is no loop. What cannot be batched runs row by row, in a loop around that node alone: ops
// without a rule, effects, conditionals and loops whose condition differs from row to row. What is
// the same for all rows is computed once. Rows must not depend on each other: effects of one node
// happen for all rows before those of the next.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/program.h"
#include "ir/shape_context.h"

namespace gyre {

struct VectorizeRequest {
  std::string name;             // wanted for the new function
  std::vector<bool> stacked;    // by argument: has the row axis; else it is the same for all rows
  std::vector<ValueInfo> args;  // what is known of the argument in one row
  int64_t num_rows = -1;        // -1: the program will know
  bool fall_back = true;        // whether there may be loops over rows
};

// A node that runs row by row.
struct LoopOverRows {
  std::string node;
  std::string op;
  std::string source;
  std::string reason;
};

struct VectorizeResult {
  std::shared_ptr<const Program> program;  // that which was given, and new functions
  // The new function: takes the arguments, then how many rows there are (int32); all its results
  // have the row axis.
  std::string function;
  std::vector<LoopOverRows> loops;
};

// Vectorises the main graph of `program`, a function of arguments. UNIMPLEMENTED, with node, op and
// reason, for what can only run as a loop around the whole function, and, unless the request lets
// it fall back, around a node.
absl::StatusOr<VectorizeResult> Vectorize(const std::shared_ptr<const Program>& program,
                                          const VectorizeRequest& request);

}  // namespace gyre
