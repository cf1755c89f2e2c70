// Row splits of ragged tensors, as ops take them. Stateless; any thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/kernel.h"

namespace gyre {

// INVALID_ARGUMENT unless input i is a vector that begins with 0, does not fall and ends with
// `size`, or (-1) anywhere.
template <typename Split>
absl::StatusOr<absl::Span<const Split>> SplitsInput(const KernelContext& ctx, int i, int64_t size,
                                                    absl::string_view what) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 1 || t.num_elements() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a vector with an element at least, but is of shape ",
                     t.shape().ToString()));
  }
  const absl::Span<const Split> splits = t.values<Split>();
  if (splits[0] != 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must begin with 0, not ", splits[0]));
  }
  for (size_t k = 1; k < splits.size(); ++k) {
    if (k % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (splits[k] >= splits[k - 1]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, "[", k, "] = ", splits[k], " follows ", splits[k - 1]));
  }
  if (size >= 0 && splits.back() != size) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must end with ", size, ", the number of what it parts, not ", splits.back()));
  }
  return splits;
}

}  // namespace gyre
