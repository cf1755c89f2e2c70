#include "ops/families.h"

namespace gyre {

#define RANDOM_OPS(X)                                                                      \
  X(CandidateSampler)                                                                      \
  X(Multinomial)                                                                           \
  X(RejectionOps)                                                                          \
  X(RandomShuffle) X(RngState) X(ParameterizedNormal) X(StatefulRandom) X(StatelessRandom) \
      X(StatelessRandomBySeed) X(StatelessRandomKey)

GYRE_DEFINE_FAMILY(Random, RANDOM_OPS)

}  // namespace gyre
