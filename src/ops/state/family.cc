#include "ops/families.h"

namespace gyre {

#define STATE_OPS(X)   \
  X(RefVariable)       \
  X(ResourceVariable)  \
  X(VariableScatter)   \
  X(VariableScatterNd) \
  X(ResourceGather)    \
  X(Captured)          \
  X(DestroyResource)   \
  X(CopyOnRead)        \
  X(Optimizer) X(Queue) X(Mutex) X(Stack) X(TensorArray) X(TensorArrayBulk) X(TensorArrayByName)

GYRE_DEFINE_FAMILY(State, STATE_OPS)

}  // namespace gyre
