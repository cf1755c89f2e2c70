// Writing a loaded model again, with the values that its variables have now. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gyre/core/session.h"
#include "session/model_files.h"

namespace gyre {

// Writes the model that `session` runs and that was read from `files`, by its tags, to `path`, as
// SavedModel::Save. Every tensor of the checkpoint is that of the old one, but for what is a
// variable's value: where objects and the restore op name the same tensor, the objects' variable,
// since that is what signatures read.
absl::Status SaveModel(const ModelFiles& files, const std::vector<std::string>& tags,
                       const Session& session, const std::string& path);

}  // namespace gyre
