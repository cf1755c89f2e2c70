// Memory policies: what a loop keeps for its gradient, and what it computes again.
//
//   save            everything that the gradient needs, of every trip
//   recompute(k)    the variables, every k trips; between them the loop runs once more
//
// A loop says which one in its attribute `_gyre_memory`. The bits of a gradient do not depend on
// it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre::grad {

inline constexpr absl::string_view kMemoryAttr = "_gyre_memory";
// Of a call: its gradient runs it again instead of keeping what it computed inside.
inline constexpr absl::string_view kRecomputeAttr = "_gyre_recompute";
// Of a loop whose trips are segments of a loop: sums go through its trips from one to the next.
inline constexpr absl::string_view kSegmentsAttr = "_gyre_segments";

struct MemoryPolicy {
  enum class Kind : uint8_t { kSave, kRecompute };
  Kind kind = Kind::kSave;
  int64_t every = 1;  // trips
};
// INVALID_ARGUMENT for anything but the forms above; k is at least 1.
absl::StatusOr<MemoryPolicy> ParseMemoryPolicy(absl::string_view text);

// Every loop in the form in which its gradient keeps what its policy says; `other` is that of loops
// that say nothing. Loops with effects keep everything: an effect happens once.
absl::StatusOr<std::shared_ptr<const Program>> ApplyMemoryPolicies(
    std::shared_ptr<const Program> program, absl::string_view other);

}  // namespace gyre::grad
