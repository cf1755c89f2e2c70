// Runs of golden cases as ONNX models: what Gyre writes, read again. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "golden/case.h"
#include "gyre/core/session.h"
#include "saved_model/graph_or_model.h"

namespace gyre::golden {

// What step `number` of the case gives as a model with the values that variables have in `loaded`.
// Unless `folder` is empty the model lies there afterwards, in a folder of its own, with the step's
// values as ONNX's backend tests have them. UNIMPLEMENTED: it has no form in ONNX; the message
// begins with "no form in ONNX".
absl::StatusOr<std::vector<Tensor>> RunAsOnnx(const Case& golden, size_t number,
                                              const GraphOrModel& loaded, const RunOptions& options,
                                              const std::string& folder);

}  // namespace gyre::golden
