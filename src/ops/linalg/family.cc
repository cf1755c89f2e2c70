#include "ops/families.h"

namespace gyre {

#define LINALG_OPS(X) \
  X(BandPart)         \
  X(BandedSolve)      \
  X(BatchMatMul)      \
  X(Cholesky)         \
  X(Cross)            \
  X(Determinant)      \
  X(Diagonals)        \
  X(Eig)              \
  X(Einsum)           \
  X(LeastSquares)     \
  X(MatMul)           \
  X(MatrixDiagV3)     \
  X(MatrixRoot) X(Qr) X(SelfAdjointEig) X(Solve) X(Svd) X(TriangularSolve) X(Tridiagonal)

GYRE_DEFINE_FAMILY(Linalg, LINALG_OPS)

}  // namespace gyre
