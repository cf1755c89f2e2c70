// Exit, RefExit: hand a value from a frame back to its parent.
#include "ir/shape_context.h"
#include "ops/control/forward.h"
#include "ops/registry.h"

namespace gyre {

void RegisterExit(OpRegistry& ops) {
  ops.Add({.schema = "Exit(data: T) -> output: T {T: type}",
           .doc = "Hands `data` to the frame that the current one was entered from.",
           .kind = OpKind::kExit,
           .traits = {.forwards = true},
           .shape = shape::SameAsInput,
           .kernel = Compute<ForwardInput>()});
  ops.Add({.schema = "RefExit(data: Ref(T)) -> output: Ref(T) {T: type}",
           .doc = "Exit of a reference.",
           .kind = OpKind::kExit,
           .traits = {.allows_uninitialized_input = true, .forwards = true},
           .shape = shape::SameAsInput,
           .kernel = Compute<ForwardInput>()});
}

}  // namespace gyre
