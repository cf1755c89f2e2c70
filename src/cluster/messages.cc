#include "cluster/messages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/wire/tensor_codec.h"

namespace gyre::cluster {

absl::Status ToProto(absl::Span<const Tensor> tensors, absl::string_view what,
                     absl::Span<const std::string> names, int64_t most_bytes, TensorFields* out) {
  // Where protobuf has no memory for a longer list, it loses what it was to add.
  out->Reserve(out->size() + static_cast<int>(tensors.size()));
  int64_t before = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string bytes;
    // No value takes less than its elements: what is too large is not encoded first.
    auto size = static_cast<int64_t>(tensors[i].has_value() ? tensors[i].bytes() : 0);
    if (before + size <= most_bytes) {
      GYRE_RETURN_IF_ERROR(EncodeTensor(tensors[i], bytes));
      size = std::max(size, static_cast<int64_t>(bytes.size()));
    }
    if (before + size > most_bytes) {
      const std::string others = before == 0 ? "" : absl::StrCat(", and those before it ", before);
      return absl::ResourceExhaustedError(absl::StrCat(
          what, " '", names[i], "' holds ", size, " bytes", others, "; ", most_bytes,
          " are the most that one run can carry between this process and a worker: let the run "
          "take smaller parts, or keep the value in a variable on the worker"));
    }
    before += size;
    *out->Add() = std::move(bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> FromProto(const TensorFields& tensors, MemoryBudget* budget) {
  std::vector<Tensor> result;
  for (const std::string& bytes : tensors) {
    absl::string_view in = bytes;
    GYRE_ASSIGN_OR_RETURN(result.emplace_back(), DecodeTensor(in, budget));
    if (!in.empty()) return absl::InvalidArgumentError("bytes follow a tensor");
  }
  return result;
}

}  // namespace gyre::cluster
