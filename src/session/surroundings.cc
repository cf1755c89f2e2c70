#include "session/surroundings.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace gyre {

uint64_t LoopInstance(absl::Span<const Surrounding> around, size_t i) {
  const Surrounding& loop = around[i];
  if (loop.kind == Surrounding::Kind::kLoop) return loop.instance;
  // Condition and body are instances of their own; what they share is where their node stands.
  if (i == 0) return absl::HashOf(loop.name);
  const Surrounding& outer = around[i - 1];
  return absl::HashOf(loop.name, outer.instance, outer.iteration);
}

absl::string_view FunctionAt(absl::Span<const Surrounding> around, size_t depth) {
  for (size_t i = depth; i > 0; --i) {
    if (!around[i - 1].function.empty()) return around[i - 1].function;
  }
  return "";
}

std::string QualifiedName(absl::string_view function, absl::string_view node) {
  return function.empty() ? std::string(node) : absl::StrCat(function, "/", node);
}

}  // namespace gyre
