// What the cells of recurrent networks share: checked sizes, products of their matrices, and rows
// of elements that are computed as float.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "absl/status/status.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"
#include "ops/linalg/gemm.h"

namespace gyre::recurrent {

// Elements of a row that are computed at a time.
inline constexpr int64_t kPart = 256;
// Elements of a piece of work.
inline constexpr int64_t kGrain = 1 << 13;

// INVALID_ARGUMENT unless input i has these dimensions.
absl::Status RequireDims(const KernelContext& ctx, int i, std::initializer_list<int64_t> dims);
absl::Status RequireRank(const KernelContext& ctx, int i, int rank);
// INVALID_ARGUMENT for inputs or cells of more elements than products of sizes stay small with.
absl::Status RequireSizes(int64_t input, int64_t cell);
// For shape rules: the dimension of input i, which may not be known.
int64_t DimOf(const ShapeContext& c, int i, int dim);

// Runs body(row) for each row, in parallel where there are many elements.
absl::Status ForRows(const KernelContext& ctx, int64_t rows, int64_t row_size,
                     const std::function<void(int64_t row)>& body);

// A matrix in row-major memory, perhaps to be transposed.
template <typename T>
struct Matrix {
  const T* data;
  int64_t stride;
  bool transposed = false;
};
// c[m, n] = a b, or c += a b. `a` and `b` are [m, k] and [k, n] once transposed.
template <typename T>
absl::Status Product(const KernelContext& ctx, int64_t m, int64_t n, int64_t k, Matrix<T> a,
                     Matrix<T> b, bool add, T* c) {
  return Multiply(ctx, {.dtype = DTypeOf<T>,
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = {a.data, a.stride, a.transposed},
                        .b = {b.data, b.stride, b.transposed},
                        .c = c,
                        .batch = {},
                        .add = add});
}

// sums[j] += Σ x[row, j] y[row, j] over rows, or Σ x[row, j] where y is null. Strides are those of
// rows.
template <typename T>
absl::Status AddColumns(const KernelContext& ctx, int64_t rows, int64_t columns, const T* x,
                        int64_t x_stride, const T* y, int64_t y_stride, double* sums) {
  for (int64_t row = 0; row < rows; ++row) {
    if (row % (1 + kGrain / (columns + 1)) == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const T *xs = x + row * x_stride, *ys = y == nullptr ? nullptr : y + row * y_stride;
    for (int64_t j = 0; j < columns; ++j) {
      sums[j] += static_cast<double>(static_cast<float>(xs[j])) *
                 (ys == nullptr ? 1 : static_cast<double>(static_cast<float>(ys[j])));
    }
  }
  return absl::OkStatus();
}

// For gradient rules: fails where another output than those of `known` has a gradient.
bool OnlyThese(GradientContext& g, std::initializer_list<int> known);
// Σ over axis 0.
Expr SumOfRows(GradientContext& g, Expr x);
// [x, y] along axis 1.
Expr SideBySide(GradientContext& g, Expr x, Expr y);

}  // namespace gyre::recurrent
