// Sums of products of matrices, which the gradients of weights are: a product is added to the sum
// so far in place, rather than made and added. Stateless.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/builder.h"

namespace gyre::grad {

// Whether `value` is the product of two matrices (MatMul), which one of the function's `results` is
// and nothing else uses.
bool IsProductForOne(Endpoint value, absl::Span<const Endpoint> results, const Function& function);

// Makes the MatMul node `product` add to `sum`, an earlier value, and be what comes out.
absl::Status AddProductTo(Endpoint sum, NodeId product, FunctionBuilder& builder);

}  // namespace gyre::grad
