// The gradient rule of Einsum.
//
// Pure functions; any thread.
#pragma once

#include "ir/gradient_context.h"

namespace gyre {

void EinsumGradient(GradientContext& g);

}  // namespace gyre
