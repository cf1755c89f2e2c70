// SymbolicGradient: the gradient of a function, asked for in the graph itself.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
// Inputs are f's arguments followed by the adjoints of its results; output i is the adjoint of
// argument i.
absl::Status SymbolicGradientShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}
}  // namespace

void RegisterSymbolicGradient(OpRegistry& ops) {
  ops.Add(
      {.schema = "SymbolicGradient(input: Tin) -> output: Tout {Tin: list(type); Tout: list(type); "
                 "f: func}",
       .doc = "The adjoints of f's arguments, given its arguments and the adjoints of its results.",
       .kind = OpKind::kSymbolicGradient,
       .structure = {.functions = {{"f", CalleeKind::kFunction}}},
       .shape = SymbolicGradientShape});
}

}  // namespace gyre
