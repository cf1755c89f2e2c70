// Where the parts of an exported model lie: a SavedModel's folder, or a MetaGraph with its
// checkpoint beside it. Stateless; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "graphdef/meta_graph.h"
#include "tensor/io/output_folder.h"

namespace gyre {

struct ModelFiles {
  std::string folder;      // nothing outside of it is read
  std::string graph;       // saved_model.pb, or NAME.meta
  std::string checkpoint;  // its prefix, whether or not there is one
  bool is_meta_graph = false;
};

// Nullopt unless `path` is a folder or ends in .meta.
std::optional<ModelFiles> FindModelFiles(const std::string& path);

// The checkpoint's prefix; empty when there is none. An error where that cannot be told.
absl::StatusOr<std::string> CheckpointOf(const ModelFiles& files);

// Reads the graph with these tags (none: the only one; MetaGraphs have no choice). NOT_FOUND when
// the folder holds no SavedModel; errors as ReadSavedModel, with the file's name.
absl::StatusOr<MetaGraph> ReadModelGraph(const ModelFiles& files,
                                         const std::vector<std::string>& tags);

// The path of an asset file, which is there. PERMISSION_DENIED for a name that leads out of the
// model's folder of assets.
absl::StatusOr<std::string> AssetPath(const ModelFiles& files, const std::string& name);

// A SavedModel's folder, to be replaced as a whole: what of it is no part of a model is kept.
GYRE_INTERNAL_EXPORT absl::StatusOr<OutputFolder> MakeModelFolder(const std::string& path);

}  // namespace gyre
