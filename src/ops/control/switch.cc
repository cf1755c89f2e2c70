// Switch, RefSwitch, _SwitchN: send a value down one of several paths; the others get nothing and
// are dead.
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status SecondMustBeScalar(const Tensor& selector) {
  if (selector.num_elements() == 1 && selector.rank() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "The second input must be a scalar, but it has shape ", selector.shape().ToString()));
}

absl::Status Switch(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(SecondMustBeScalar(ctx.input(1)));
  const int taken = ctx.input(1).scalar<bool>() ? 1 : 0;
  ctx.set_output(taken, ctx.TakeInput(0));
  return absl::OkStatus();
}

absl::Status SwitchN(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(SecondMustBeScalar(ctx.input(1)));
  const int last = ctx.num_outputs() - 1;
  const int index = ctx.input(1).scalar<int32_t>();
  ctx.set_output(index < 0 || index > last ? last : index, ctx.TakeInput(0));
  return absl::OkStatus();
}

absl::Status SwitchShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  return shape::SameAsInput(c);
}

// The adjoint of the output that is alive. Each comes through a Switch of its own: what is made of
// constants alone is alive in any case.
void SwitchGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const auto adjoint = [&g](int i) {
    return g.has_grad(i) ? g.grad(i) : g.op("ZerosLike", {g.output(i)});
  };
  const Expr pred = g.input(1);
  const Expr if_false = g.builder().Ops("Switch", {adjoint(0), pred})[0];
  const Expr if_true = g.builder().Ops("Switch", {adjoint(1), pred})[1];
  g.Add(0, g.op("Merge", {if_false, if_true}));
}

}  // namespace

void RegisterSwitch(OpRegistry& ops) {
  ops.Add(
      {.schema = "Switch(data: T, pred: bool) -> output_false: T, output_true: T {T: type}",
       .doc =
           "Sends `data` to output_true if `pred`, else to output_false; the other output is dead.",
       .kind = OpKind::kSwitch,
       .traits = {.forwards = true},
       .shape = SwitchShape,
       .gradient = {SwitchGradient},
       .kernel = Compute<Switch>()});
  ops.Add({.schema = "RefSwitch(data: Ref(T), pred: bool) -> output_false: Ref(T), output_true: "
                     "Ref(T) {T: type}",
           .doc = "Switch of a reference: the variable need not be initialised.",
           .kind = OpKind::kSwitch,
           .traits = {.allows_uninitialized_input = true, .forwards = true},
           .shape = SwitchShape,
           .kernel = Compute<Switch>()});
  ops.Add({.schema = "_SwitchN(data: T, output_index: int32) -> outputs: num_outs * T {num_outs: "
                     "int >= 1; T: type}",
           .doc = "Sends `data` to output number `output_index`; an index out of range means the "
                  "last output.",
           .kind = OpKind::kSwitchN,
           .traits = {.forwards = true},
           .shape = SwitchShape,
           .kernel = Compute<SwitchN>()});
}

}  // namespace gyre
