// What a path on the command line leads to, loaded: a graph, or a model with its variables. Owns
// its session; as thread-safe as that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/saved_model.h"
#include "gyre/session.h"

namespace gyre::cli {

struct Loaded {
  std::unique_ptr<Session> graph;  // null when a model was loaded
  std::unique_ptr<SavedModel> model;

  Session& session() const { return model != nullptr ? model->session() : *graph; }
};

// `tags`: which of a model's graphs; none: the only one there is. Errors as Session::Load and
// SavedModel::Load; INVALID_ARGUMENT for tags of what is no model.
absl::StatusOr<Loaded> Load(const std::string& path, const SessionOptions& options,
                            const std::vector<std::string>& tags = {});

// OK if there is something to be loaded at `path`, a file or a model's folder; what it holds is
// another question.
absl::Status CheckIsThere(const std::string& path);

}  // namespace gyre::cli
