// If, StatelessIf, _If: run one of two functions.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
Structure IfStructure(absl::string_view stateless) {
  return {.functions = {{"then_branch", CalleeKind::kBranch}, {"else_branch", CalleeKind::kBranch}},
          .num_selectors = 1,
          .stateless = stateless};
}
}  // namespace

void RegisterIf(OpRegistry& ops) {
  ops.Add({.schema =
               "If(cond: Tcond, input: Tin) -> output: Tout {Tcond: type; Tin: list(type) >= 0; "
               "Tout: list(type) >= 0; then_branch: func; else_branch: func; output_shapes: "
               "list(shape) = []}",
           .doc = "The results of then_branch(input) if `cond` is true (a number: not zero; else: "
                  "not empty), "
                  "of else_branch(input) otherwise; the other branch does not run.",
           .kind = OpKind::kIf,
           .traits = {.effect = Effect::kIo},
           .structure = IfStructure("StatelessIf"),
           .shape = shape::ByOutputShapes});
  ops.Add({.schema = "StatelessIf(cond: Tcond, input: Tin) -> output: Tout {Tcond: type; Tin: "
                     "list(type) >= 0; "
                     "Tout: list(type) >= 0; then_branch: func; else_branch: func; output_shapes: "
                     "list(shape) = []}",
           .doc = "If whose branches have no effects.",
           .kind = OpKind::kIf,
           .structure = IfStructure(""),
           .shape = shape::ByOutputShapes});
  ops.Add({.schema = "_If(cond: Tcond, input: Tin) -> output: Tout {Tcond: type; Tin: list(type); "
                     "Tout: list(type); then_branch: func; else_branch: func}",
           .doc = "If, as graph rewriters of the peer write it.",
           .kind = OpKind::kIf,
           .traits = {.effect = Effect::kIo},
           .structure = IfStructure(""),
           .shape = shape::Unknown});
}

}  // namespace gyre
