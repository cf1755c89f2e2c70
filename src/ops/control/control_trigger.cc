// ControlTrigger, NoOp: nodes that exist for their control edges.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
absl::Status DoNothing(KernelContext&) { return absl::OkStatus(); }
}  // namespace

void RegisterControlTrigger(OpRegistry& ops) {
  ops.Add({.schema = "ControlTrigger() ->",
           .doc = "Fires, alive, once all its control inputs have arrived, dead or alive.",
           .kind = OpKind::kControlTrigger,
           .shape = shape::None,
           .gradient = NotDifferentiable("it has no value"),
           .kernel = Compute<DoNothing>()});
  ops.Add({.schema = "NoOp() ->",
           .doc = "Does nothing; joins control edges.",
           .kind = OpKind::kNoOp,
           .shape = shape::None,
           .gradient = NotDifferentiable("it has no value"),
           .kernel = Compute<DoNothing>()});
}

}  // namespace gyre
