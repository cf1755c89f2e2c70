#include "ops/families.h"

namespace gyre {

#define SPARSE_OPS(X)                                                                        \
  X(SparseConcat)                                                                            \
  X(SparseCross)                                                                             \
  X(SparseSerialize) X(SparseCwise) X(SparseFillEmptyRows) X(SparseMatmul) X(SparseOrder)    \
      X(SparseReduce) X(SparseSegments) X(SparseSegmentGrad) X(SparseSlice) X(SparseSoftmax) \
          X(SparseSparseExtrema) X(SparseToDense) X(Sets)

GYRE_DEFINE_FAMILY(Sparse, SPARSE_OPS)

}  // namespace gyre
