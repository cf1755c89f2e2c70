#include "ops/families.h"

namespace gyre {

#define PARSE_OPS(X)  \
  X(DecodeCompressed) \
  X(DecodeCsv) X(DecodeRaw) X(ParseExample) X(ParseSequenceExample) X(TensorBytes)

GYRE_DEFINE_FAMILY(Parse, PARSE_OPS)

}  // namespace gyre
