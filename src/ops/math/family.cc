#include "ops/families.h"

namespace gyre {

#define MATH_OPS(X)                                                                            \
  X(AddN)                                                                                      \
  X(Arithmetic)                                                                                \
  X(Bitwise)                                                                                   \
  X(BroadcastGradientArgs)                                                                     \
  X(Cast)                                                                                      \
  X(CheckNumerics)                                                                             \
  X(Comparison)                                                                                \
  X(Complex)                                                                                   \
  X(Division) X(Exponential) X(Extremum) X(Hyperbolic) X(Logical) X(Power) X(Root) X(Rounding) \
      X(Select) X(Sign) X(ToBool) X(Trigonometry) X(UnaryGradient)

GYRE_DEFINE_FAMILY(Math, MATH_OPS)

}  // namespace gyre
