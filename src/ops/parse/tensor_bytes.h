// Tensors as the bytes of a TensorProto, and back. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/kernel.h"

namespace gyre {

// UNIMPLEMENTED for types without such bytes, RESOURCE_EXHAUSTED where they do not fit the budget.
absl::StatusOr<std::string> BytesOfTensor(const KernelContext& ctx, const Tensor& tensor);

// INVALID_ARGUMENT unless the bytes are a tensor of this type.
absl::StatusOr<Tensor> TensorOfBytes(const KernelContext& ctx, absl::string_view bytes,
                                     DType dtype);

}  // namespace gyre
