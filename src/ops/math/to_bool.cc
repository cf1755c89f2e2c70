// ToBool: the truth of a tensor, as conditions take it: of a number whether it is not zero, of a
// string whether it is not empty, of anything but a scalar whether it has elements.
#include "base/status.h"
#include "ir/shape_context.h"
#include "ops/control/condition.h"
#include "ops/kernel.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status ToBool(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const bool truth, Truth(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar<bool>(truth));
  return absl::OkStatus();
}

}  // namespace

void RegisterToBool(OpRegistry& ops) {
  ops.Add({.schema = "ToBool(input: T) -> output: bool {T: type}",
           .doc = "Whether the input, if it is a scalar, is neither zero nor empty; otherwise "
                  "whether it has elements.",
           .kind = OpKind::kToBool,
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("the result is bool"),
           .kernel = Compute<&ToBool>()});
}

}  // namespace gyre
