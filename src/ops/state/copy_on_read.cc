#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

// Reading a variable never copies here: values are immutable. What is left is to see that the
// handle leads to one.
absl::Status DisableCopyOnRead(KernelContext& ctx) {
  return ResourceInput<VariableObject>(ctx, 0).status();
}

}  // namespace

void RegisterCopyOnRead(OpRegistry& ops) {
  ops.Add({
      .schema = "DisableCopyOnRead(resource: resource) ->",
      .doc = "Says that reads of a variable need no copies, which they never make.",
      .traits = {.effect = Effect::kRead},
      .shape = shape::None,
      .gradient = NotDifferentiable("it has no outputs"),
      .kernel = Compute<&DisableCopyOnRead>(),
  });
}

}  // namespace gyre
