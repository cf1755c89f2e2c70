// What a path leads to, loaded: a graph, or a model with its variables. Owns its session; as
// thread-safe as that.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gyre/core/saved_model.h"
#include "gyre/core/session.h"

namespace gyre {

struct GraphOrModel {
  std::unique_ptr<Session> graph;  // null when a model was loaded
  std::unique_ptr<SavedModel> model;

  Session& session() const { return model != nullptr ? model->session() : *graph; }
};

// `options.tags` say which of a model's graphs, and nothing of what is no model. Errors as
// Session::Load and SavedModel::Load.
absl::StatusOr<GraphOrModel> LoadGraphOrModel(const std::string& path,
                                              const SavedModelOptions& options);

}  // namespace gyre
