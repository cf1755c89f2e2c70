// Kernels of devices that compute nothing: those of what moves values without looking at them.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/kernel.h"

namespace gyre {

// The kernel of the node's registration. UNIMPLEMENTED, saying why, for what must look at a value
// in the memory of a discrete device of type `type`, and for what is not plain bytes: such memory
// holds nothing else. Thread-safe.
absl::StatusOr<Kernel> MakePlumbingKernel(const Node& node, absl::string_view type);

}  // namespace gyre
