// Images as ops take them: [batch, height, width, channels]. Checks that many ops share.
//
// Free functions without state; any thread.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"

namespace gyre::image {

struct ImageDims {
  int64_t batch, height, width, channels;

  int64_t row() const { return width * channels; }  // elements
  int64_t plane() const { return height * row(); }  // elements
  int64_t pixels() const { return batch * height * width; }
};

// The dimensions of a tensor of rank 4. INVALID_ARGUMENT naming `what` for another rank.
absl::StatusOr<ImageDims> DimsOf(const Tensor& images, absl::string_view what);
// As DimsOf; INVALID_ARGUMENT unless height, width and channels are at least 1, and height and
// width below 2^31.
absl::StatusOr<ImageDims> SampledDims(const Tensor& images, absl::string_view what);

// Height and width from input i, a vector of two positive int32. INVALID_ARGUMENT otherwise.
absl::StatusOr<std::array<int64_t, 2>> SizeInput(const KernelContext& ctx, int i,
                                                 absl::string_view what);

// For shape rules: input i has this rank, or might; INVALID_ARGUMENT naming `what`.
absl::Status NeedRank(const ShapeContext& c, int i, int rank, absl::string_view what);
// For shape rules: dimension `axis` of input i, -1 when it is not known.
int64_t DimOr(const ShapeContext& c, int i, int axis);
// For shape rules: output 0 is [batch of input 0, size in input 1, channels of input 0].
absl::Status ResizedShape(ShapeContext& c);

}  // namespace gyre::image
