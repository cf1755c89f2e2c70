// Values in files beside ONNX models, as its test data has them: a message for a tensor, a sequence
// or an optional. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "gyre/core/tensor.h"
#include "onnx/value_type.h"

namespace gyre {

// The value of this type that `bytes` say: a tensor, or a variant that holds some. INVALID_ARGUMENT
// for what is none.
GYRE_INTERNAL_EXPORT absl::StatusOr<Tensor> ReadOnnxValue(absl::string_view bytes,
                                                          const OnnxType& type);
// The bytes for a tensor, or a list of tensors; UNIMPLEMENTED for anything else.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::string> WriteOnnxValue(const Tensor& value);

}  // namespace gyre
