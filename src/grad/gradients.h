// Gradients: reverse mode as a transform from program to program.
//
// The new program holds everything of the old one, and nodes that compute the gradients; they are
// ordinary nodes, so gradients of gradients are taken in the same way. Loops, branches and
// functions that lie on the way are extended: they return, behind what they returned, the values
// that their gradients need. Ids of nodes and their first outputs stay as they are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/core/options.h"
#include "ir/program.h"

namespace gyre {

struct GradientRequest {
  // All of the main graph. An x may be any value, also the handle of a variable, which stands for
  // the variable's value.
  std::vector<Endpoint> ys;
  std::vector<Endpoint> xs;
  // One per y, of its type and shape: sum(y * grad_y) over all ys is what is differentiated.
  // Nothing: ones. No list: ones for all.
  std::vector<std::optional<Endpoint>> grad_ys;
  // Values through which nothing flows back.
  std::vector<Endpoint> stops;
  // A node may name a gradient of its own (attribute `_gradient_op_type`). For each such name: a
  // function of the program, f(inputs, adjoints of all outputs) -> adjoints of all inputs.
  std::map<std::string, std::string> op_gradients;
  MemoryPolicy memory;  // of loops that do not name one
};

// The gradient of one x. Rows of a sparse one that have the same index add up.
struct GradientOfX {
  Endpoint values;                  // dense: of the shape of x; sparse: one row per index
  std::optional<Endpoint> indices;  // sparse only: a vector of rows of x
  std::optional<Endpoint> dims;     // sparse only: the shape of x, an int32 vector
};

struct GradientResult {
  std::shared_ptr<const Program> program;
  std::vector<std::optional<GradientOfX>> gradients;  // by x; nothing: not connected
  std::vector<std::string> why_not;                   // by x: why it is not connected, or empty
};

// INVALID_ARGUMENT when the request does not fit the program; UNIMPLEMENTED, naming the op and the
// way to it, when what would have to be differentiated cannot be.
absl::StatusOr<GradientResult> Gradients(const std::shared_ptr<const Program>& program,
                                         const GradientRequest& request);

// The same with every gradient dense.
absl::StatusOr<GradientResult> DenseGradients(const std::shared_ptr<const Program>& program,
                                              const GradientRequest& request);

}  // namespace gyre
