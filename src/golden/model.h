// Cases whose graph is a model: a SavedModel, or a MetaGraph with its checkpoint
// (tests/saved_models/README.md has the format). Stateless; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "golden/case.h"
#include "golden/json.h"
#include "gyre/core/saved_model.h"

namespace gyre::golden {

// Reads what only cases of models have: kind, signatures, variables. INVALID_ARGUMENT says where in
// the file the mistake is.
absl::Status ReadModel(const Json& json, Case& result);

// What a step fetches, by a signature.
absl::StatusOr<std::vector<Tensor>> RunBySignature(const Step& step, const SavedModel& model,
                                                   const RunOptions& options);

// How signatures and checkpoint differ from what is expected; nullopt when they do not.
std::optional<std::string> CheckModel(const Case& golden, const SavedModel& model);

}  // namespace gyre::golden
