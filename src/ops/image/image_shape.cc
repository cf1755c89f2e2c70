#include "ops/image/image_shape.h"

#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"

namespace gyre::image {

absl::StatusOr<ImageDims> DimsOf(const Tensor& images, absl::string_view what) {
  if (images.rank() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must be 4-dimensional [batch, height, width, channels], but the shape is ",
        images.shape().ToString()));
  }
  // Of no images, the dimensions of one may be anything.
  const std::optional<int64_t> row = CheckedMul(images.dim(2), images.dim(3));
  const std::optional<int64_t> plane = row ? CheckedMul(images.dim(1), *row) : std::nullopt;
  constexpr int64_t kMost = int64_t{1} << 58;  // elements
  if (!plane || *plane > kMost || *row > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " are too large: the shape is ", images.shape().ToString()));
  }
  return ImageDims{images.dim(0), images.dim(1), images.dim(2), images.dim(3)};
}

absl::StatusOr<ImageDims> SampledDims(const Tensor& images, absl::string_view what) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, DimsOf(images, what));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (dims.height < 1 || dims.width < 1 || dims.channels < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must have at least one row, column and channel, but the shape is ",
                     images.shape().ToString()));
  }
  if (dims.height >= kMost || dims.width >= kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be less than 2^31 - 1 high and wide, but the shape is ",
                     images.shape().ToString()));
  }
  return dims;
}

absl::StatusOr<std::array<int64_t, 2>> SizeInput(const KernelContext& ctx, int i,
                                                 absl::string_view what) {
  const Tensor& size = ctx.input(i);
  if (size.rank() != 1 || size.dim(0) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must have two elements, but its shape is ", size.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ctx.IntVector(i, what));
  if (values[0] < 1 || values[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be positive, got [", values[0], ",", values[1], "]"));
  }
  return std::array<int64_t, 2>{values[0], values[1]};
}

absl::Status NeedRank(const ShapeContext& c, int i, int rank, absl::string_view what) {
  if (c.input(i).has_rank() && c.input(i).rank() != rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must have ", rank, " dimensions, but the shape is ", c.input(i).ToString()));
  }
  return absl::OkStatus();
}

int64_t DimOr(const ShapeContext& c, int i, int axis) {
  const PartialShape& shape = c.input(i);
  return shape.has_rank() && axis < shape.rank() ? shape.dim(axis) : -1;
}

absl::Status ResizedShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(NeedRank(c, 0, 4, "images"));
  GYRE_RETURN_IF_ERROR(NeedRank(c, 1, 1, "size"));
  if (DimOr(c, 1, 0) >= 0 && DimOr(c, 1, 0) != 2)
    return absl::InvalidArgumentError("size must have two elements");
  int64_t height = -1, width = -1;
  if (const auto size = c.input_ints(1); size && size->size() == 2) {
    height = (*size)[0];
    width = (*size)[1];
    if (height < 1 || width < 1)
      return absl::InvalidArgumentError(
          absl::StrCat("size must be positive, got [", height, ",", width, "]"));
  }
  c.set_output(0, PartialShape(Dims{DimOr(c, 0, 0), height, width, DimOr(c, 0, 3)}));
  return absl::OkStatus();
}

}  // namespace gyre::image
