#include "ops/families.h"

namespace gyre {

#define SIGNAL_OPS(X) X(Fft) X(Rfft)

GYRE_DEFINE_FAMILY(Signal, SIGNAL_OPS)

}  // namespace gyre
