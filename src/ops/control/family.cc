#include "ops/families.h"

namespace gyre {

#define CONTROL_OPS(X)                                                                        \
  X(Switch)                                                                                   \
  X(Merge)                                                                                    \
  X(Enter)                                                                                    \
  X(Exit)                                                                                     \
  X(NextIteration)                                                                            \
  X(LoopCond)                                                                                 \
  X(ControlTrigger) X(If) X(Case) X(While) X(For) X(ForTripCount) X(Call) X(SymbolicGradient) \
      X(Arg) X(Const) X(Identity) X(Placeholder) X(FakeParam) X(DeviceIndex) X(ListToArray)

GYRE_DEFINE_FAMILY(Control, CONTROL_OPS)

}  // namespace gyre
