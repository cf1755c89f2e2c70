#include "ops/families.h"

namespace gyre {

#define CONV_OPS(X) X(Convolution)

GYRE_DEFINE_FAMILY(Conv, CONV_OPS)

}  // namespace gyre
