// NextIteration, RefNextIteration: hand a value to the frame's next iteration.
#include "ir/shape_context.h"
#include "ops/control/forward.h"
#include "ops/registry.h"

namespace gyre {

void RegisterNextIteration(OpRegistry& ops) {
  ops.Add({.schema = "NextIteration(data: T) -> output: T {T: type}",
           .doc = "Makes `data` available in the next iteration of the current frame.",
           .kind = OpKind::kNextIteration,
           .traits = {.forwards = true},
           .shape = shape::SameAsInput,
           .kernel = Compute<ForwardInput>()});
  ops.Add({.schema = "RefNextIteration(data: Ref(T)) -> output: Ref(T) {T: type}",
           .doc = "NextIteration of a reference.",
           .kind = OpKind::kNextIteration,
           .traits = {.allows_uninitialized_input = true, .forwards = true},
           .shape = shape::SameAsInput,
           .kernel = Compute<ForwardInput>()});
}

}  // namespace gyre
