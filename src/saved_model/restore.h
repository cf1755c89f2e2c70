// Giving a loaded model's variables the values of its checkpoint. Stateless; any thread.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "bundle/reader.h"
#include "graphdef/meta_graph.h"
#include "gyre/core/session.h"
#include "saved_model/checkpoint_keys.h"
#include "session/model_files.h"

namespace gyre {

// Restores `session`, in which `graph` runs, from its checkpoint: `of_objects` (KeysByObjects), and
// by running its restore op where that leaves variables without values. The op may read files of
// the model's folder alone. Errors name file and key, or are those of the run.
absl::Status RestoreModel(const ModelFiles& files, const MetaGraph& graph,
                          const BundleReader& bundle, const std::vector<VariableKey>& of_objects,
                          Session& session);

}  // namespace gyre
