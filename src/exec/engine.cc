#include "exec/engine.h"

#include "exec/dataflow/dataflow_engine.h"
#include "exec/reference/reference_engine.h"

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

const Engine* FindEngine(absl::string_view name) {
  if (name.empty()) return Engines().front();
  for (const Engine* engine : Engines()) {
    if (engine->name() == name) return engine;
  }
  return nullptr;
}

}  // namespace gyre
