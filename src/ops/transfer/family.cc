#include "ops/families.h"

namespace gyre {

#define TRANSFER_OPS(X) X(SendRecv)

GYRE_DEFINE_FAMILY(Transfer, TRANSFER_OPS)

}  // namespace gyre
