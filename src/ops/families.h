// The families of built-in ops: one folder, one family.cc, one function each.
#pragma once

#include "ops/registry.h"

#define GYRE_OP_FAMILIES(X)                                                                          \
  X(Control) /* Switch … NextIteration, If, Case, While, calls, arguments, constants, placeholders \
              */                                                                                     \
  X(Transfer)  /* _Send, _Recv */                                                                    \
  X(Math)      /* elementwise */                                                                     \
  X(Array)     /* shapes, slices, joins, gathers */                                                  \
  X(Reduction) /* sums, arg max, segments, running sums */                                           \
  X(Linalg)    /* matrix products, einsum, diagonals */                                              \
  X(Nn)        /* softmax, losses, rectifiers, biases */                                             \
  X(Image)     /* resizing, cropping, colors, boxes */                                               \
  X(Codec)     /* image files */                                                                     \
  X(Sequence)  /* connectionist temporal classification */                                           \
  X(Random)    /* stateful and stateless random numbers */                                           \
  X(Text)      /* strings, Print, Assert */                                                          \
  X(State)     /* variables, queues, stacks, TensorArrays, mutexes */                                \
  X(List)      /* TensorList, Optional */                                                            \
  X(Io)        /* files, checkpoints */

namespace gyre {
#define GYRE_DECLARE_FAMILY(name) void Register##name##Ops(OpRegistry& ops);
GYRE_OP_FAMILIES(GYRE_DECLARE_FAMILY)
#undef GYRE_DECLARE_FAMILY

// For a family.cc: `GYRE_OP_LIST(Array, X(Reshape) X(Squeeze) …)` declares
// RegisterReshape(OpRegistry&), … (each defined in its op's file) and defines RegisterArrayOps,
// which calls them.
#define GYRE_DECLARE_OP(name) void Register##name(OpRegistry& ops);
#define GYRE_CALL_OP(name) Register##name(ops);
#define GYRE_DEFINE_FAMILY(family, LIST) \
  LIST(GYRE_DECLARE_OP)                  \
  void Register##family##Ops(OpRegistry& ops) { LIST(GYRE_CALL_OP) }
}  // namespace gyre
