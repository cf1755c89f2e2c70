// Tensors as ONNX files hold them. Stateless; any thread.
#pragma once

#include "absl/status/status.h"
#include "gyre/core/tensor.h"
#include "onnx/onnx.pb.h"

namespace gyre::onnx {

// Type, shape and data. UNIMPLEMENTED for element types that ONNX lacks.
absl::Status WriteTensor(const Tensor& tensor, wire::TensorProto* proto);

}  // namespace gyre::onnx
