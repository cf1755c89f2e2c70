#include "saved_model/save.h"

#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bundle/reader.h"
#include "bundle/region.h"
#include "bundle/slice.h"
#include "bundle/writer.h"
#include "saved_model/checkpoint_keys.h"
#include "tensor/io/file.h"
#include "tensor/io/output_file.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

using Parts = std::vector<VariableKey>;

// Puts the value of a variable that is a part of a tensor in its place there.
absl::Status Overlay(const std::string& variable, const SliceSpec& part, const Tensor& value,
                     Tensor& whole) {
  GYRE_ASSIGN_OR_RETURN(const TensorSlice slice, part.slice.Resolve(whole.shape()));
  if (part.full_shape != whole.shape() || value.shape() != slice.shape() ||
      value.dtype() != whole.dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("variable '", variable, "', ", DTypeName(value.dtype()),
                     value.shape().ToString(), ", is no slice ", slice.ToString(), " of ",
                     DTypeName(whole.dtype()), whole.shape().ToString()));
  }
  std::vector<int64_t> start;
  start.reserve(slice.extents.size());
  for (const TensorSlice::Extent& extent : slice.extents) start.push_back(extent.start);
  CopyRegion(value, std::vector<int64_t>(start.size(), 0), whole, start, slice.shape());
  return absl::OkStatus();
}

// What is to be written in place of the tensor `old`: it, as far as no variable has a value.
absl::StatusOr<Tensor> CurrentValue(Tensor old, const Parts& parts,
                                    const std::map<std::string, Tensor>& values) {
  for (const VariableKey& part : parts) {
    const auto value = values.find(part.variable);
    if (value == values.end() || !value->second.has_value()) continue;
    GYRE_ASSIGN_OR_RETURN(const std::optional<SliceSpec> slice, ParseSliceSpec(part.slice));
    if (slice) {
      GYRE_RETURN_IF_ERROR(Overlay(part.variable, *slice, value->second, old));
    } else {
      old = value->second;
    }
  }
  return old;
}

absl::StatusOr<std::map<std::string, Tensor>> ValuesOf(const Session& session) {
  std::vector<std::string> names;
  for (const Session::VariableInfo& variable : session.Variables()) names.push_back(variable.name);
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> values, session.ReadVariables(names));
  std::map<std::string, Tensor> by_name;
  for (size_t i = 0; i < names.size(); ++i) by_name.emplace(names[i], std::move(values[i]));
  return by_name;
}

absl::Status WriteCheckpoint(const ModelFiles& from, const MetaGraph& graph, const Session& session,
                             const ModelFiles& to) {
  GYRE_ASSIGN_OR_RETURN(const std::optional<BundleReader> bundle, OpenCheckpoint(from, graph));
  if (!bundle) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const Parts of_objects, KeysByObjects(graph, *bundle));
  const std::map<std::string, Parts> by_key = PartsByKey(*graph.program, of_objects);
  GYRE_ASSIGN_OR_RETURN(const auto values, ValuesOf(session));
  std::vector<BundleItem> items;
  for (const std::string& key : bundle->Names()) {
    GYRE_ASSIGN_OR_RETURN(Tensor value, bundle->Read(key));
    if (const auto it = by_key.find(key); it != by_key.end()) {
      absl::StatusOr<Tensor> current = CurrentValue(std::move(value), it->second, values);
      if (!current.ok()) return Annotate(current.status(), absl::StrCat("saving '", key, "'"));
      value = *std::move(current);
    }
    items.push_back({key, std::move(value)});
  }
  GYRE_RETURN_IF_ERROR(MakeFolder(FolderOf(to.checkpoint)));
  return WriteBundle(to.checkpoint, items);
}

absl::Status CopyAssets(const ModelFiles& from, const MetaGraph& graph, const ModelFiles& to) {
  for (const auto& [tensor, name] : graph.assets) {
    GYRE_ASSIGN_OR_RETURN(const std::string source, AssetPath(from, name));
    const fs::path target = fs::path(to.folder) / "assets" / name;
    GYRE_RETURN_IF_ERROR(MakeFolder(target.parent_path().string()));
    GYRE_ASSIGN_OR_RETURN(OutputFile copy, OutputFile::Replacing(target.string()));
    GYRE_RETURN_IF_ERROR(CopyInto(source, copy));
    GYRE_RETURN_IF_ERROR(copy.Commit());
  }
  return absl::OkStatus();
}

// All files of the model, the graph last.
absl::Status WriteModel(const ModelFiles& from, const std::vector<std::string>& tags,
                        const Session& session, const ModelFiles& to) {
  GYRE_ASSIGN_OR_RETURN(const MetaGraph graph, ReadModelGraph(from, tags));
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(from.graph));
  GYRE_RETURN_IF_ERROR(WriteCheckpoint(from, graph, session, to));
  GYRE_RETURN_IF_ERROR(CopyAssets(from, graph, to));
  return WriteFile(to.graph, {bytes});
}

}  // namespace

absl::Status SaveModel(const ModelFiles& files, const std::vector<std::string>& tags,
                       const Session& session, const std::string& path) {
  if (files.is_meta_graph) {
    const std::optional<ModelFiles> to = FindModelFiles(path);
    if (!to || !to->is_meta_graph) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model cannot be saved to ", path, ": it takes a file NAME.meta"));
    }
    return WriteModel(files, tags, session, *to);
  }
  GYRE_ASSIGN_OR_RETURN(OutputFolder folder, MakeModelFolder(path));
  const std::optional<ModelFiles> to = FindModelFiles(folder.unfinished());
  if (!to) return absl::UnavailableError(absl::StrCat(folder.unfinished(), " was removed"));
  GYRE_RETURN_IF_ERROR(WriteModel(files, tags, session, *to));
  return folder.Commit();
}

}  // namespace gyre
