#include "ops/families.h"

namespace gyre {

#define ARRAY_OPS(X)                                                                             \
  X(Bitcast)                                                                                     \
  X(Concat)                                                                                      \
  X(DynamicStitch)                                                                               \
  X(Element)                                                                                     \
  X(Fill) X(Gather) X(GatherNd) X(OneHot) X(Pack) X(Pad) X(ListDiff) X(Range) X(Reshape)         \
      X(Reverse) X(Roll) X(ScatterNd) X(Shape) X(Slice) X(Split) X(StridedSlice) X(Tile) X(TopK) \
          X(Transpose) X(Unique) X(Where)

GYRE_DEFINE_FAMILY(Array, ARRAY_OPS)

}  // namespace gyre
