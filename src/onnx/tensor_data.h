// Tensors in ONNX files. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "gyre/core/tensor.h"
#include "onnx/onnx.pb.h"

namespace gyre::onnx {

// The tensor that `proto` says. Its data may lie in a file of `folder`, the model's; nothing
// outside of it is read (PERMISSION_DENIED), and nothing at all where `folder` is empty.
// INVALID_ARGUMENT where shape and data do not agree: no more memory is taken than there are bytes.
absl::StatusOr<Tensor> ReadTensor(const wire::TensorProto& proto, const std::string& folder);

// A sparse tensor, made dense. `max_bytes` bounds what it may take up.
absl::StatusOr<Tensor> ReadSparseTensor(const wire::SparseTensorProto& proto,
                                        const std::string& folder, int64_t max_bytes);

}  // namespace gyre::onnx
