#include "ops/families.h"

namespace gyre {

#define QUANTIZATION_OPS(X) X(FakeQuant) X(Quantize) X(QuantizeAndDequantize)

GYRE_DEFINE_FAMILY(Quantize, QUANTIZATION_OPS)

}  // namespace gyre
