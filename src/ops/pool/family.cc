#include "ops/families.h"

namespace gyre {

#define POOL_OPS(X) X(AvgPool) X(MaxPool) X(MaxPoolGrad) X(MaxPoolArgmax) X(Dilation)

GYRE_DEFINE_FAMILY(Pool, POOL_OPS)

}  // namespace gyre
