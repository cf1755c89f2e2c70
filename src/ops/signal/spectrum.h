// Fourier transforms of tensors along axes: what the ops of this folder come down to.
//
// Rows go through in parallel, each in one piece: bits do not depend on threads.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gyre/core/shape.h"
#include "ops/kernel.h"
#include "ops/signal/fft.h"

namespace gyre {

// Transforms `data`, a tensor of this shape, along one axis, in place. The inverse transform is
// divided by the axis' length.
template <typename R>
absl::Status TransformAxis(const KernelContext& ctx, std::complex<R>* data, const Shape& shape,
                           int axis, bool inverse);

// Transforms rows of length n >= 1, `count` of them: load(row, parts) says what goes in,
// store(row, parts) takes what comes out.
template <typename R>
absl::Status TransformRows(const KernelContext& ctx, int64_t count, int64_t n,
                           const std::function<void(int64_t, FftParts<R>)>& load,
                           const std::function<void(int64_t, FftParts<R>)>& store);

// Copies the elements that tensors of both shapes have, which differ along axes alone; the others
// of `to` are 0.
template <typename T>
absl::Status CopyCorner(const KernelContext& ctx, const T* from, const Shape& from_shape, T* to,
                        const Shape& to_shape);

extern template absl::Status TransformAxis<float>(const KernelContext&, std::complex<float>*,
                                                  const Shape&, int, bool);
extern template absl::Status TransformAxis<double>(const KernelContext&, std::complex<double>*,
                                                   const Shape&, int, bool);

}  // namespace gyre
