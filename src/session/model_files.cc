#include "session/model_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bundle/index.h"
#include "ops/registry.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kMetaGraph = ".meta";

}  // namespace

std::optional<ModelFiles> FindModelFiles(const std::string& path) {
  // Where that cannot be told, opening it says why.
  if (KindOf(path).value_or(PathKind::kNothing) == PathKind::kFolder) {
    const fs::path folder(path);
    return ModelFiles{path, (folder / "saved_model.pb").string(),
                      (folder / "variables" / "variables").string(), false};
  }
  if (!absl::EndsWith(path, kMetaGraph)) return std::nullopt;
  return ModelFiles{FolderOf(path), path, path.substr(0, path.size() - kMetaGraph.size()), true};
}

absl::StatusOr<std::string> CheckpointOf(const ModelFiles& files) {
  GYRE_ASSIGN_OR_RETURN(const PathKind kind, KindOf(IndexFile(files.checkpoint)));
  return kind == PathKind::kNothing ? "" : files.checkpoint;
}

absl::StatusOr<MetaGraph> ReadModelGraph(const ModelFiles& files,
                                         const std::vector<std::string>& tags) {
  GYRE_ASSIGN_OR_RETURN(const PathKind kind, KindOf(files.graph));
  if (!files.is_meta_graph && kind == PathKind::kNothing) {
    if (KindOf(files.graph + "txt").value_or(PathKind::kNothing) != PathKind::kNothing) {
      return absl::UnimplementedError(absl::StrCat(
          files.graph,
          "txt: SavedModels in text form are not read; save the model in binary form"));
    }
    return absl::NotFoundError(absl::StrCat("the folder ", files.folder,
                                            " holds no SavedModel: there is no ", files.graph));
  }
  GYRE_RETURN_IF_ERROR(CheckWithin(files.graph, files.folder));
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files.graph));
  absl::StatusOr<MetaGraph> graph =
      files.is_meta_graph ? ReadMetaGraph(bytes, Ops()) : ReadSavedModel(bytes, tags, Ops());
  if (!graph.ok()) return Annotate(graph.status(), files.graph);
  return graph;
}

absl::StatusOr<OutputFolder> MakeModelFolder(const std::string& path) {
  // The last is what makes a folder a model.
  constexpr absl::string_view kParts[] = {"variables", "assets", "fingerprint.pb",
                                          "saved_model.pbtxt", "saved_model.pb"};
  return OutputFolder::Replacing(path, kParts);
}

absl::StatusOr<std::string> AssetPath(const ModelFiles& files, const std::string& name) {
  const fs::path relative(name);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (name.empty() || name.find('\0') != std::string::npos || relative.is_absolute() || climbs) {
    return absl::PermissionDeniedError(
        absl::StrCat(files.graph, ": the asset '", name,
                     "' does not lie in the model's folder of assets: it is not read"));
  }
  const fs::path folder = fs::path(files.folder) / "assets";
  const std::string path = (folder / relative).string();
  GYRE_RETURN_IF_ERROR(CheckWithin(path, files.folder));
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace gyre
