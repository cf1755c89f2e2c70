// The families of built-in ops: one folder, one family.cc, one function each.
#pragma once

#include "ops/registry.h"

#define GYRE_OP_FAMILIES(X)                                                                          \
  X(Control) /* Switch … NextIteration, If, Case, While, calls, arguments, constants, placeholders \
              */                                                                                     \
  X(Transfer)  /* _Send, _Recv */                                                                    \
  X(Ranks)     /* collectives */                                                                     \
  X(Math)      /* elementwise */                                                                     \
  X(Array)     /* shapes, slices, joins, gathers */                                                  \
  X(Reduction) /* sums, arg max, segments, running sums */                                           \
  X(Linalg)    /* matrix products, decompositions, einsum, diagonals */                              \
  X(Special)   /* gamma, beta, Bessel functions and their kin */                                     \
  X(Signal)    /* Fourier transforms */                                                              \
  X(Nn)        /* softmax, losses, rectifiers, biases */                                             \
  X(Conv)      /* convolutions */                                                                    \
  X(Pool)      /* the largest, or the mean, of what windows meet */                                  \
  X(Quantize)  /* numbers on a grid, and integers for them */                                        \
  X(Image)     /* resizing, cropping, colors, boxes */                                               \
  X(Codec)     /* image files */                                                                     \
  X(Sequence)  /* connectionist temporal classification */                                           \
  X(Recurrent) /* cells of recurrent networks, and whole sequences of them */                        \
  X(Random)    /* stateful and stateless random numbers */                                           \
  X(Text)      /* strings, Print, Assert */                                                          \
  X(State)     /* variables, queues, stacks, TensorArrays, mutexes */                                \
  X(List)      /* TensorList, Optional */                                                            \
  X(Lookup)    /* tables of keys and values */                                                       \
  X(Sparse)    /* sparse tensors */                                                                  \
  X(Ragged)    /* ragged tensors */                                                                  \
  X(Search)    /* counting, sorting in, finding, comparing sequences */                              \
  X(Parse)     /* examples, records and numbers out of bytes */                                      \
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
