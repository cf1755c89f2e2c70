// Pieces of gradient rules for lists, and for arrays, whose gradients are lists.
//
// In such a list an element that is not initialised is zero.
#pragma once

#include "ir/gradient_context.h"

namespace gyre {

// On an OptionalFromValue or OptionalGetValue that a gradient writes: what stands behind each of
// its components, a list of texts (ops/value_kind.h).
inline constexpr absl::string_view kKindsAttr = "_gyre_kinds";

// Of a node that reads the elements `indices` (an input: a scalar or a vector) of a list or array:
// adds its gradient to theirs, in place. `list`: the input that has them as its gradient.
inline void AddToElements(GradientContext& g, int list, int indices) {
  if (!g.wants(list)) return;
  g.PutList(list, g.op("_TensorListAddAt", {g.TakeList(list), g.input(indices), g.grad()}));
}

// `list` with an element at `index` to be read as the gradient of input `value`. Elements that are
// lists in turn are not zero when they are not there: they are put there.
Expr WithElement(GradientContext& g, Expr list, Expr index, int value);

// `list` as long as the list or flow that is input `like`.
Expr ResizedLike(GradientContext& g, Expr list, int like);

// Of a node that makes `values` (an input) the elements `indices` of an array: `values` gets
// theirs.
void AddElementsOrZeros(GradientContext& g, int values, int indices);

// Of a node that makes rows of `rows` (an input) pieces of a list or array, `lengths` (an input) of
// them each: the pieces that `list` has, joined.
Expr JoinedPieces(GradientContext& g, Expr list, int rows, int lengths);

}  // namespace gyre
