// Resampling images along both axes by tables of taps. Computed in float, whatever the type.
//
// Free functions without state; any thread.
#pragma once

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"
#include "ops/image/image_shape.h"
#include "ops/image/taps.h"
#include "ops/kernel.h"

namespace gyre::image {

// Elements of a row as floats.
using LoadRow = void (*)(const void* row, int64_t first, int64_t n, float* out);
// Null when there is none for the type; also for float, whose rows are used as they are, where
// `copies_float` is false.
LoadRow RowLoader(DType dtype);

enum class Order {
  kRowsFirst,     // rows are added up, then columns of the sum
  kColumnsFirst,  // columns of each row are added up, then rows
  kInterpolate,   // two taps each: a + (b - a) * weight of b, along columns, then along rows
};

// `images` with dimensions `dims`, resampled: a tensor of dtype `result` (a floating one) and shape
// [batch, rows.size(), columns.size(), channels], times `factor`. UNIMPLEMENTED for types that are
// no real numbers.
absl::StatusOr<Tensor> Resample(const KernelContext& ctx, const Tensor& images,
                                const ImageDims& dims, const Taps& rows, const Taps& columns,
                                Order order, DType result, float factor = 1);

}  // namespace gyre::image
