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
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path folder(path);
    return ModelFiles{path, (folder / "saved_model.pb").string(),
                      (folder / "variables" / "variables").string(), false};
  }
  if (!absl::EndsWith(path, kMetaGraph)) return std::nullopt;
  const std::string folder = fs::path(path).parent_path().string();
  return ModelFiles{folder.empty() ? "." : folder, path,
                    path.substr(0, path.size() - kMetaGraph.size()), true};
}

std::string CheckpointOf(const ModelFiles& files) {
  std::error_code ignored;
  return fs::exists(IndexFile(files.checkpoint), ignored) ? files.checkpoint : "";
}

absl::StatusOr<MetaGraph> ReadModelGraph(const ModelFiles& files,
                                         const std::vector<std::string>& tags) {
  std::error_code ignored;
  if (!files.is_meta_graph && !fs::exists(files.graph, ignored)) {
    if (fs::exists(files.graph + "txt", ignored)) {
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
