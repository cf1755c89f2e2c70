// Convolutions in which each channel depends on one channel alone: sums of products of rows of
// channels, in vector code.
#pragma once

#include "absl/status/status.h"
#include "ops/conv/convolution.h"
#include "ops/kernel.h"

namespace gyre {

// All tensors are of one type, float or double, channels last; sizes.groups == sizes.in_channels.
absl::Status DepthwiseSum(const KernelContext& ctx, const Convolution& sizes, const Tensor& images,
                          const Tensor& filter, Tensor& out);
absl::Status DepthwiseInputGradient(const KernelContext& ctx, const Convolution& sizes,
                                    const Tensor& filter, const Tensor& grad, Tensor& images);
absl::Status DepthwiseFilterGradient(const KernelContext& ctx, const Convolution& sizes,
                                     const Tensor& images, const Tensor& grad, Tensor& filter);

// out[c] = Σ xs[i][c] * ws[i][c] for c below n, or more by that than it is. Any thread.
template <typename T>
struct RowProducts {
  const T* const* xs;
  const T* const* ws;
  int64_t count;
  int64_t n;
  T* out;
  bool accumulate;
};
void SumRowProducts(const RowProducts<float>& products);
void SumRowProducts(const RowProducts<double>& products);

}  // namespace gyre
