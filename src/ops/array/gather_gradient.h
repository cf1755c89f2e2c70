// What gathering contributes to the gradient of what was gathered from, which is input 0 of the
// node that is differentiated: a tensor, or the handle of a variable.
#pragma once

#include "ir/gradient_context.h"
#include "ir/program.h"
#include "ops/array/rule_dims.h"

namespace gyre {

// Whether a node looks up rows, or slices, of its first input by number.
bool LooksUpRows(const Node& node);

// Of a node whose output 0 is made of rows of axis 0, by index: input `indices`.
void AddGatheredRows(GradientContext& g, int indices);

// Of a node whose output 0 is rows of axis 0 that lie next to each other: `first` (an integer, or a
// vector of one) and those behind it.
void AddRowsFrom(GradientContext& g, Expr first);

// What is gathered from, seen as [batch, outer, size, …]: scalars and the vector of the rest.
struct GatheredDims {
  // Slices along `axis` are gathered; the first `batch_dims` dimensions are those of the indices.
  // Both numbers may count from the end.
  static GatheredDims Along(const RuleDims& params, int axis, int batch_dims);

  Expr batch, outer, size, inner;
};

// Of a node whose output 0 is made of slices by index, `count` of them for each of the batch.
void AddGatheredSlices(GradientContext& g, Expr indices, Expr count, const GatheredDims& dims);

// Of a node whose output 0 is made of slices that the rows of input 1 name.
void AddGatheredNd(GradientContext& g);

}  // namespace gyre
