#include "ops/families.h"

namespace gyre {

#define RANKS_OPS(X)           \
  X(CollectiveAllToAllV2)      \
  X(CollectiveBarrier)         \
  X(CollectiveBroadcast)       \
  X(CollectiveCommunicator)    \
  X(CollectiveGatherV2)        \
  X(CollectiveReduceScatterV2) \
  X(CollectiveReduceV2)

GYRE_DEFINE_FAMILY(Ranks, RANKS_OPS)

}  // namespace gyre
