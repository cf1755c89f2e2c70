#include "ops/families.h"

namespace gyre {

#define RAGGED_OPS(X) \
  X(RaggedCross) X(RaggedGather) X(RaggedRange) X(RaggedToSparse) X(RaggedToTensor)

GYRE_DEFINE_FAMILY(Ragged, RAGGED_OPS)

}  // namespace gyre
