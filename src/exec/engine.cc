#include "exec/engine.h"

#include "exec/dataflow/dataflow_engine.h"
#include "exec/reference/reference_engine.h"
#include "ir/saved_attrs.h"

namespace gyre {

absl::Span<const Engine* const> Engines() {
  static const Engine* const engines[] = {&DataflowEngine(), &ReferenceEngine()};
  return engines;
}

Surrounding::Kind SurroundingKind(OpKind site, int callee) {
  switch (site) {
    case OpKind::kIf:
    case OpKind::kCase:
      return Surrounding::Kind::kBranch;
    case OpKind::kWhile:
      return callee == 0 ? Surrounding::Kind::kCondition : Surrounding::Kind::kBody;
    case OpKind::kFor:
      return Surrounding::Kind::kBody;
    default:
      return Surrounding::Kind::kCall;
  }
}

void SetSaved(const Node& node, Firing& firing) {
  const auto* loop = node.attrs.Get<std::string>(kSavingLoopAttr);
  const auto* value = node.attrs.Get<std::string>(kSavedValueAttr);
  if (loop == nullptr || value == nullptr) return;
  firing.saving_loop = *loop;
  firing.saved_value = *value;
}

const Engine* FindEngine(absl::string_view name) {
  if (name.empty()) return Engines().front();
  for (const Engine* engine : Engines()) {
    if (engine->name() == name) return engine;
  }
  return nullptr;
}

}  // namespace gyre
