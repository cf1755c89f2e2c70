// Pieces of gradient rules for lists, and for arrays, whose gradients are lists.
//
// In such a list an element that is not initialised is zero.
#pragma once

#include "ir/gradient_context.h"

namespace gyre {

// Of a node that reads the elements `indices` (an input: a scalar or a vector) of a list or array:
// adds its gradient to theirs, in place. `list`: the input that has them as its gradient.
inline void AddToElements(GradientContext& g, int list, int indices) {
  if (!g.wants(list)) return;
  g.PutList(list, g.op("_TensorListAddAt", {g.TakeList(list), g.input(indices), g.grad()}));
}

// Of a node that makes `values` (an input) the elements `indices` of an array: `values` gets
// theirs.
inline void AddElementsOrZeros(GradientContext& g, int values, int indices) {
  if (!g.wants(values)) return;
  g.Add(values, g.op("_TensorListItemsOrZeros", {g.grad(), g.input(indices), g.input_dims(values)},
                     {{"T", g.input_dtype(values)}}));
}

// Of a node that makes rows of `rows` (an input) pieces of a list or array, `lengths` (an input) of
// them each: the pieces that `list` has, joined.
Expr JoinedPieces(GradientContext& g, Expr list, int rows, int lengths);

}  // namespace gyre
