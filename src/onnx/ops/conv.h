// The convolution of a node's attributes (pads, strides, dilations, group), for ops that are more
// than that.
#pragma once

#include "onnx/node_context.h"

namespace gyre::onnx {

Expr Convolution(NodeContext& c, Expr x, Expr filter);

}  // namespace gyre::onnx
