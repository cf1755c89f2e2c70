#include "ops/linalg/matrix_formulas.h"

namespace gyre {

MatrixFormulas MatrixFormulas::OfInput(GradientContext& g, int i) {
  const PartialShape shape = g.input_shape(i);
  return {g, shape.has_rank() ? shape.rank() : -1};
}

Expr MatrixFormulas::Product(Expr a, Expr b, bool adjoint_a, bool adjoint_b) {
  return g_.op("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}

Expr MatrixFormulas::Transpose(Expr x) {
  ExprBuilder& b = g_.builder();
  if (rank_ >= 2) {
    std::vector<int32_t> order(rank_);
    for (int i = 0; i < rank_; ++i) order[i] = i;
    std::swap(order[rank_ - 1], order[rank_ - 2]);
    return g_.op("Transpose", {x, b.Ints(order)});
  }
  const Expr rank = g_.op("Rank", {x});
  const Expr leading = g_.op("Range", {b.Int(0), rank - 2, b.Int(1)});
  const Expr swapped = rank + b.Ints({-1, -2});
  return g_.op("Transpose", {x, g_.op("ConcatV2", {leading, swapped, b.Int(0)})});
}

Expr MatrixFormulas::Adjoint(Expr x) { return Conj(Transpose(x)); }

Expr MatrixFormulas::Band(Expr x, int32_t below, int32_t above) {
  ExprBuilder& b = g_.builder();
  return g_.op("MatrixBandPart", {x, b.Int(below), b.Int(above)});
}

Expr MatrixFormulas::Diagonal(Expr vectors) {
  ExprBuilder& b = g_.builder();
  return g_.op("MatrixDiagV3", {vectors, b.Int(0), b.Int(-1), b.Int(-1), b.Zero(vectors.dtype())});
}

Expr MatrixFormulas::DiagonalOf(Expr matrices) {
  ExprBuilder& b = g_.builder();
  return g_.op("MatrixDiagPartV3", {matrices, b.Int(0), b.Zero(matrices.dtype())});
}

Expr MatrixFormulas::WithDiagonal(Expr matrices, Expr vectors) {
  return g_.op("MatrixSetDiagV3", {matrices, vectors, g_.builder().Int(0)});
}

Expr MatrixFormulas::OverAdjoint(Expr x, Expr r) {
  return Adjoint(SolveTriangular(r, Adjoint(x), /*lower=*/false, /*adjoint=*/false));
}

Expr MatrixFormulas::SolveTriangular(Expr matrix, Expr rhs, bool lower, bool adjoint) {
  return g_.op("MatrixTriangularSolve", {matrix, rhs}, {{"lower", lower}, {"adjoint", adjoint}});
}

Expr MatrixFormulas::Solve(Expr matrix, Expr rhs, bool adjoint) {
  return g_.op("MatrixSolve", {matrix, rhs}, {{"adjoint", adjoint}});
}

Expr MatrixFormulas::ReciprocalDifferences(Expr vectors) {
  const Expr row = AsRow(vectors), column = AsColumn(vectors);
  return WithDiagonal(SafeReciprocal(row - column), ZerosLike(vectors));
}

Expr MatrixFormulas::SafeReciprocal(Expr x) {
  // As TensorFlow: what is almost 0 does not become infinite.
  return x / (g_.op("Square", {x}) + 1e-20);
}

Expr MatrixFormulas::Columns(Expr x, int32_t begin, int32_t end) {
  ExprBuilder& b = g_.builder();
  // [..., begin:end]: the ellipsis is bit 0 of its mask.
  return g_.op("StridedSlice", {x, b.Ints({0, begin}), b.Ints({0, end}), b.Ints({1, 1})},
               {{"ellipsis_mask", int64_t{1}}, {"end_mask", int64_t{end == 0 ? 2 : 0}}});
}

Expr MatrixFormulas::Expand(Expr x, int32_t axis) {
  return g_.op("ExpandDims", {x, g_.builder().Int(axis)});
}

}  // namespace gyre
