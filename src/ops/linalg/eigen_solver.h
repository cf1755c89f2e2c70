// Eigenvalues and eigenvectors: what the ops for self-adjoint matrices and for all others share.
//
// Pure functions; any thread.
#pragma once

#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"

namespace gyre {

// Whether vectors are wanted, too.
struct VectorsAttr {
  explicit VectorsAttr(const Node& node) : vectors(NodeAttr<bool>(node, "compute_v")) {}
  bool vectors;
};

// Calls solve(matrix of T, values, vectors or null) for each matrix of input 0; values and vectors,
// which become outputs 0 and 1, are R. It returns why it fails, or null.
template <typename T, typename R, typename Solve>
absl::Status RunSolver(KernelContext& ctx, bool vectors, const Solve& solve) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, SquareMatricesOf(ctx, 0, "input"));
  const int64_t n = batch.rows;
  const Shape& shape = ctx.input(0).shape();
  GYRE_ASSIGN_OR_RETURN(const Shape e_shape, ShapeLike(shape, 2, {n}));
  GYRE_ASSIGN_OR_RETURN(Tensor e, ctx.Allocate(DTypeOf<R>, e_shape));
  GYRE_ASSIGN_OR_RETURN(Tensor v, ctx.Allocate(DTypeOf<R>, vectors ? shape : Shape::Vector(0)));
  if (e.num_elements() > 0) {
    const T* from = ctx.input(0).values<T>().data();
    R* values = e.mutable_values<R>().data();
    R* to = vectors ? v.mutable_values<R>().data() : nullptr;
    const double work = 10.0 * static_cast<double>(n) * n * n;
    GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
      return solve(MatrixAt(from + i * n * n, n, n), values + i * n,
                   vectors ? to + i * n * n : nullptr);
    }));
  }
  ctx.set_output(0, std::move(e));
  ctx.set_output(1, std::move(v));
  return absl::OkStatus();
}

// Rules of both.
inline absl::Status EigenShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, matrix_shape::SquareMatrices(c, 0, "input"));
  const bool vectors = VectorsAttr(c.node()).vectors;
  if (shape.has_rank()) c.set_output(0, matrix_shape::Like(shape, 1, {}));
  c.set_output(1, vectors ? shape : PartialShape(Shape::Vector(0)));
  return absl::OkStatus();
}

inline absl::Status EigenBatch(BatchContext& c) {
  if (c.attr<bool>("compute_v", true)) return c.Emit({c.stacked(0)});
  return c.Emit({c.stacked(0)}, {}, {Rows::kStacked, Rows::kSame});
}

}  // namespace gyre
