// GradientProgram: the gradients of a program, asked for by names. Stateless; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/core/options.h"
#include "gyre/core/tensor.h"
#include "ir/program.h"

namespace gyre {

struct NamedGradientRequest {
  std::vector<std::string> ys;
  std::vector<std::string> xs;
  std::vector<std::optional<Tensor>> grad_ys;  // by y, nothing: ones; empty: all ones
  // Of order k, the gradients of the sum of all that are connected of order k - 1.
  int64_t order = 1;
  MemoryPolicy memory;             // of loops that name none
  std::vector<std::string> feeds;  // what will be fed; what only leads there is cut off
};

// A program in its raised form, with gradients. Names that were asked for are other ones here.
struct GradientProgram {
  std::shared_ptr<const Program> program;
  std::vector<std::string> feeds;
  std::vector<std::string> targets;  // what must run along for its effects
  std::vector<std::string> ys;
  std::vector<std::optional<std::string>> gradients;  // by x, dense; nothing: not connected
  std::vector<std::string> why_not;                   // by x: why it is not connected, or empty
};

// INVALID_ARGUMENT, NOT_FOUND for names; UNIMPLEMENTED for what cannot be raised or differentiated.
absl::StatusOr<GradientProgram> MakeGradientProgram(std::shared_ptr<const Program> program,
                                                    const NamedGradientRequest& request);

}  // namespace gyre
