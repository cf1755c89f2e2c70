// SymbolicGradient: gradients that the program itself asks for.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "ir/program.h"

namespace gyre {

bool HasSymbolicGradients(const Program& program);

// Every SymbolicGradient node becomes a call of its function's gradient: the one that the library
// names for it, or one that is made. The very program if it has none. UNIMPLEMENTED, naming the
// node, for what cannot be differentiated.
absl::StatusOr<std::shared_ptr<const Program>> ExpandSymbolicGradients(
    std::shared_ptr<const Program> program);

}  // namespace gyre
