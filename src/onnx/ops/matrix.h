// The product of two tensors, as numpy's matmul has it.
#pragma once

#include "onnx/node_context.h"

namespace gyre::onnx {

Expr Product(NodeContext& c, Expr x, Expr y);

}  // namespace gyre::onnx
