#include "ops/pool/pool.h"

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"

namespace gyre {
namespace {

absl::Status CheckChannelWindow(const WindowAttrs& attrs) {
  if (attrs.channel_size == 1 && attrs.channel_stride == 1) return absl::OkStatus();
  for (int i = 0; i < attrs.spatial; ++i) {
    if (attrs.sizes[i] != 1 || attrs.strides[i] != 1 || attrs.padding == Padding::kExplicit) {
      return absl::UnimplementedError(
          "windows go either over channels or over the other dimensions, not over both");
    }
  }
  if (attrs.channel_size != attrs.channel_stride) {
    return absl::UnimplementedError(
        absl::StrCat("a window over channels must move by its size: ksize is ", attrs.channel_size,
                     ", strides ", attrs.channel_stride));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> PooledChannels(const WindowAttrs& attrs, int64_t channels) {
  if (channels % attrs.channel_size == 0) return channels / attrs.channel_size;
  return absl::InvalidArgumentError(absl::StrCat("a window over ", attrs.channel_size,
                                                 " channels must divide all of them, ", channels));
}

absl::Status CheckPadding(const WindowAttrs& attrs) {
  for (int i = 0; i < attrs.spatial; ++i) {
    if (attrs.before[i] >= attrs.sizes[i] || attrs.after[i] >= attrs.sizes[i]) {
      if (attrs.before[i] == 0 && attrs.after[i] == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "explicit_paddings must be smaller than the window, but spatial dimension ", i, " has ",
          attrs.before[i], " and ", attrs.after[i], " for a window of ", attrs.sizes[i]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Pooling> Pooling::Make(const WindowAttrs& attrs, const Shape& images) {
  GYRE_RETURN_IF_ERROR(RequireImages(images, attrs.rank(), "input"));
  GYRE_RETURN_IF_ERROR(CheckChannelWindow(attrs));
  GYRE_RETURN_IF_ERROR(CheckPadding(attrs));
  Pooling result;
  result.input = images;
  const int64_t channels = images.dim(attrs.channel_dim());
  GYRE_ASSIGN_OR_RETURN(const int64_t pooled, PooledChannels(attrs, channels));
  GYRE_ASSIGN_OR_RETURN(result.axes, attrs.Axes(images, attrs.sizes));
  GYRE_ASSIGN_OR_RETURN(result.output, attrs.ImageShape(images.dim(0), pooled, result.axes));
  if (images.num_elements() == 0 || result.output.num_elements() == 0) return result;
  result.batch = images.dim(0);
  if (attrs.channel_size > 1) {
    // Channels are the axis along which the window slides.
    const int64_t pixels = result.axes[0].input * result.axes[1].input * result.axes[2].input;
    result.axes = {};
    result.axes[kWindowAxes - 1] = {.input = channels,
                                    .size = attrs.channel_size,
                                    .stride = attrs.channel_stride,
                                    .output = pooled};
    if (attrs.channels_first) {
      result.channels = pixels;
    } else {
      result.batch *= pixels;
    }
  } else if (attrs.channels_first) {
    result.batch *= channels;
  } else {
    result.channels = channels;
  }
  return result;
}

int64_t Pooling::window() const {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= std::min(axis.size, axis.input);
  return size;
}

int64_t Pooling::grain() const {
  return std::max<int64_t>(1, (1 << 15) / std::min<int64_t>(1 << 15, window() * channels));
}

absl::StatusOr<PartialShape> PooledShape(const WindowAttrs& attrs, const PartialShape& images) {
  if (const std::optional<Shape> known = images.ToShape()) {
    GYRE_ASSIGN_OR_RETURN(const Pooling pooling, Pooling::Make(attrs, *known));
    return PartialShape(pooling.output);
  }
  int64_t channels = images.has_rank() ? images.dim(attrs.channel_dim()) : -1;
  if (channels >= 0) {
    GYRE_ASSIGN_OR_RETURN(channels, PooledChannels(attrs, channels));
  }
  return attrs.OutputShape(images, channels, attrs.sizes);
}

absl::Status RequireShape(const Tensor& t, const Shape& shape, absl::string_view what) {
  if (t.shape() == shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " must have shape ", shape.ToString(),
                                                 ", but has ", t.shape().ToString()));
}

WindowRange RangeOf(const Pooling& pooling, int64_t place) {
  WindowRange range;
  for (int a = kWindowAxes; a-- > 0;) {
    const WindowAxis& axis = pooling.axes[a];
    const int64_t start = axis.Start(place % axis.output);
    place /= axis.output;
    range.begin[a] = std::clamp<int64_t>(start, 0, axis.input);
    range.end[a] = std::clamp(start + axis.size, range.begin[a], axis.input);
  }
  return range;
}

WindowRange PlacesOf(const Pooling& pooling, int64_t pixel) {
  WindowRange range;
  for (int a = kWindowAxes; a-- > 0;) {
    const WindowAxis& axis = pooling.axes[a];
    const int64_t at = pixel % axis.input + axis.before;
    pixel /= axis.input;
    range.end[a] = std::min(at / axis.stride + 1, axis.output);
    range.begin[a] =
        at < axis.size ? 0 : std::min((at - axis.size) / axis.stride + 1, range.end[a]);
  }
  return range;
}

}  // namespace gyre
