#include "ops/families.h"

namespace gyre {

#define SEQUENCE_OPS(X) X(CtcDecoder) X(CtcLoss)

GYRE_DEFINE_FAMILY(Sequence, SEQUENCE_OPS)

}  // namespace gyre
