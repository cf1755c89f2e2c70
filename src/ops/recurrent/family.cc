#include "ops/families.h"

namespace gyre {

#define RECURRENT_OPS(X) X(LstmCell) X(BlockLstm) X(GruCell)

GYRE_DEFINE_FAMILY(Recurrent, RECURRENT_OPS)

}  // namespace gyre
