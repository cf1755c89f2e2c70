// From blocks of Philox to tensors of random numbers, element for element as TensorFlow does it.
//
// Element i depends on the generator and on i alone, so that filling may be split anywhere. Free
// functions; any thread.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"
#include "ops/random/philox.h"

namespace gyre {

enum class Distribution {
  kUniform,          // [0, 1)
  kNormal,           // mean 0, standard deviation 1
  kTruncatedNormal,  // as kNormal, redrawn until within (-2, 2)
};

// A tensor of half, bfloat16, float or double.
absl::StatusOr<Tensor> RandomFloats(const KernelContext& ctx, Distribution distribution,
                                    const Philox& generator, DType dtype, const Shape& shape);

// Integers of [minval, maxval), two scalars of dtype int32, int64, uint32 or uint64.
// INVALID_ARGUMENT unless minval < maxval or the shape is empty. Values are taken modulo the range:
// with ranges that are no small part of the type's, low values are a little likelier.
absl::StatusOr<Tensor> RandomIntegers(const KernelContext& ctx, const Philox& generator,
                                      const Tensor& minval, const Tensor& maxval,
                                      const Shape& shape);

// Integers of the whole range of int32, int64, uint32 or uint64.
absl::StatusOr<Tensor> RandomBits(const KernelContext& ctx, const Philox& generator, DType dtype,
                                  const Shape& shape);

}  // namespace gyre
