// Copying a box of elements from one tensor into another. Stateless; any thread.
#pragma once

#include "absl/types/span.h"
#include "gyre/core/tensor.h"

namespace gyre {

// A box of `extent` elements by axis that begins at `from_start` in `from` and at `to_start` in
// `to`. Requirements, not checked: it lies within both, whose dtypes are equal and either plain
// bytes or strings; `to` may be written to.
void CopyRegion(const Tensor& from, absl::Span<const int64_t> from_start, Tensor& to,
                absl::Span<const int64_t> to_start, const Shape& extent);

}  // namespace gyre
