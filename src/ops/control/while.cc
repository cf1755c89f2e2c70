// While, StatelessWhile, _While: run a function again and again, as long as another says so.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
Structure WhileStructure(absl::string_view stateless) {
  return {.functions = {{"cond", CalleeKind::kCondition}, {"body", CalleeKind::kBody}},
          .stateless = stateless};
}
}  // namespace

void RegisterWhile(OpRegistry& ops) {
  ops.Add({.schema = "While(input: T) -> output: T {T: list(type) >= 0; cond: func; body: func; "
                     "output_shapes: list(shape) = []; parallel_iterations: int = 10}",
           .doc = "Starts with `input` and replaces the values by body(values) as long as "
                  "cond(values) is true.",
           .kind = OpKind::kWhile,
           .traits = {.effect = Effect::kIo},
           .structure = WhileStructure("StatelessWhile"),
           .shape = shape::ByOutputShapes});
  ops.Add({.schema =
               "StatelessWhile(input: T) -> output: T {T: list(type) >= 0; cond: func; body: func; "
               "output_shapes: list(shape) = []; parallel_iterations: int = 10}",
           .doc = "While whose condition and body have no effects.",
           .kind = OpKind::kWhile,
           .structure = WhileStructure(""),
           .shape = shape::ByOutputShapes});
  ops.Add({.schema = "_While(input: T) -> output: T {T: list(type) >= 0; cond: func; body: func}",
           .doc = "While, as graph rewriters of the peer write it.",
           .kind = OpKind::kWhile,
           .traits = {.effect = Effect::kIo},
           .structure = WhileStructure(""),
           .shape = shape::Unknown});
}

}  // namespace gyre
