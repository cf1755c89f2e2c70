#include "ops/families.h"

namespace gyre {

#define REDUCTION_OPS(X) \
  X(ArgExtrema)          \
  X(Cumulative)          \
  X(Extrema) X(LogicalReductions) X(Prod) X(Segments) X(SparseAdd) X(Sum) X(UnsortedSegments)

GYRE_DEFINE_FAMILY(Reduction, REDUCTION_OPS)

}  // namespace gyre
