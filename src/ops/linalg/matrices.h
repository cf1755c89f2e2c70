// Batches of matrices: a tensor's last two dimensions, of which the ones before them say how many
// there are. What decompositions and solvers of equations share.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/kernel.h"
#include "ops/registry.h"

namespace gyre {

// The types of decompositions, in schemas and for dispatch.
inline constexpr absl::string_view kDecomposedTypes =
    "{double, float, half, complex64, complex128}";
using DecomposedTypes = Types<float, double, complex64, complex128>;

struct MatrixBatch {
  int64_t count;
  int64_t rows;
  int64_t columns;

  int64_t size() const { return rows * columns; }
};

// INVALID_ARGUMENT where input i, called `name`, holds no matrices, or none that are square.
absl::StatusOr<MatrixBatch> MatricesOf(const KernelContext& ctx, int i, absl::string_view name);
absl::StatusOr<MatrixBatch> SquareMatricesOf(const KernelContext& ctx, int i,
                                             absl::string_view name);

// A shape: the dimensions of `like` but its last `dropped`, then `dims`.
absl::StatusOr<Shape> ShapeLike(const Shape& like, int dropped, absl::Span<const int64_t> dims);

// Runs body(i) for i of [0, count), in parallel where that pays, with a look at cancellation
// between matrices, and in what Eigen does (EigenWatch). `work`: about how many products and sums
// one takes. What `body` returns is null, or why the op fails with INVALID_ARGUMENT; of several
// reasons that of the first matrix.
absl::Status ForEachMatrix(const KernelContext& ctx, int64_t count, double work,
                           const std::function<const char*(int64_t)>& body);

namespace matrix_shape {

// The shape of input i, of which the last two dimensions are there, and equal.
absl::StatusOr<PartialShape> Matrices(const ShapeContext& c, int i, absl::string_view name);
absl::StatusOr<PartialShape> SquareMatrices(const ShapeContext& c, int i, absl::string_view name);
// What two dimensions, of which each may be unknown, are if they are equal.
absl::StatusOr<int64_t> SameSize(int64_t a, int64_t b);
// All but the last `dropped` dimensions of `shape`, then `dims`. Requirement: it has so many.
PartialShape Like(const PartialShape& shape, int dropped, absl::Span<const int64_t> dims);

// Rules, to be named in a registration.
absl::Status Square(ShapeContext& c);  // output 0 is what input 0 is: square matrices

}  // namespace matrix_shape
}  // namespace gyre
