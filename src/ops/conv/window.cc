#include "ops/conv/window.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "ops/array/integers.h"

namespace gyre {
namespace {

using Ints = std::vector<int64_t>;

// A list attribute; empty if the op has none of this name, or it is empty.
Ints ListAttr(const Node& node, absl::string_view name) { return node.attrs.GetOr<Ints>(name, {}); }

absl::Status RequireLength(absl::Span<const int64_t> values, int rank, absl::string_view name) {
  if (static_cast<int>(values.size()) == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must have ", rank,
                                                 " numbers, one for each dimension of the images, ",
                                                 "but is ", ListToString(values)));
}

absl::Status RequirePositive(absl::Span<const int64_t> values, absl::string_view name) {
  for (const int64_t v : values) {
    if (v < 1 || v > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " must be positive numbers of 32 bits, but is ", ListToString(values)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RequireImages(const Shape& shape, int rank, absl::string_view what) {
  if (shape.rank() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must have ", rank, " dimensions, but has shape ", shape.ToString()));
}

absl::StatusOr<WindowAttrs> WindowAttrs::Read(const Node& node, int spatial) {
  WindowAttrs result;
  result.spatial = spatial;
  const std::string format = node.attrs.GetOr<std::string>("data_format", "NHWC");
  if (format == "NCHW_VECT_C")
    return absl::UnimplementedError("data_format NCHW_VECT_C is not supported");
  result.channels_first = format == "NCHW" || format == "NCDHW";
  const std::string padding = node.attrs.GetOr<std::string>("padding", "VALID");
  result.padding = padding == "SAME"       ? Padding::kSame
                   : padding == "EXPLICIT" ? Padding::kExplicit
                                           : Padding::kValid;

  const int rank = result.rank();
  const Ints ones(rank, 1);
  const Ints ksize = node.attrs.Has("ksize") ? ListAttr(node, "ksize") : ones;
  const Ints strides = node.attrs.Has("strides") ? ListAttr(node, "strides") : ones;
  GYRE_RETURN_IF_ERROR(result.SetWindow(ksize, strides));

  absl::string_view name = node.attrs.Has("rates") ? "rates" : "dilations";
  const Ints dilations = node.attrs.Has(name) ? ListAttr(node, name) : ones;
  GYRE_RETURN_IF_ERROR(RequireLength(dilations, rank, name));
  GYRE_RETURN_IF_ERROR(RequirePositive(dilations, name));
  if (dilations[0] != 1 || dilations[result.channel_dim()] != 1) {
    return absl::UnimplementedError(
        absl::StrCat(name, " must be 1 for batch and channels, but is ", ListToString(dilations)));
  }
  const Ints paddings = ListAttr(node, "explicit_paddings");
  if (result.padding != Padding::kExplicit && !paddings.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("explicit_paddings must be empty where padding is '", padding, "', but is ",
                     ListToString(paddings)));
  }
  if (result.padding == Padding::kExplicit) {
    if (static_cast<int>(paddings.size()) != 2 * rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "explicit_paddings must have ", 2 * rank,
          " numbers, two for each dimension of the images, but is ", ListToString(paddings)));
    }
    for (const int64_t p : paddings) {
      if (p < 0 || p > std::numeric_limits<int32_t>::max()) {
        return absl::InvalidArgumentError(
            absl::StrCat("explicit_paddings must not be negative, and fit 32 bits, but is ",
                         ListToString(paddings)));
      }
    }
    const int channel = result.channel_dim();
    if (paddings[0] != 0 || paddings[1] != 0 || paddings[2 * channel] != 0 ||
        paddings[2 * channel + 1] != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "explicit_paddings must be 0 for batch and channels, but is ", ListToString(paddings)));
    }
  }
  for (int i = 0; i < spatial; ++i) {
    const int d = result.spatial_dim(i);
    result.dilations.push_back(dilations[d]);
    result.before.push_back(paddings.empty() ? 0 : paddings[2 * d]);
    result.after.push_back(paddings.empty() ? 0 : paddings[2 * d + 1]);
  }
  return result;
}

absl::Status WindowAttrs::SetWindow(absl::Span<const int64_t> ksize,
                                    absl::Span<const int64_t> steps) {
  GYRE_RETURN_IF_ERROR(RequireLength(ksize, rank(), "ksize"));
  GYRE_RETURN_IF_ERROR(RequireLength(steps, rank(), "strides"));
  GYRE_RETURN_IF_ERROR(RequirePositive(ksize, "ksize"));
  GYRE_RETURN_IF_ERROR(RequirePositive(steps, "strides"));
  if (ksize[0] != 1 || steps[0] != 1) {
    return absl::UnimplementedError(
        absl::StrCat("windows must not go along the batch, but ksize is ", ListToString(ksize),
                     " and strides is ", ListToString(steps)));
  }
  sizes.clear();
  strides.clear();
  for (int i = 0; i < spatial; ++i) {
    sizes.push_back(ksize[spatial_dim(i)]);
    strides.push_back(steps[spatial_dim(i)]);
  }
  channel_size = ksize[channel_dim()];
  channel_stride = steps[channel_dim()];
  return absl::OkStatus();
}

absl::StatusOr<WindowAxis> WindowAttrs::Axis(int i, int64_t input, int64_t size) const {
  WindowAxis axis{input, size, strides[i], dilations[i]};
  const auto too_large = [&] {
    return absl::InvalidArgumentError(absl::StrCat("a window of ", size, " with dilation ",
                                                   axis.dilation, " on a size of ", input,
                                                   " does not fit 64 bits"));
  };
  const auto gaps = CheckedMul(size - 1, axis.dilation);
  const auto reach = gaps ? CheckedAdd(*gaps, 1) : std::nullopt;
  if (!reach) return too_large();
  if (padding == Padding::kSame) {
    axis.output = input == 0 ? 0 : (input - 1) / axis.stride + 1;
    const auto last = CheckedMul(axis.output - 1, axis.stride);
    const auto end = last ? CheckedAdd(*last, *reach) : std::nullopt;
    if (!end) return too_large();
    axis.before = std::max<int64_t>(0, *end - input) / 2;
    return axis;
  }
  axis.before = before[i];
  const auto padded = CheckedAdd(input, before[i] + after[i]);
  if (!padded) return too_large();
  // A window that is too large by less than a stride has no place; more is a mistake.
  const int64_t room = *padded - *reach;
  if (room < 0 && room < -axis.stride) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window of ", size, " with dilation ", axis.dilation,
                     " is larger than spatial dimension ", i, " of size ", input,
                     " with its padding of ", before[i], " and ", after[i]));
  }
  axis.output = room < 0 ? 0 : room / axis.stride + 1;
  return axis;
}

absl::StatusOr<WindowAxes> WindowAttrs::Axes(const Shape& images,
                                             absl::Span<const int64_t> window) const {
  WindowAxes axes;
  for (int i = 0; i < spatial; ++i) {
    GYRE_ASSIGN_OR_RETURN(axes[kWindowAxes - spatial + i],
                          Axis(i, images.dim(spatial_dim(i)), window[i]));
  }
  return axes;
}

absl::StatusOr<Shape> WindowAttrs::ImageShape(int64_t batch, int64_t channels,
                                              const WindowAxes& axes) const {
  Dims dims(rank());
  dims[0] = batch;
  dims[channel_dim()] = channels;
  for (int i = 0; i < spatial; ++i) dims[spatial_dim(i)] = axes[kWindowAxes - spatial + i].output;
  return Shape::Make(dims);
}

absl::StatusOr<PartialShape> WindowAttrs::OutputShape(const PartialShape& images, int64_t channels,
                                                      absl::Span<const int64_t> window) const {
  PartialShape result = PartialShape::UnknownOfRank(rank());
  if (images.has_rank()) result.set_dim(0, images.dim(0));
  result.set_dim(channel_dim(), channels);
  for (int i = 0; images.has_rank() && i < spatial; ++i) {
    const int64_t input = images.dim(spatial_dim(i));
    // With the padding SAME the window's size does not matter.
    const int64_t size = padding == Padding::kSame && window[i] < 0 ? 1 : window[i];
    if (input < 0 || size < 0) continue;
    GYRE_ASSIGN_OR_RETURN(const WindowAxis axis, Axis(i, input, size));
    result.set_dim(spatial_dim(i), axis.output);
  }
  return result;
}

}  // namespace gyre
