// LoopCond: marks the predicate of a frame's loop.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status LoopCond(KernelContext& ctx) {
  if (ctx.input(0).rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition of a loop must be a scalar, but it has shape ",
                     ctx.input(0).shape().ToString()));
  }
  GYRE_RETURN_IF_ERROR(ctx.Poll());  // what ends an endless loop
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

absl::Status LoopCondShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  return shape::Scalar(c);
}

}  // namespace

void RegisterLoopCond(OpRegistry& ops) {
  ops.Add({.schema = "LoopCond(input: bool) -> output: bool",
           .doc = "Forwards the condition that decides whether a loop goes on; cancellation is "
                  "noticed here.",
           .kind = OpKind::kLoopCond,
           .shape = LoopCondShape,
           .gradient = NotDifferentiable("its value is a bool"),
           .kernel = Compute<LoopCond>()});
}

}  // namespace gyre
