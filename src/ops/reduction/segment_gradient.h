// Gradient rules of segment reductions, the sorted and the unsorted ones: inputs are the data, the
// ids of segments and, if they need not be sorted, the number of segments.
//
// Pure functions; any thread.
#pragma once

#include "ir/gradient_context.h"

namespace gyre {

void SegmentSumGradient(GradientContext& g);
void SegmentMeanGradient(GradientContext& g);
void SegmentProdGradient(GradientContext& g);
void SegmentExtremumGradient(GradientContext& g);  // equal extrema share the gradient

}  // namespace gyre
