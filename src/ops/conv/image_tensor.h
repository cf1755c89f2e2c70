// Images on their way in and out of kernels: channels last, small floats as float.
#pragma once

#include "absl/status/statusor.h"
#include "ops/conv/window.h"
#include "ops/kernel.h"

namespace gyre {

// The type that half and bfloat16 are computed in, float; any other type itself.
inline DType ComputedType(DType dtype) {
  return dtype == DType::kHalf || dtype == DType::kBfloat16 ? DType::kFloat : dtype;
}
// Elements of half, bfloat16, or float, as another of the three; the tensor itself if it has the
// type.
absl::StatusOr<Tensor> ConvertFloats(const KernelContext& ctx, Tensor t, DType dtype);

// The images [batch, channels, …] as [batch, …, channels], and back.
absl::StatusOr<Tensor> ChannelsLast(const KernelContext& ctx, const Tensor& images);
absl::StatusOr<Tensor> ChannelsFirst(const KernelContext& ctx, const Tensor& images);

// Channels last, in the type that is computed in.
absl::StatusOr<Tensor> ImagesIn(const KernelContext& ctx, const WindowAttrs& attrs,
                                const Tensor& images);
// What ImagesIn undid, of a result.
absl::StatusOr<Tensor> ImagesOut(const KernelContext& ctx, const WindowAttrs& attrs, Tensor images,
                                 DType dtype);

}  // namespace gyre
