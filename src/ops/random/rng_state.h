// Generators whose state is a variable of three integers. Stateless; any thread.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/kernel.h"
#include "ops/random/philox.h"

namespace gyre {

// The generator in the variable of input 0, whose algorithm is input 1; the variable is moved on by
// what is reserved for so many elements.
absl::StatusOr<Philox> TakeGenerator(const KernelContext& ctx, uint64_t elements);

}  // namespace gyre
