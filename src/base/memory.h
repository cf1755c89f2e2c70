// How much memory the machine has: the limit of runs that set none.
#pragma once

#include <cstdint>

#include "base/internal_export.h"

namespace gyre {

// Bytes of physical memory, or of the control group's limit when that is lower.
GYRE_INTERNAL_EXPORT int64_t PhysicalMemoryBytes();

}  // namespace gyre
