#include "exec/engine.h"

#include "exec/dataflow/dataflow_engine.h"
#include "exec/reference/reference_engine.h"

namespace gyre {

absl::Span<const Engine* const> Engines() {
  static const Engine* const engines[] = {&DataflowEngine(), &ReferenceEngine()};
  return engines;
}

const Engine* FindEngine(absl::string_view name) {
  if (name.empty()) return Engines().front();
  for (const Engine* engine : Engines()) {
    if (engine->name() == name) return engine;
  }
  return nullptr;
}

}  // namespace gyre
