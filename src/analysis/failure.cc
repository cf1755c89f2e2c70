#include "analysis/failure.h"

#include "ops/registry.h"

namespace gyre {
namespace {

// All have one shape, but for scalars.
bool FitTogether(const std::vector<PartialShape>& shapes) {
  const PartialShape* first = nullptr;
  for (const PartialShape& shape : shapes) {
    if (!shape.IsFullyKnown()) return false;
    if (shape.rank() == 0) continue;
    if (first != nullptr && shape != *first) return false;
    first = &shape;
  }
  return true;
}

}  // namespace

bool CannotFail(const Node& node, const std::vector<PartialShape>& inputs) {
  if (node.op->failure == nullptr || !Ops().MakeKernel(node).ok()) return false;
  const Failure failure = node.op->failure(node);
  return failure == Failure::kNever || (failure == Failure::kByShapes && FitTogether(inputs));
}

}  // namespace gyre
