// What `gyre show` says of a model. Stateless; any thread.
#pragma once

#include <ostream>

#include "absl/status/status.h"
#include "graphdef/meta_graph.h"
#include "session/model_files.h"

namespace gyre::cli {

// Signatures with the types and shapes of what goes in and comes out, variables, assets, functions,
// and what the checkpoint holds. Errors: those of reading the checkpoint's index.
absl::Status PrintModel(const ModelFiles& files, const MetaGraph& graph, std::ostream& out);

}  // namespace gyre::cli
