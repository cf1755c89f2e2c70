#include "ops/families.h"

namespace gyre {

#define NN_OPS(X)                                                                  \
  X(BiasAdd)                                                                       \
  X(ClipByValue) X(CrossEntropy) X(FusedBatchNorm) X(FusedBatchNormGrad) X(L2Loss) \
      X(LocalResponse) X(Relu) X(SmoothRectifiers) X(Softmax) X(SpaceToBatch) X(SpaceToDepth)

GYRE_DEFINE_FAMILY(Nn, NN_OPS)

}  // namespace gyre
