// What gathering contributes to the gradient of what was gathered from, which is input 0 of the
// node that is differentiated: a tensor, or the handle of a variable.
#pragma once

#include "ir/gradient_context.h"
#include "ops/array/rule_dims.h"

namespace gyre {

// Of a node whose output 0 is made of rows of axis 0, by index: input `indices`.
void AddGatheredRows(GradientContext& g, int indices);

// Of a node whose output 0 is rows of axis 0 that lie next to each other: `first` (an integer, or a
// vector of one) and those behind it.
void AddRowsFrom(GradientContext& g, Expr first);

// Of a node whose output 0 is made of slices along `axis`, by index. The first `batch_dims`
// dimensions are common to both; both numbers may count from the end.
void AddGatheredSlices(GradientContext& g, Expr indices, const RuleDims& index_dims, int axis,
                       int batch_dims);

// Of a node whose output 0 is made of slices that the rows of input 1 name.
void AddGatheredNd(GradientContext& g);

}  // namespace gyre
