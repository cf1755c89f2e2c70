// The equations of Einsum: "ij,jk->ik", with "..." for dimensions that broadcast.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"

namespace gyre {

// A name for dimensions that are walked together: a character of the equation, or one of the
// dimensions behind "...".
using EinsumLabel = int;
using EinsumLabels = std::vector<EinsumLabel>;

// An equation as it is written. In place of "..." stands kEllipsis.
struct EinsumEquation {
  static constexpr EinsumLabel kEllipsis = -1;
  std::vector<EinsumLabels> inputs;
  EinsumLabels output;
};

// Spaces are ignored. INVALID_ARGUMENT unless there is exactly one "->", `num_inputs` inputs, at
// most one "..." in each operand, and no label of the output that no input has.
absl::StatusOr<EinsumEquation> ParseEinsumEquation(absl::string_view equation, int num_inputs);

// An equation for inputs of known ranks: one label for each dimension.
struct ResolvedEinsum {
  std::vector<EinsumLabels> inputs;
  EinsumLabels output;
  std::map<EinsumLabel, int64_t> sizes;  // -1: not known
};

// INVALID_ARGUMENT when ranks don't fit the equation or the sizes of a label disagree. Dimensions
// behind "..." are matched from the right, and those of size 1 go with any size.
absl::StatusOr<ResolvedEinsum> ResolveEinsum(const EinsumEquation& equation,
                                             absl::Span<const PartialShape> shapes);

}  // namespace gyre
