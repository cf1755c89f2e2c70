#include "ops/families.h"

namespace gyre {

#define IO_OPS(X) \
  X(ReadFile) X(WriteFile) X(RestoreV2) X(SaveV2) X(MergeV2Checkpoints) X(ShardedFilename)

GYRE_DEFINE_FAMILY(Io, IO_OPS)

}  // namespace gyre
