#include "ops/families.h"

namespace gyre {

#define CODEC_OPS(X) X(Decode) X(Encode)

GYRE_DEFINE_FAMILY(Codec, CODEC_OPS)

}  // namespace gyre
