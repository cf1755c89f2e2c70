// Elementwise loops of this folder: one output element from the same element of one or two inputs
// of equal shape.
#pragma once

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "gyre/core/tensor.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"
#include "ops/reduction/numeric.h"

namespace gyre {

// The type in which elements of type T are computed.
template <typename T>
using Computed = std::conditional_t<kIsSmallFloat<T>, float, T>;

inline constexpr int64_t kMapGrain = 1 << 14;

// output = f(input 0), elements passed as Computed<T>.
template <typename T, typename F>
absl::Status MapElements(KernelContext& ctx, const F& f) {
  const Tensor& x = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, x.dtype(), x.shape()));
  const T* from = static_cast<const T*>(x.raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(x.num_elements(), kMapGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          to[i] = static_cast<T>(f(static_cast<Computed<T>>(from[i])));
        }
      }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// output = f(input 0, input 1). INVALID_ARGUMENT unless they have the same shape.
template <typename T, typename F>
absl::Status MapPairs(KernelContext& ctx, const F& f) {
  const Tensor& x = ctx.input(0);
  const Tensor& y = ctx.input(1);
  if (x.shape() != y.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("the inputs must have the same shape, but have ",
                                                   x.shape().ToString(), " and ",
                                                   y.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, x.dtype(), x.shape()));
  const T* xs = static_cast<const T*>(x.raw_data());
  const T* ys = static_cast<const T*>(y.raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(x.num_elements(), kMapGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          to[i] =
              static_cast<T>(f(static_cast<Computed<T>>(xs[i]), static_cast<Computed<T>>(ys[i])));
        }
      }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace gyre
