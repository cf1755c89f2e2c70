#include "ops/families.h"

namespace gyre {

#define LOOKUP_OPS(X) X(FillFromFile) X(MakeTable) X(UseTable)

GYRE_DEFINE_FAMILY(Lookup, LOOKUP_OPS)

}  // namespace gyre
