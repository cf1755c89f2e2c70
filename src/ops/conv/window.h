// Windows that slide over the spatial dimensions of images: what convolutions and poolings share.
//
// Images have 2 or 3 spatial dimensions. Here all have kWindowAxes: those that are missing have
// size 1 and stand in front.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/shape.h"
#include "ir/program.h"
#include "ir/shape_context.h"

namespace gyre {

inline constexpr int kWindowAxes = 3;

enum class Padding : uint8_t { kValid, kSame, kExplicit };

// One axis along which a window slides.
struct WindowAxis {
  int64_t input = 1;
  int64_t size = 1;  // of the window
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // places in front of the input
  int64_t output = 1;  // places of the window

  // The input that place `o` of the window meets first; may be outside of it.
  int64_t Start(int64_t o) const { return o * stride - before; }
};
using WindowAxes = std::array<WindowAxis, kWindowAxes>;

// Attributes that say how a window slides: strides, padding, data_format and, where an op has them,
// ksize, dilations and explicit_paddings.
struct WindowAttrs {
  // Reads them, for images of `spatial` spatial dimensions. INVALID_ARGUMENT for lists of other
  // lengths, numbers that are not positive or beyond int32, and paddings that are negative.
  static absl::StatusOr<WindowAttrs> Read(const Node& node, int spatial);
  // Replaces ksize and strides, each with a number for every dimension of the images.
  absl::Status SetWindow(absl::Span<const int64_t> ksize, absl::Span<const int64_t> strides);

  int rank() const { return spatial + 2; }
  int channel_dim() const { return channels_first ? 1 : rank() - 1; }
  int spatial_dim(int i) const { return channels_first ? 2 + i : 1 + i; }

  // Spatial axis i for an input and a window of these sizes. INVALID_ARGUMENT where there would be
  // fewer than no places.
  absl::StatusOr<WindowAxis> Axis(int i, int64_t input, int64_t size) const;
  // All axes; `sizes`: of the window, by spatial dimension.
  absl::StatusOr<WindowAxes> Axes(const Shape& images, absl::Span<const int64_t> sizes) const;
  // The shape of images [batch, channels, sizes] in this format.
  absl::StatusOr<Shape> ImageShape(int64_t batch, int64_t channels, const WindowAxes& axes) const;
  // The same with places of the window for sizes, for shape rules; sizes of -1 are not known.
  absl::StatusOr<PartialShape> OutputShape(const PartialShape& images, int64_t channels,
                                           absl::Span<const int64_t> sizes) const;

  int spatial = 2;
  bool channels_first = false;
  Padding padding = Padding::kValid;
  Dims sizes;  // of windows that attributes say; by spatial dimension, as all below
  Dims strides;
  Dims dilations;
  Dims before, after;  // explicit paddings
  // Of windows that go along channels, too.
  int64_t channel_size = 1;
  int64_t channel_stride = 1;
};

// INVALID_ARGUMENT unless the shape has this rank.
absl::Status RequireImages(const Shape& shape, int rank, absl::string_view what);

}  // namespace gyre
