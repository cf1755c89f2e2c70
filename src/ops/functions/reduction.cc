// Reductions, running sums and positions of extremes, as their ops are called.
#include "ops/functions/families.h"

namespace gyre {
namespace {

// Along axis 0 unless another is given.
FormulaFn Along(absl::string_view op) {
  return [op](FormulaContext& f) -> std::vector<Term> {
    const Term axis = f.has(1) ? f.tensor(1) : f.builder().Int(0);
    return {f.Last(op, {f.tensor(0), axis}, {{"output_type", f.plain<DType>(2)}})};
  };
}

}  // namespace

void RegisterReductionFunctions(FunctionRegistry& functions) {
  constexpr absl::string_view kAlongAxes =
      "(input_tensor: tensor, axis: axes = none, keepdims/keep_dims: bool = false)";
  functions.Add({.signature = kAlongAxes,
                 .doc = "The sum of the elements along `axis`: an int, several, or none for all.",
                 .api = {"math.reduce_sum", "reduce_sum"},
                 .op = "Sum"});
  functions.Add({.signature = kAlongAxes,
                 .doc = "The mean of the elements (of integers rounded towards zero) along `axis`.",
                 .api = {"math.reduce_mean", "reduce_mean"},
                 .op = "Mean"});
  functions.Add({.signature = kAlongAxes,
                 .doc = "The product of the elements along `axis`.",
                 .api = {"math.reduce_prod", "reduce_prod"},
                 .op = "Prod"});
  functions.Add({.signature = kAlongAxes,
                 .doc = "The largest element along `axis`.",
                 .api = {"math.reduce_max", "reduce_max"},
                 .op = "Max"});
  functions.Add({.signature = kAlongAxes,
                 .doc = "The smallest element along `axis`.",
                 .api = {"math.reduce_min", "reduce_min"},
                 .op = "Min"});
  functions.Add({.signature = kAlongAxes,
                 .doc = "Whether all elements are true along `axis`.",
                 .api = {"math.reduce_all", "reduce_all"},
                 .op = "All"});
  functions.Add({.signature = kAlongAxes,
                 .doc = "Whether any element is true along `axis`.",
                 .api = {"math.reduce_any", "reduce_any"},
                 .op = "Any"});

  constexpr absl::string_view kRunning =
      "(x: tensor, axis: tensor = 0, exclusive: bool = false, reverse: bool = false)";
  functions.Add({.signature = kRunning,
                 .doc =
                     "Running sums along `axis`, of the shape of x. `exclusive`: of the elements "
                     "before each one; `reverse`: from the end.",
                 .api = {"math.cumsum", "cumsum"},
                 .op = "Cumsum"});
  functions.Add({.signature = kRunning,
                 .doc = "Running products along `axis`, of the shape of x. `exclusive`: of the "
                        "elements before each one; `reverse`: from the end.",
                 .api = {"math.cumprod"},
                 .op = "Cumprod"});

  constexpr absl::string_view kPosition =
      "(input: tensor, axis: tensor? = none, output_type: type = int64)";
  functions.Add({.signature = kPosition,
                 .doc = "The position of the maximum along `axis` (0 by default), the first of "
                        "several; the axis disappears.",
                 .api = {"math.argmax", "argmax"},
                 .formula = Along("ArgMax")});
  functions.Add({.signature = kPosition,
                 .doc = "The position of the minimum along `axis` (0 by default), the first of "
                        "several; the axis disappears.",
                 .api = {"math.argmin", "argmin"},
                 .formula = Along("ArgMin")});
}

}  // namespace gyre
