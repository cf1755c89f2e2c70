// Identity, IdentityN, StopGradient, PreventGradient: values handed on.
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/control/forward.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status IdentityN(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) ctx.set_output(i, ctx.TakeInput(i));
  return absl::OkStatus();
}

void Forward(ShapeContext& c, int i) {
  c.set_output(i, c.input(i));
  if (c.input_handle(i)) c.set_output_handle(i, *c.input_handle(i));
  if (const Tensor* constant = c.input_constant(i)) c.set_output_constant(i, *constant);
  if (c.inputs()[i].as_shape) c.set_output_as_shape(i, *c.inputs()[i].as_shape);
}

absl::Status IdentityShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) Forward(c, i);
  return absl::OkStatus();
}

void PreventGradient(GradientContext& g) {
  g.Fail(absl::UnimplementedError(
      absl::StrCat("the graph forbids a gradient here: ", g.attr<std::string>("message", ""))));
}

}  // namespace

void RegisterIdentity(OpRegistry& ops) {
  ops.Add({.schema = "Identity(input: T) -> output: T {T: type}",
           .doc = "Its input.",
           .kind = OpKind::kIdentity,
           .traits = {.hands_on = true, .forwards = true, .is_view = true},
           .shape = IdentityShape,
           .gradient = {gradient::PassOn},
           .batch = {.rule = batch::PassOn, .knows_lists = true},
           .simplify = simplify::PassOn,
           .failure = fails::Never,
           .kernel = Compute<ForwardInput>()});
  ops.Add({.schema = "IdentityN(input: T) -> output: T {T: list(type) >= 1}",
           .doc = "Its inputs, together: none is there before all are.",
           .traits = {.hands_on = true},
           .shape = IdentityShape,
           .gradient = {gradient::PassOn},
           .batch = {.rule = batch::PassOn, .knows_lists = true},
           .simplify = simplify::PassOn,
           .kernel = Compute<IdentityN>()});
  ops.Add({.schema = "StopGradient(input: T) -> output: T {T: type}",
           .doc = "Its input, through which no gradient flows.",
           .api = {"stop_gradient"},
           .traits = {.hands_on = true},
           .shape = IdentityShape,
           .gradient = NotDifferentiable("it is there to stop gradients"),
           .batch = {.rule = batch::PassOn, .knows_lists = true},
           .kernel = Compute<ForwardInput>()});
  ops.Add({.schema = "PreventGradient(input: T) -> output: T {T: type; message: string = ''}",
           .doc = "Its input; asking for a gradient through it is an error with `message`.",
           .traits = {.hands_on = true},
           .shape = IdentityShape,
           .gradient = {PreventGradient},
           .batch = {.rule = batch::PassOn, .knows_lists = true},
           .kernel = Compute<ForwardInput>()});
}

}  // namespace gyre
