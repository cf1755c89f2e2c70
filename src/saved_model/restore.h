// Giving a loaded model's variables the values of its checkpoint. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "graphdef/meta_graph.h"
#include "gyre/core/session.h"
#include "session/model_files.h"

namespace gyre {

// Restores `session`, in which `graph` runs, from the checkpoint if there is one: through the
// object graphs where the model has objects, and by running its restore op where that leaves
// variables without values. The op may read files of the model's folder alone. Errors name file and
// key, or are those of the run.
absl::Status RestoreModel(const ModelFiles& files, const MetaGraph& graph, Session& session);

}  // namespace gyre
