// What segment reductions of gathered rows, and their gradients, take.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"

namespace gyre {

// How the rows of a segment are put together.
enum class GatheredCombine : uint8_t { kSum, kMean, kSqrtN };

// Input i, a vector of int32 or int64, as int64; each in [0, limit). INVALID_ARGUMENT otherwise.
inline absl::StatusOr<std::vector<int64_t>> IdsInput(const KernelContext& ctx, int i, int64_t limit,
                                                     absl::string_view what) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a vector, but its shape is ", t.shape().ToString()));
  }
  std::vector<int64_t> ids(static_cast<size_t>(t.num_elements()));
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(t.dtype(), [&](auto tag) -> absl::Status {
    const auto values = t.values<typename decltype(tag)::type>();
    for (size_t k = 0; k < ids.size(); ++k) {
      if (k % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      ids[k] = values[k];
      if (ids[k] >= 0 && ids[k] < limit) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(what, "[", k, "] = ", ids[k], " is not in [0, ", limit, ")"));
    }
    return absl::OkStatus();
  }));
  return ids;
}

// INVALID_ARGUMENT unless ids do not fall and there is one for each index.
inline absl::Status CheckSegments(const KernelContext& ctx, const std::vector<int64_t>& indices,
                                  const std::vector<int64_t>& ids) {
  if (indices.size() != ids.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment_ids and indices must have equally many elements, but have ",
                     ids.size(), " and ", indices.size()));
  }
  for (size_t i = 1; i < ids.size(); ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (ids[i] >= ids[i - 1]) continue;
    return absl::InvalidArgumentError(absl::StrCat("segment ids are not increasing: segment_ids[",
                                                   i, "] = ", ids[i], " follows ", ids[i - 1]));
  }
  return absl::OkStatus();
}

}  // namespace gyre
