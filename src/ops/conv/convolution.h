// Convolutions of images with filters, and their gradients.
#pragma once

#include "absl/status/statusor.h"
#include "ops/conv/window.h"
#include "ops/kernel.h"

namespace gyre {

// The sizes of one convolution.
struct Convolution {
  // Of images in the format of `attrs` with filters [sizes, channels of a group, channels out];
  // depthwise: [sizes, channels, multiplier]. INVALID_ARGUMENT where these do not fit together.
  static absl::StatusOr<Convolution> Make(const WindowAttrs& attrs, const Shape& images,
                                          const Shape& filter, bool is_depthwise);
  // The shape of what comes out.
  absl::StatusOr<Shape> OutputShape(const WindowAttrs& attrs) const {
    return attrs.ImageShape(batch, out_channels, axes);
  }
  int64_t taps() const { return axes[0].size * axes[1].size * axes[2].size; }

  WindowAxes axes;
  int64_t batch;
  int64_t in_channels;
  int64_t out_channels;
  // Each of so many groups of channels out depends on a group of channels in.
  int64_t groups;
};

// What comes out of images and filters of these sizes.
absl::StatusOr<Tensor> Convolve(const KernelContext& ctx, const WindowAttrs& attrs,
                                const Convolution& sizes, const Tensor& images,
                                const Tensor& filter);
// The gradient by the images, whose shape is `images`, and by the filters, whose shape is `filter`;
// `grad` is that of what comes out. INVALID_ARGUMENT if its shape is another.
absl::StatusOr<Tensor> ConvolutionInputGradient(const KernelContext& ctx, const WindowAttrs& attrs,
                                                const Convolution& sizes, const Shape& images,
                                                const Tensor& filter, const Tensor& grad);
absl::StatusOr<Tensor> ConvolutionFilterGradient(const KernelContext& ctx, const WindowAttrs& attrs,
                                                 const Convolution& sizes, const Tensor& images,
                                                 const Shape& filter, const Tensor& grad);

}  // namespace gyre
