// The files of public functions: each defines RegisterXFunctions, which adds its own.
#pragma once

#include "ops/functions/registry.h"

#define GYRE_FUNCTION_FAMILIES(X) \
  X(Activation)                   \
  X(Array)                        \
  X(Clipping)                     \
  X(ComplexPart)                  \
  X(CrossEntropy)                 \
  X(Filled)                       \
  X(Images)                       \
  X(Indexing)                     \
  X(Initializer)                  \
  X(Loss) X(Matrix) X(Product) X(Reduction) X(Schedule) X(Special) X(Statistics) X(Text)

namespace gyre {
#define GYRE_DECLARE_FUNCTIONS(name) void Register##name##Functions(FunctionRegistry& functions);
GYRE_FUNCTION_FAMILIES(GYRE_DECLARE_FUNCTIONS)
#undef GYRE_DECLARE_FUNCTIONS
}  // namespace gyre
