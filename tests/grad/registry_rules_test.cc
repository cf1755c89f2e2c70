// Every op says how it is differentiated, or why it is not.
#include "gtest/gtest.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Structured nodes, calls, arguments and results are differentiated by grad/ itself; primitives are
// raised before.
bool IsOfTheTransform(OpKind kind) {
  return !IsPlain(kind) && kind != OpKind::kPlaceholder && kind != OpKind::kTransfer;
}

TEST(RegistryRules, EveryOpHasARuleOrAReason) {
  for (const OpDef* op : Ops().All()) {
    if (IsOfTheTransform(op->kind)) continue;
    const bool has_rule = op->gradient.rule != nullptr;
    const bool has_reason = !op->gradient.not_differentiable.empty();
    EXPECT_TRUE(has_rule != has_reason) << op->name;
  }
}

}  // namespace
}  // namespace gyre
