// Enter, RefEnter: bring a value into a frame.
#include "ir/shape_context.h"
#include "ops/control/forward.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// A loop-carried value may change its shape; only an invariant keeps it.
absl::Status EnterShape(ShapeContext& c) {
  if (c.attrs().GetOr<bool>("is_constant", false)) c.set_output(0, c.input(0));
  if (c.input_handle(0)) c.set_output_handle(0, *c.input_handle(0));
  return absl::OkStatus();
}

}  // namespace

void RegisterEnter(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "Enter(data: T) -> output: T {T: type; frame_name: string; is_constant: bool = false; "
           "parallel_iterations: int = 10}",
       .doc = "Makes `data` available in a child frame: in its first iteration, or in all if "
              "is_constant.",
       .kind = OpKind::kEnter,
       .traits = {.forwards = true},
       .shape = EnterShape,
       .kernel = Compute<ForwardInput>()});
  ops.Add({.schema = "RefEnter(data: Ref(T)) -> output: Ref(T) {T: type; frame_name: string; "
                     "is_constant: bool = false; parallel_iterations: int = 10}",
           .doc = "Enter of a reference.",
           .kind = OpKind::kEnter,
           .traits = {.allows_uninitialized_input = true, .forwards = true},
           .shape = shape::SameAsInput,
           .kernel = Compute<ForwardInput>()});
}

}  // namespace gyre
