#include "ops/sequence/ctc_input.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gyre::ctc {

absl::StatusOr<Sequences> SequenceInputs(const KernelContext& ctx, int lengths) {
  const Tensor& inputs = ctx.input(0);
  const Tensor& length = ctx.input(lengths);
  if (inputs.rank() != 3 || length.rank() != 1 || length.dim(0) != inputs.dim(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs must be [time, batch, classes] and sequence_length [batch], but their shapes are ",
        inputs.shape().ToString(), " and ", length.shape().ToString()));
  }
  if (inputs.num_elements() == 0 || inputs.dim(2) > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs must have at least one step, sequence and class, and less than 2^31 classes, but "
        "their shape is ",
        inputs.shape().ToString()));
  }
  const Sequences result{inputs.dim(0), inputs.dim(1), inputs.dim(2), length.values<int32_t>()};
  for (int64_t b = 0; b < result.batch; ++b) {
    if (result.lengths[b] < 0 || result.lengths[b] > result.time) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sequence_length[", b, "] = ", result.lengths[b], " is not in [0, ", result.time, "]"));
    }
  }
  return result;
}

absl::Status CheckShapes(const ShapeContext& c, int lengths) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 3));
  return c.RequireRank(lengths, 1);
}

absl::Status SetSparse(KernelContext& ctx, const std::vector<std::vector<int32_t>>& decoded,
                       int first, int step) {
  int64_t count = 0, longest = 0;
  for (const std::vector<int32_t>& sequence : decoded) {
    count += static_cast<int64_t>(sequence.size());
    longest = std::max(longest, static_cast<int64_t>(sequence.size()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape pairs, Shape::Make({count, 2}));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, pairs));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DType::kInt64, Shape::Vector(count)));
  GYRE_ASSIGN_OR_RETURN(Tensor shape, ctx.Allocate(DType::kInt64, Shape::Vector(2)));
  int64_t* at = indices.mutable_values<int64_t>().data();
  int64_t* value = values.mutable_values<int64_t>().data();
  for (size_t b = 0; b < decoded.size(); ++b) {
    for (size_t t = 0; t < decoded[b].size(); ++t) {
      *at++ = static_cast<int64_t>(b);
      *at++ = static_cast<int64_t>(t);
      *value++ = decoded[b][t];
    }
  }
  shape.mutable_values<int64_t>()[0] = static_cast<int64_t>(decoded.size());
  shape.mutable_values<int64_t>()[1] = longest;
  ctx.set_output(first, std::move(indices));
  ctx.set_output(first + step, std::move(values));
  ctx.set_output(first + 2 * step, std::move(shape));
  return absl::OkStatus();
}

}  // namespace gyre::ctc
