// Case, StatelessCase: run one of several functions.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
Structure CaseStructure(absl::string_view stateless) {
  return {
      .functions = {{"branches", CalleeKind::kBranch}}, .num_selectors = 1, .stateless = stateless};
}

absl::Status CaseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  return shape::ByOutputShapes(c);
}
}  // namespace

void RegisterCase(OpRegistry& ops) {
  ops.Add({.schema =
               "Case(branch_index: int32, input: Tin) -> output: Tout {Tin: list(type) >= 0; "
               "Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []}",
           .doc = "The results of branches[branch_index](input); an index out of range means the "
                  "last branch.",
           .kind = OpKind::kCase,
           .traits = {.effect = Effect::kIo},
           .structure = CaseStructure("StatelessCase"),
           .shape = CaseShape});
  ops.Add(
      {.schema =
           "StatelessCase(branch_index: int32, input: Tin) -> output: Tout {Tin: list(type) >= 0; "
           "Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []}",
       .doc = "Case whose branches have no effects.",
       .kind = OpKind::kCase,
       .structure = CaseStructure(""),
       .shape = CaseShape});
}

}  // namespace gyre
