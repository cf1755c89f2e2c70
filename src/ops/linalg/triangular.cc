#include "ops/linalg/triangular.h"

#include <algorithm>

namespace gyre {
namespace {

PartialShape BatchOf(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() < 2) return PartialShape::Unknown();
  return PartialShape(Dims(shape.dims().begin(), shape.dims().end() - 2));
}

}  // namespace

absl::Status TriangularShape(ShapeContext& c, const PartialShape& a) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape b, matrix_shape::Matrices(c, 1, "rhs"));
  if (!a.has_rank() || !b.has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const int64_t n,
                        matrix_shape::SameSize(a.dim(a.rank() - 1), b.dim(b.rank() - 2)));
  GYRE_ASSIGN_OR_RETURN(const PartialShape batch, shape::BroadcastShapes(BatchOf(a), BatchOf(b)));
  if (batch.has_rank()) c.set_output(0, matrix_shape::Like(batch, 0, {n, b.dim(b.rank() - 1)}));
  return absl::OkStatus();
}

void AddTriangularGradients(GradientContext& g, Expr to_rhs,
                            absl::FunctionRef<Expr(MatrixFormulas&, Expr)> part) {
  const auto stretch = [&](int i) {
    return gradient::StretchOf(BatchOf(g.input_shape(i)), BatchOf(g.output_shape(0)),
                               {BatchOf(g.input_shape(1 - i))});
  };
  if (g.wants(1)) gradient::AddStretched(g, 1, to_rhs, stretch(1));
  if (!g.wants(0)) return;
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr x = g.output(0);
  const Expr whole = TriangularAttrs(g.node()).adjoint ? m.Product(x, to_rhs, false, true)
                                                       : m.Product(to_rhs, x, false, true);
  gradient::AddStretched(g, 0, -part(m, whole), stretch(0));
}

absl::Status TriangularBatch(BatchContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int left, c.NeedRank(0));
  GYRE_ASSIGN_OR_RETURN(const int right, c.NeedRank(1));
  const int rank = std::max(left, right);
  return c.Emit({c.is_stacked(0) ? c.stacked(0, rank) : c.input(0),
                 c.is_stacked(1) ? c.stacked(1, rank) : c.input(1)});
}

}  // namespace gyre
