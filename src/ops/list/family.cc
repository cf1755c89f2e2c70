#include "ops/families.h"

namespace gyre {

#define LIST_OPS(X)                                                                    \
  X(MakeList)                                                                          \
  X(ListAccess)                                                                        \
  X(ListScatter) X(ListJoin) X(ListCombine) X(Optional) X(ListAdjoint) X(PayloadBytes) \
      X(RaggedRows)

GYRE_DEFINE_FAMILY(List, LIST_OPS)

}  // namespace gyre
