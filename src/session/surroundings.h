// Which loop a Surrounding belongs to. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/observer.h"

namespace gyre {

inline bool IsLoop(Surrounding::Kind kind) {
  return kind == Surrounding::Kind::kLoop || kind == Surrounding::Kind::kCondition ||
         kind == Surrounding::Kind::kBody;
}

// Tells the loops of a run apart: the same for the condition and the body of one While while it
// runs, and for no other. Requirement: around[i] is a loop.
uint64_t LoopInstance(absl::Span<const Surrounding> around, size_t i);

// The function whose body the innermost `depth` surroundings lead to; empty in the main graph.
absl::string_view FunctionAt(absl::Span<const Surrounding> around, size_t depth);

// "NODE", or "FUNCTION/NODE" where the node stands in the body of a function.
std::string QualifiedName(absl::string_view function, absl::string_view node);

}  // namespace gyre
