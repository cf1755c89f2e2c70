// Merging contributions, element by element: always in the order of the ranks, so that all get the
// same bits, whatever came first. Stateless; any thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "base/internal_export.h"
#include "gyre/core/dtype.h"
#include "ops/collective/group.h"

namespace gyre {

// into[i] = into[i] merged with `more`[i], for n elements. UNIMPLEMENTED for types without numbers.
absl::Status MergeInto(MergeOp merge, DType dtype, void* into, const void* more, int64_t n);
// into[i] /= count.
absl::Status DivideBy(DType dtype, int count, void* into, int64_t n);

}  // namespace gyre
