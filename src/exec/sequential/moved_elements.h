// Which elements an op moves where, for ops that do nothing else (OpTraits::moves_elements).
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiled/region.h"
#include "ir/program.h"
#include "ops/dense_code.h"

namespace gyre::sequential {

// What `node` does to inputs of these shapes; `outputs` are the shapes of its outputs. Nullopt
// where that depends on more, or is not so, or takes too many stretches.
std::optional<std::vector<compiled::Stretch>> FindMovedElements(
    const Node& node, absl::Span<const DenseOperand> inputs, absl::Span<const Shape> outputs);

}  // namespace gyre::sequential
