// Products of matrices whose left factor is gathered from images: what convolutions and their
// gradients come down to.
//
// Row p of the left factor is what one place of a window meets: for each tap of the window the
// channels of one pixel, or zeros where that is outside of the image. It is gathered in pieces that
// fit a cache, never as a whole.
//
// Images are [batch, x, y, z, channels], row-major. The bits of a result depend on the sizes and on
// the CPU's instruction set, never on threads.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gyre/core/dtype.h"
#include "ops/conv/window.h"
#include "ops/kernel.h"

namespace gyre {

// One axis along which places and taps lie. Place p meets with tap t pixel p * step + taps[t].
struct TapAxis {
  int64_t pixels = 1;  // of the source
  int64_t places = 1;
  int64_t step = 1;
  std::vector<int64_t> taps = {0};
  // Place p is pixel start + p * stride of `size` pixels of the other image.
  int64_t size = 1;
  int64_t start = 0;
  int64_t stride = 1;
};

struct GatherProduct {
  DType dtype;  // float, double, or int32, which wraps around
  int64_t batch;
  std::array<TapAxis, kWindowAxes> axes;
  // Group g of the target's channels depends on group g of the source's alone.
  int64_t groups;
  int64_t source_channels;
  int64_t target_channels;
  const void* source;
  // Matrices [taps, source_channels / groups, target_channels], taps in the order of the axes.
  const void* matrix;
  void* target;
};

// Sets those pixels of the target that are places. Requirements, not checked: the sizes fit the
// memory behind the pointers; channels are multiples of `groups`.
absl::Status MultiplyGathered(const KernelContext& ctx, const GatherProduct& product);

// The gradient by the matrices: the transposed left factor times the target, which is read, into
// `matrix`, which is [taps, source_channels / groups, target_channels]. All pixels of the target
// are places, in order.
struct GatherTransposed {
  DType dtype;
  int64_t batch;
  std::array<TapAxis, kWindowAxes> axes;
  int64_t groups;
  int64_t source_channels;
  int64_t target_channels;
  const void* source;
  const void* target;
  void* matrix;
};
absl::Status MultiplyGatheredTransposed(const KernelContext& ctx, const GatherTransposed& product);

}  // namespace gyre
