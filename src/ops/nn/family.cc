#include "ops/families.h"

namespace gyre {

#define NN_OPS(X) X(BiasAdd) X(CrossEntropy) X(L2Loss) X(Relu) X(SmoothRectifiers) X(Softmax)

GYRE_DEFINE_FAMILY(Nn, NN_OPS)

}  // namespace gyre
