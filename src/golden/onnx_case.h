// Cases as ONNX's own backend tests have them: a folder with model.onnx, and folders
// test_data_set_N with input_I.pb and output_I.pb. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "golden/case.h"

namespace gyre::golden {

// Whether `folder` holds such a case.
bool IsOnnxCase(const std::string& folder);

// A step for each set of data, compared within the tolerance that ONNX's tests have by default. The
// group is the folder that the case lies in, the name that of the case without "test_".
absl::StatusOr<Case> ReadOnnxCase(const std::string& folder);

}  // namespace gyre::golden
