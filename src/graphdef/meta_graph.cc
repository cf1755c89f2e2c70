#include "graphdef/meta_graph.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "google/protobuf/arena.h"
#include "graphdef/import.h"
#include "graphdef/tensor_proto.h"
#include "graphdef/wire_format.h"
#include "wire/parse.h"
#include "wire/saved_model.pb.h"

namespace gyre {
namespace {

constexpr absl::string_view kInitSignature = "__saved_model_init_op";
// Collections that name the op to run after restoring, the newer first.
constexpr absl::string_view kInitCollections[] = {"saved_model_main_op", "legacy_init_op"};
constexpr int64_t kSchemaVersion = 1;
constexpr int64_t kMaxDefaultBytes = int64_t{1} << 28;  // of values given for a signature's inputs

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not ", what, ": the bytes are malformed"));
}

template <typename M>
absl::StatusOr<const M*> Parse(absl::string_view bytes, absl::string_view what,
                               google::protobuf::Arena* arena) {
  const M* message = ParseMessage<M>(bytes, arena);
  if (message == nullptr) return Malformed(what);
  return message;
}

// A MetaGraphDef without its graph, whose bytes are read only if it is chosen.
struct MetaGraphParts {
  const wire::MetaGraphDef* def = nullptr;
  std::vector<absl::string_view> graph;  // in pieces, which together are one message
};

absl::StatusOr<MetaGraphParts> ParseMetaGraph(absl::string_view bytes,
                                              google::protobuf::Arena* arena) {
  constexpr absl::string_view kWhat = "a MetaGraph";
  std::optional<SplitMessage> split = SplitField(bytes, wire::MetaGraphDef::kGraphDefFieldNumber);
  if (!split) return Malformed(kWhat);
  GYRE_ASSIGN_OR_RETURN(const auto* def, Parse<wire::MetaGraphDef>(split->rest, kWhat, arena));
  return MetaGraphParts{def, std::move(split->field)};
}

absl::StatusOr<MetaTensor> ReadTensorInfo(const wire::TensorInfo& info) {
  if (info.name().empty()) {
    return absl::UnimplementedError(
        "it is no plain tensor but a composite (sparse or ragged) one, which Gyre does not read");
  }
  MetaTensor tensor{.tensor = info.name()};
  GYRE_ASSIGN_OR_RETURN(tensor.dtype,
                        DecodeDType(info.dtype() > 100 ? info.dtype() - 100 : info.dtype()));
  GYRE_ASSIGN_OR_RETURN(tensor.shape, DecodeShape(info.tensor_shape()));
  return tensor;
}

absl::StatusOr<MetaSignature> ReadSignature(const wire::SignatureDef& def) {
  MetaSignature signature{.method = def.method_name()};
  for (const auto& [name, info] : def.inputs()) {
    absl::StatusOr<MetaTensor> tensor = ReadTensorInfo(info);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input '", name, "'"));
    signature.inputs.emplace(name, *std::move(tensor));
  }
  for (const auto& [name, info] : def.outputs()) {
    absl::StatusOr<MetaTensor> tensor = ReadTensorInfo(info);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("output '", name, "'"));
    signature.outputs.emplace(name, *std::move(tensor));
  }
  DecodeLimits limits{kMaxDefaultBytes};
  for (const auto& [name, value] : def.defaults()) {
    const auto input = signature.inputs.find(name);
    if (input == signature.inputs.end()) continue;
    absl::StatusOr<Tensor> tensor = DecodeTensor(value, limits);
    if (!tensor.ok())
      return Annotate(tensor.status(), absl::StrCat("the default of input '", name, "'"));
    input->second.fallback = *std::move(tensor);
  }
  return signature;
}

absl::Status ReadSignatures(const wire::MetaGraphDef& def, MetaGraph& graph) {
  for (const auto& [name, signature] : def.signature_def()) {
    if (name == kInitSignature) {
      const auto it = signature.outputs().find(std::string(kInitSignature));
      if (it != signature.outputs().end()) graph.init_op = it->second.name();
      continue;
    }
    absl::StatusOr<MetaSignature> read = ReadSignature(signature);
    if (!read.ok()) return Annotate(read.status(), absl::StrCat("signature '", name, "'"));
    graph.signatures.emplace(name, *std::move(read));
  }
  for (const absl::string_view name : kInitCollections) {
    const auto it = def.collection_def().find(std::string(name));
    if (!graph.init_op.empty() || it == def.collection_def().end()) continue;
    if (it->second.node_list().value_size() > 0) graph.init_op = it->second.node_list().value(0);
  }
  return absl::OkStatus();
}

absl::Status ReadVariable(const wire::SavedVariable& variable, SavedObjectInfo& info) {
  info.kind = SavedObjectInfo::Kind::kVariable;
  info.name = variable.name();
  info.trainable = variable.trainable();
  GYRE_ASSIGN_OR_RETURN(info.dtype, DecodeDType(variable.dtype()));
  GYRE_ASSIGN_OR_RETURN(info.shape, DecodeShape(variable.shape()));
  return absl::OkStatus();
}

absl::StatusOr<SavedObjectInfo> ReadObject(const wire::SavedObject& object, int num_objects) {
  SavedObjectInfo info;
  for (const auto& child : object.children()) {
    if (child.node_id() < 0 || child.node_id() >= num_objects) {
      return absl::InvalidArgumentError(absl::StrCat(
          "its child '", child.local_name(), "' is object ", child.node_id(), " of ", num_objects));
    }
    info.children.emplace(child.local_name(), child.node_id());
  }
  switch (object.kind_case()) {
    case wire::SavedObject::kUserObject:
      info.kind = SavedObjectInfo::Kind::kUserObject;
      info.name = object.user_object().identifier();
      break;
    case wire::SavedObject::kAsset:
      info.kind = SavedObjectInfo::Kind::kAsset;
      break;
    case wire::SavedObject::kFunction:
      info.kind = SavedObjectInfo::Kind::kFunction;
      info.concrete_functions = {object.function().concrete_functions().begin(),
                                 object.function().concrete_functions().end()};
      break;
    case wire::SavedObject::kBareConcreteFunction:
      info.kind = SavedObjectInfo::Kind::kFunction;
      info.concrete_functions = {object.bare_concrete_function().concrete_function_name()};
      break;
    case wire::SavedObject::kVariable:
      GYRE_RETURN_IF_ERROR(ReadVariable(object.variable(), info));
      break;
    default:
      break;
  }
  return info;
}

absl::Status ReadObjects(const wire::SavedObjectGraph& def, MetaGraph& graph) {
  for (const wire::SavedObject& object : def.nodes()) {
    absl::StatusOr<SavedObjectInfo> info = ReadObject(object, def.nodes_size());
    if (!info.ok()) return Annotate(info.status(), absl::StrCat("object ", graph.objects.size()));
    graph.objects.push_back(*std::move(info));
  }
  for (const auto& [name, function] : def.concrete_functions()) {
    for (const int id : function.bound_inputs()) {
      if (id < 0 || id >= def.nodes_size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("function ", name, " captures object ", id, " of ", def.nodes_size()));
      }
    }
    graph.bound_inputs.emplace(
        name, std::vector<int>(function.bound_inputs().begin(), function.bound_inputs().end()));
  }
  return absl::OkStatus();
}

absl::StatusOr<MetaGraph> Read(const MetaGraphParts& parts, const OpLookup& ops) {
  const wire::MetaGraphDef& def = *parts.def;
  MetaGraph graph;
  graph.tags = {def.meta_info_def().tags().begin(), def.meta_info_def().tags().end()};
  graph.writer = def.meta_info_def().tensorflow_version();
  ImportOptions options;
  options.format = GraphFormat::kBinary;
  const bool is_whole = parts.graph.size() == 1;
  const std::string joined = is_whole ? std::string() : absl::StrJoin(parts.graph, "");
  GYRE_ASSIGN_OR_RETURN(graph.program,
                        ImportGraphDef(is_whole ? parts.graph[0] : joined, ops, options));
  GYRE_RETURN_IF_ERROR(ReadSignatures(def, graph));
  for (const wire::AssetFileDef& asset : def.asset_file_def())
    graph.assets.emplace_back(asset.tensor_info().name(), asset.filename());
  graph.restore_filename = def.saver_def().filename_tensor_name();
  graph.restore_op = def.saver_def().restore_op_name();
  GYRE_RETURN_IF_ERROR(ReadObjects(def.object_graph_def(), graph));
  if (def.object_graph_def().nodes_size() > 0)
    graph.object_graph = def.object_graph_def().SerializeAsString();
  return graph;
}

std::string TagsText(const wire::MetaGraphDef& def) {
  return absl::StrCat("[", absl::StrJoin(def.meta_info_def().tags(), ", "), "]");
}

bool HasTags(const wire::MetaGraphDef& def, const std::vector<std::string>& tags) {
  const auto& there = def.meta_info_def().tags();
  return std::set<std::string>(there.begin(), there.end()) ==
         std::set<std::string>(tags.begin(), tags.end());
}

}  // namespace

absl::StatusOr<MetaGraph> ReadSavedModel(absl::string_view bytes,
                                         const std::vector<std::string>& tags,
                                         const OpLookup& ops) {
  google::protobuf::Arena arena;
  constexpr absl::string_view kWhat = "a SavedModel";
  const std::optional<SplitMessage> split =
      SplitField(bytes, wire::SavedModel::kMetaGraphsFieldNumber);
  if (!split) return Malformed(kWhat);
  GYRE_ASSIGN_OR_RETURN(const auto* model, Parse<wire::SavedModel>(split->rest, kWhat, &arena));
  if (model->saved_model_schema_version() != kSchemaVersion) {
    return absl::InvalidArgumentError(absl::StrCat("a SavedModel of version ",
                                                   model->saved_model_schema_version(),
                                                   ": Gyre reads version ", kSchemaVersion));
  }
  std::vector<std::string> there;
  std::optional<MetaGraphParts> chosen;
  for (const absl::string_view bytes_of_graph : split->field) {
    GYRE_ASSIGN_OR_RETURN(MetaGraphParts parts, ParseMetaGraph(bytes_of_graph, &arena));
    there.push_back(TagsText(*parts.def));
    const bool is_only = tags.empty() && split->field.size() == 1;
    if (!chosen && (is_only || (!tags.empty() && HasTags(*parts.def, tags))))
      chosen = std::move(parts);
  }
  if (chosen) return Read(*chosen, ops);
  return absl::NotFoundError(absl::StrCat(
      tags.empty()
          ? "the model holds not one graph; choose one by its tags"
          : absl::StrCat("the model has no graph with the tags [", absl::StrJoin(tags, ", "), "]"),
      there.empty() ? ": it has none" : ": there is ", absl::StrJoin(there, " and ")));
}

absl::StatusOr<MetaGraph> ReadMetaGraph(absl::string_view bytes, const OpLookup& ops) {
  google::protobuf::Arena arena;
  GYRE_ASSIGN_OR_RETURN(const MetaGraphParts parts, ParseMetaGraph(bytes, &arena));
  return Read(parts, ops);
}

absl::StatusOr<std::vector<std::map<std::string, std::string>>> ReadCheckpointKeys(
    absl::string_view bytes) {
  google::protobuf::Arena arena;
  GYRE_ASSIGN_OR_RETURN(const auto* def, Parse<wire::TrackableObjectGraph>(
                                             bytes, "the object graph of a checkpoint", &arena));
  std::vector<std::map<std::string, std::string>> keys;
  for (const auto& node : def->nodes()) {
    keys.emplace_back();
    for (const auto& attribute : node.attributes())
      keys.back().emplace(attribute.name(), attribute.checkpoint_key());
  }
  return keys;
}

}  // namespace gyre
