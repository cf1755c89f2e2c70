// Cases whose graph is a model: a SavedModel, or a MetaGraph with its checkpoint
// (tests/saved_models/README.md has the format). Stateless; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/check/case.h"
#include "cli/check/json.h"
#include "gyre/saved_model.h"

namespace gyre::cli {

// Reads what only cases of models have: kind, signatures, variables. INVALID_ARGUMENT says where in
// the file the mistake is.
absl::Status ReadModel(const Json& json, GoldenCase& result);

// What a step fetches, by a signature.
absl::StatusOr<std::vector<Tensor>> RunSignature(const GoldenStep& step, const SavedModel& model,
                                                 const RunOptions& options);

// How signatures and checkpoint differ from what is expected; nullopt when they do not.
std::optional<std::string> CheckModel(const GoldenCase& golden, const SavedModel& model);

}  // namespace gyre::cli
