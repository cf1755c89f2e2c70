#include "ops/linalg/matrices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/first_error.h"
#include "ops/linalg/eigen_steps.h"

namespace gyre {
namespace {

absl::Status NoMatrices(absl::string_view name, const std::string& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must have at least two dimensions, but its shape is ", shape));
}

absl::Status NotSquare(absl::string_view name, const std::string& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("Input matrix must be square: ", name, " has shape ", shape));
}

}  // namespace

absl::StatusOr<MatrixBatch> MatricesOf(const KernelContext& ctx, int i, absl::string_view name) {
  const Shape& shape = ctx.input(i).shape();
  if (shape.rank() < 2) return NoMatrices(name, shape.ToString());
  MatrixBatch batch = {1, shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1)};
  if (shape.num_elements() > 0) {
    batch.count = shape.num_elements() / batch.size();
  } else {
    // A product of dimensions of which some are 0 may overflow.
    Dims leading(shape.dims().begin(), shape.dims().end() - 2);
    GYRE_ASSIGN_OR_RETURN(const Shape counted, Shape::Make(leading));
    batch.count = counted.num_elements();
  }
  return batch;
}

absl::StatusOr<MatrixBatch> SquareMatricesOf(const KernelContext& ctx, int i,
                                             absl::string_view name) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, MatricesOf(ctx, i, name));
  if (batch.rows != batch.columns) return NotSquare(name, ctx.input(i).shape().ToString());
  return batch;
}

absl::StatusOr<Shape> ShapeLike(const Shape& like, int dropped, absl::Span<const int64_t> dims) {
  Dims all(like.dims().begin(), like.dims().end() - dropped);
  all.insert(all.end(), dims.begin(), dims.end());
  return Shape::Make(all);
}

absl::Status ForEachMatrix(const KernelContext& ctx, int64_t count, double work,
                           const std::function<const char*(int64_t)>& body) {
  constexpr double kPieceWork = 1 << 17;
  const double most = kPieceWork / std::max(work, 1.0);
  const int64_t grain = most < 1 ? 1 : static_cast<int64_t>(most);
  FirstError error;
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(count, grain, [&](int64_t begin, int64_t end) {
    const EigenWatch watch(ctx);
    try {
      for (int64_t i = begin; i < end; ++i) {
        if (const char* const reason = body(i); reason != nullptr)
          return error.Set(i, absl::InvalidArgumentError(reason));
      }
    } catch (const EigenWatch::GivenUp&) {  // which the look behind this says, too
    }
  }));
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  return error.status();
}

namespace matrix_shape {

absl::StatusOr<PartialShape> Matrices(const ShapeContext& c, int i, absl::string_view name) {
  const PartialShape& shape = c.input(i);
  if (shape.has_rank() && shape.rank() < 2) return NoMatrices(name, shape.ToString());
  return shape;
}

absl::StatusOr<int64_t> SameSize(int64_t a, int64_t b) {
  if (a >= 0 && b >= 0 && a != b) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimensions must be equal, but are ", a, " and ", b));
  }
  return std::max(a, b);
}

absl::StatusOr<PartialShape> SquareMatrices(const ShapeContext& c, int i, absl::string_view name) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, Matrices(c, i, name));
  if (!shape.has_rank()) return shape;
  const int rank = shape.rank();
  const absl::StatusOr<int64_t> size = SameSize(shape.dim(rank - 2), shape.dim(rank - 1));
  if (!size.ok()) return NotSquare(name, shape.ToString());
  shape.set_dim(rank - 2, *size);
  shape.set_dim(rank - 1, *size);
  return shape;
}

PartialShape Like(const PartialShape& shape, int dropped, absl::Span<const int64_t> dims) {
  Dims all(shape.dims().begin(), shape.dims().end() - dropped);
  all.insert(all.end(), dims.begin(), dims.end());
  return PartialShape(std::move(all));
}

absl::Status Square(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, SquareMatrices(c, 0, "input"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace matrix_shape
}  // namespace gyre
