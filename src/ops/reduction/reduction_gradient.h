// Pieces of gradient rules for reductions: ops whose inputs are a tensor and the axes to reduce it
// along, with the attribute `keep_dims`.
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/gradient_context.h"
#include "ops/reduction/axes.h"

namespace gyre {

// Which dimensions of input 0 are reduced, where that is known before it runs.
std::optional<ReducedDims> KnownReducedDims(const GradientContext& g);

// How many elements go into each one of the result, where that is known.
std::optional<int64_t> KnownReducedCount(const GradientContext& g);

// The axes as an int32 vector, each of [0, rank).
Expr ReducedAxes(GradientContext& g);

// `x`, a tensor of the shape of output 0, in a shape that broadcasts with input 0.
Expr AlongInput(GradientContext& g, Expr x);

// The gradient of output 0, for every element of input 0 that went into it: in the input's shape.
Expr SpreadToInput(GradientContext& g, Expr x);

}  // namespace gyre
