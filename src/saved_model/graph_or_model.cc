#include "saved_model/graph_or_model.h"

#include "base/status.h"

namespace gyre {

absl::StatusOr<GraphOrModel> LoadGraphOrModel(const std::string& path,
                                              const SavedModelOptions& options) {
  GraphOrModel loaded;
  if (SavedModel::IsAt(path)) {
    GYRE_ASSIGN_OR_RETURN(loaded.model, SavedModel::Load(path, options));
  } else {
    GYRE_ASSIGN_OR_RETURN(loaded.graph, Session::Load(path, options.session));
  }
  return loaded;
}

}  // namespace gyre
