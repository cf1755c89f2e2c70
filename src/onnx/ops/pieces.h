// What functions for ops share. Stateless.
#pragma once

#include <optional>
#include <vector>

#include "onnx/node_context.h"

namespace gyre::onnx {

// `x` as elements of another type of ONNX, texts included.
Value ToElem(NodeContext& c, const Value& x, int elem_type);

// The shape of x, an int64 vector: a constant where it is known.
Expr DimsOf(NodeContext& c, const Expr& x);
// One of its dimensions, an int64 scalar.
Expr DimOf(NodeContext& c, const Expr& x, int axis);
// [product of the dimensions before `axis`, product of the others], an int64 vector.
Expr FlatDims(NodeContext& c, const Expr& x, int axis);
// Elements [begin, end) of a vector.
Expr Part(NodeContext& c, const Expr& vector, int64_t begin, int64_t end);

// A tensor of one element as a scalar.
Expr AsScalar(NodeContext& c, const Expr& x);
Expr AsShape(NodeContext& c, const Expr& x, const std::vector<int64_t>& dims);
// Integer scalars as a vector.
Expr Pack(NodeContext& c, const std::vector<Expr>& scalars);
// Along `axis`; of one, itself.
Expr Concat(NodeContext& c, const std::vector<Expr>& parts, int axis);

// The permutation that exchanges two axes; and a transposition, which is left out where it changes
// nothing.
std::vector<int64_t> SwapPermutation(int rank, int a, int b);
Expr Transposed(NodeContext& c, const Expr& x, const std::vector<int64_t>& permutation);
// [N, C, d…] to [N, d…, C], and back.
Expr ChannelsLast(NodeContext& c, const Expr& x);
Expr ChannelsFirst(NodeContext& c, const Expr& x);

Expr Unsqueezed(NodeContext& c, const Expr& x, int axis);
Expr Squeezed(NodeContext& c, const Expr& x, const std::vector<int64_t>& axes);
// Slices of x along `axis`, whose place the dimensions of `index` take: of a scalar, none.
Expr Taken(NodeContext& c, const Expr& x, const Expr& index, int axis);
// `vector` with `values` at `places`, of which negative ones count from its end: int64 vectors.
Expr WithElements(NodeContext& c, const Expr& vector, const Expr& places, const Expr& values);
// `x` with negative elements counted from `size` (of the same type).
Expr NonNegative(NodeContext& c, const Expr& x, const Expr& size);

// Input 1 of an op of two operands, to go with input 0, which is x. Below opset 7 the node may say
// at which axis of x it begins.
Expr SecondOperand(NodeContext& c, const Expr& x);
// y with axes of size 1 behind its own, so that it begins at `axis` of x.
Expr BeginningAt(NodeContext& c, const Expr& x, const Expr& y, int axis);

// Whether x is known to be one number, 0.
bool IsZero(NodeContext& c, const Expr& x);
// Elementwise.
Expr Less(NodeContext& c, const Expr& x, const Expr& y);
Expr And(NodeContext& c, const Expr& x, const Expr& y);
Expr Minimum(NodeContext& c, const Expr& x, const Expr& y);
Expr Maximum(NodeContext& c, const Expr& x, const Expr& y);
// 0, 1, …, count - 1, of the type of `count`.
Expr Iota(NodeContext& c, const Expr& count);
// Reductions over all of `axes`.
Expr Reduced(NodeContext& c, const char* op, const Expr& x, const std::vector<int64_t>& axes,
             bool keep_dims);
// Halves and bfloat16 as float; others as they are.
Expr Widened(const Expr& x);

}  // namespace gyre::onnx
