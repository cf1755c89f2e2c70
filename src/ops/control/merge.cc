// Merge, RefMerge: join paths of which one is alive.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The engine runs it with a value in each input that has arrived alive: normally one; the first
// counts.
absl::Status Merge(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.input(i).has_value()) continue;
    ctx.set_output(0, ctx.TakeInput(i));
    ctx.set_output(1, Tensor::Scalar<int32_t>(i));
    return absl::OkStatus();
  }
  return absl::OkStatus();  // all dead: so are the outputs
}

absl::Status MergeShape(ShapeContext& c) {
  PartialShape joined = c.num_inputs() > 0 ? c.input(0) : PartialShape::Unknown();
  for (int i = 1; i < c.num_inputs(); ++i) joined = joined.Widen(c.input(i));
  c.set_output(0, std::move(joined));
  c.set_output(1, PartialShape::Scalar());
  if (c.num_inputs() > 0 && c.input_handle(0)) {
    HandleInfo handle = *c.input_handle(0);
    for (int i = 1; i < c.num_inputs(); ++i) {
      if (!c.input_handle(i) || c.input_handle(i)->dtype != handle.dtype) return absl::OkStatus();
      handle.shape = handle.shape.Widen(c.input_handle(i)->shape);
    }
    c.set_output_handle(0, std::move(handle));
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterMerge(OpRegistry& ops) {
  ops.Add({.schema = "Merge(inputs: N * T) -> output: T, value_index: int32 {T: type; N: int >= 1}",
           .doc = "Forwards the first of its inputs to arrive alive, and says which; dead once all "
                  "of them are.",
           .kind = OpKind::kMerge,
           .traits = {.forwards = true},
           .shape = MergeShape,
           .kernel = Compute<Merge>()});
  ops.Add({.schema = "RefMerge(inputs: Ref(N * T)) -> output: Ref(T), value_index: int32 {T: type; "
                     "N: int >= 1}",
           .doc = "Merge of references.",
           .kind = OpKind::kMerge,
           .traits = {.allows_uninitialized_input = true, .forwards = true},
           .shape = MergeShape,
           .kernel = Compute<Merge>()});
}

}  // namespace gyre
