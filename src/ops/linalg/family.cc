#include "ops/families.h"

namespace gyre {

#define LINALG_OPS(X) X(BatchMatMul) X(Einsum) X(MatMul) X(MatrixDiagV3)

GYRE_DEFINE_FAMILY(Linalg, LINALG_OPS)

}  // namespace gyre
