// Optimizers: which op changes a variable by its gradient, what is remembered of the variable
// ("slots"), and which numbers the op takes. Once for the classes of C++ (gyre/training.h) and of
// Python (gyre.optimizers, compat.v1.train). Immutable.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "ir/attr.h"
#include "ops/functions/formula.h"

namespace gyre {

struct GYRE_INTERNAL_EXPORT OptimizerRule {
  struct Input {
    enum class Kind { kVariable, kSlot, kNumber, kGradient };
    Kind kind;
    std::string name = {};  // of a slot, a number
  };

  std::string name;  // "adam": what the names of its variables begin with
  std::string op;
  std::vector<Input> inputs;  // of the op, in order; slots are zeros at first
  AttrMap attrs = {};
  // A slot of variable "w" is the variable "w/" + this + its name.
  std::string slot_prefix = {};
  // What follows "…is of type float16; " where only float32 and float64 can be trained.
  std::string needs_precision = {};
  // From the number of steps taken before (argument 0, an int64 scalar) and the rate (argument 1):
  // the numbers, in order, of any real types, to be cast to that of the variable.
  FormulaFn numbers;

  // Names of the inputs of a kind, in order.
  std::vector<std::string> NamesOf(Input::Kind kind) const;
  // INVALID_ARGUMENT unless a variable of this type can be trained.
  absl::Status CheckTrainable(absl::string_view variable, DType dtype) const;
};

// Stochastic gradient descent; momentum 0: none. INVALID_ARGUMENT for a momentum that is negative
// or not finite, and nesterov without one.
GYRE_INTERNAL_EXPORT absl::StatusOr<OptimizerRule> SgdRule(double momentum, bool nesterov);

// Adam, algorithm 1 of Kingma and Ba (2015). The op is that of the paper's section 2, which adds ε̂
// to √v before the correction: it is told ε̂ = ε √(1 - β2^t). INVALID_ARGUMENT for a beta outside of
// [0, 1), and an epsilon that is negative or not finite.
GYRE_INTERNAL_EXPORT absl::StatusOr<OptimizerRule> AdamRule(double beta1, double beta2,
                                                            double epsilon);

}  // namespace gyre
