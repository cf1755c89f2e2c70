// Formulas of matrices, for gradient rules: products, forms and solutions of equations of the last
// two dimensions, whatever stands in front of them.
//
// Owned by a rule for as long as it writes. Not thread-safe.
#pragma once

#include "ir/gradient_context.h"

namespace gyre {

class MatrixFormulas {
 public:
  // `rank`: of the tensors that are turned; -1 if it is not known.
  MatrixFormulas(GradientContext& g, int rank) : g_(g), rank_(rank) {}
  // With the rank of input i.
  static MatrixFormulas OfInput(GradientContext& g, int i = 0);

  Expr Product(Expr a, Expr b, bool adjoint_a = false, bool adjoint_b = false);
  // The last two dimensions swapped, and conjugated.
  Expr Adjoint(Expr x);
  // The last two dimensions swapped.
  Expr Transpose(Expr x);
  // Elements on and below (above) the main diagonal, zeros elsewhere.
  Expr Lower(Expr x) { return Band(x, -1, 0); }
  Expr Upper(Expr x) { return Band(x, 0, -1); }
  Expr Band(Expr x, int32_t below, int32_t above);
  // Vectors as diagonal matrices, the diagonals of matrices, and matrices with another diagonal.
  Expr Diagonal(Expr vectors);
  Expr DiagonalOf(Expr matrices);
  Expr WithDiagonal(Expr matrices, Expr vectors);
  // vectors as columns, as rows.
  Expr AsColumn(Expr vectors) { return Expand(vectors, -1); }
  Expr AsRow(Expr vectors) { return Expand(vectors, -2); }
  // x adjoint(r)^-1 for upper triangular r.
  Expr OverAdjoint(Expr x, Expr r);
  // Solutions of triangular equations, and of others.
  Expr SolveTriangular(Expr matrix, Expr rhs, bool lower, bool adjoint);
  Expr Solve(Expr matrix, Expr rhs, bool adjoint = false);
  // 1 / (a_j - a_i) at (i, j), and 0 on the diagonal.
  Expr ReciprocalDifferences(Expr vectors);
  // 1 / x, and 0 where x is 0.
  Expr SafeReciprocal(Expr x);
  // Columns [begin, end) of matrices; end = 0: all from `begin` on.
  Expr Columns(Expr x, int32_t begin, int32_t end);

 private:
  Expr Expand(Expr x, int32_t axis);

  GradientContext& g_;
  int rank_;
};

}  // namespace gyre
