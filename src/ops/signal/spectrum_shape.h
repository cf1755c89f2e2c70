// Which axes a transform goes along, and how long they are made for it.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/core/shape.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"

namespace gyre {

struct SpectrumAxes {
  std::vector<int> axes;  // in the order in which they are given; the last one is real or half
  std::vector<int64_t> lengths;  // of each

  // `shape` with the lengths of the axes, and `last` as that of the last one.
  absl::StatusOr<Shape> Resized(const Shape& shape, int64_t last) const;
};

// What of the last axis a transform gives: all of it, or the half that tells the other (n / 2 + 1).
enum class SpectrumEnd : int8_t { kWhole, kHalf };

// Inputs 1 and 2, fft_length and axes, of which there is at least one.
absl::StatusOr<SpectrumAxes> AxesInputs(const KernelContext& ctx);
// Input 1, fft_length, for the last `count` axes.
absl::StatusOr<SpectrumAxes> LastAxes(const KernelContext& ctx, int count);

// The shape of what a transform along any axes gives.
template <SpectrumEnd kEnd>
absl::Status ManyShape(ShapeContext& c);
// The shape of what a transform along the last `count` axes gives.
absl::Status LastShape(ShapeContext& c, int count, SpectrumEnd end);

// The product of the last `count` of some dimensions.
Expr LastSizes(GradientContext& g, Expr dims, int count);

}  // namespace gyre
