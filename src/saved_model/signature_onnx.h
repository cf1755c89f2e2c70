// Signatures of models as models of ONNX. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "gyre/core/saved_model.h"
#include "session/onnx/onnx_file.h"

namespace gyre {

// A signature with its own names, and the values that variables have now. NOT_FOUND: there is none
// of this name.
absl::StatusOr<OnnxSource> SourceOf(const SavedModel& model, const std::string& signature);

}  // namespace gyre
