#include "gyre/core/saved_model.h"

#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "bundle/reader.h"
#include "saved_model/checkpoint_keys.h"
#include "saved_model/held_run.h"
#include "saved_model/private_folder.h"
#include "saved_model/restore.h"
#include "saved_model/save.h"
#include "session/literal.h"
#include "session/model_files.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

// What errors say there is no memory for.
constexpr absl::string_view kThisModel = "this model";

SavedModel::Argument ToArgument(const MetaTensor& tensor) {
  return {tensor.tensor, tensor.dtype, tensor.shape, tensor.fallback};
}

SavedModel::Signature ToSignature(const MetaSignature& meta) {
  SavedModel::Signature signature{.method = meta.method};
  for (const auto& [name, tensor] : meta.inputs) signature.inputs.emplace(name, ToArgument(tensor));
  for (const auto& [name, tensor] : meta.outputs)
    signature.outputs.emplace(name, ToArgument(tensor));
  return signature;
}

absl::StatusOr<std::vector<std::string>> AssetPaths(const ModelFiles& files,
                                                    const MetaGraph& graph) {
  std::vector<std::string> paths;
  for (const auto& [tensor, name] : graph.assets) {
    GYRE_ASSIGN_OR_RETURN(std::string path, AssetPath(files, name));
    paths.push_back(std::move(path));
  }
  return paths;
}

// Runs the init op: it stores the paths of assets in variables, and fills what no checkpoint holds.
absl::Status Initialize(const ModelFiles& files, const MetaGraph& graph,
                        const std::vector<std::string>& assets, Session& session) {
  Feeds feeds;
  for (size_t i = 0; i < assets.size(); ++i)
    feeds.emplace_back(graph.assets[i].first, Tensor::Scalar(assets[i]));
  if (graph.init_op.empty()) return absl::OkStatus();
  HeldRun run;
  run.Within(files.folder);
  return Annotate(session.Run(feeds, {}, {graph.init_op}, run.options()).status(),
                  absl::StrCat("running the init op of ", files.folder));
}

// By variable, where it is in the checkpoint as a whole.
std::map<std::string, std::string> WholesOf(const Program& program,
                                            const std::vector<VariableKey>& of_objects) {
  std::map<std::string, std::string> keys;
  for (const auto& [key, parts] : PartsByKey(program, of_objects))
    if (parts[0].slice.empty()) keys.emplace(parts[0].variable, key);
  return keys;
}

std::vector<SavedModel::Variable> VariablesOf(const MetaGraph& graph, const Session& session,
                                              const std::map<std::string, std::string>& keys) {
  std::map<std::string, std::vector<std::string>> handles;
  for (const Node& node : graph.program->main().nodes) {
    const std::string name = VariableOf(node);
    if (!name.empty() && node.signature.outputs[0].dtype == DType::kResource)
      handles[name].push_back(absl::StrCat(node.name, ":0"));
  }
  std::set<std::string> fixed;
  for (const SavedObjectInfo& object : graph.objects) {
    if (object.kind == SavedObjectInfo::Kind::kVariable && !object.trainable)
      fixed.insert(object.name);
  }
  std::vector<SavedModel::Variable> variables;
  for (Session::VariableInfo& info : session.Variables()) {
    const bool trainable = !fixed.contains(info.name);
    const auto key = keys.find(info.name);
    variables.push_back({info.name, handles[info.name], info.dtype, info.shape, trainable,
                         key == keys.end() ? "" : key->second});
  }
  return variables;
}

template <typename M>
std::string NamesOf(const M& map) {
  return absl::StrJoin(map, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, "'", entry.first, "'");
  });
}

}  // namespace

struct SavedModel::State {
  // A signature, ready to run: its inputs and outputs are in the order of their names.
  using Prepared = std::shared_ptr<const Session::Callable>;

  std::unique_ptr<Session> session;
  std::map<std::string, Signature> signatures;
  std::vector<Variable> variables;
  ModelFiles files;
  std::string checkpoint, object_graph;
  std::map<int, std::string> object_tensors;
  std::vector<std::string> tags, assets;
  std::unique_ptr<PrivateFolder> folder;  // of a model from memory
  std::mutex mutex;
  std::map<std::string, Prepared> prepared;  // guarded by mutex

  static absl::StatusOr<std::unique_ptr<State>> Load(const std::string& path,
                                                     const SavedModelOptions& options);
  absl::StatusOr<Values> Run(absl::string_view name, const Inputs& inputs,
                             const RunOptions& options);
  absl::StatusOr<Prepared> Prepare(const std::string& name, const Signature& signature) {
    const std::lock_guard lock(mutex);
    if (const auto it = prepared.find(name); it != prepared.end()) return it->second;
    std::vector<std::string> feeds, fetches;
    for (const auto& [input, argument] : signature.inputs) feeds.push_back(argument.tensor);
    for (const auto& [output, argument] : signature.outputs) fetches.push_back(argument.tensor);
    GYRE_ASSIGN_OR_RETURN(Session::Callable callable, session->Prepare(feeds, fetches));
    return prepared.emplace(name, std::make_shared<const Session::Callable>(std::move(callable)))
        .first->second;
  }
};

SavedModel::SavedModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SavedModel::~SavedModel() = default;

bool SavedModel::IsAt(const std::string& path) { return FindModelFiles(path).has_value(); }

absl::StatusOr<std::unique_ptr<SavedModel>> SavedModel::Load(const std::string& path,
                                                             const SavedModelOptions& options) {
  return CatchOutOfMemory(kThisModel, [&]() -> absl::StatusOr<std::unique_ptr<SavedModel>> {
    for (;;) {
      const HeldPath folder(path);
      absl::StatusOr<std::unique_ptr<State>> state = State::Load(path, options);
      // Another model took its place meanwhile? Then what was read is of both.
      if (!folder.IsThereStill()) continue;
      GYRE_RETURN_IF_ERROR(state.status());
      return std::unique_ptr<SavedModel>(new SavedModel(*std::move(state)));
    }
  });
}

absl::StatusOr<std::unique_ptr<SavedModel>> SavedModel::LoadFromMemory(
    const std::map<std::string, std::string>& files, const SavedModelOptions& options) {
  return CatchOutOfMemory(kThisModel, [&]() -> absl::StatusOr<std::unique_ptr<SavedModel>> {
    GYRE_ASSIGN_OR_RETURN(std::unique_ptr<PrivateFolder> folder, PrivateFolder::Of(files));
    GYRE_ASSIGN_OR_RETURN(std::unique_ptr<State> state, State::Load(folder->path(), options));
    state->folder = std::move(folder);
    return std::unique_ptr<SavedModel>(new SavedModel(std::move(state)));
  });
}

absl::StatusOr<std::unique_ptr<SavedModel::State>> SavedModel::State::Load(
    const std::string& path, const SavedModelOptions& options) {
  const std::optional<ModelFiles> files = FindModelFiles(path);
  if (!files) {
    return absl::NotFoundError(absl::StrCat("there is no model at ", path,
                                            ": a folder with saved_model.pb, or a file NAME.meta"));
  }
  GYRE_ASSIGN_OR_RETURN(const MetaGraph graph, ReadModelGraph(*files, options.tags));
  auto state = std::make_unique<State>();
  GYRE_ASSIGN_OR_RETURN(state->session, Session::Create(graph.program, options.session));
  std::vector<VariableKey> of_objects;
  GYRE_ASSIGN_OR_RETURN(const std::optional<BundleReader> bundle, OpenCheckpoint(*files, graph));
  if (bundle) {
    state->checkpoint = files->checkpoint;
    GYRE_ASSIGN_OR_RETURN(of_objects, KeysByObjects(graph, *bundle));
    GYRE_RETURN_IF_ERROR(RestoreModel(*files, graph, *bundle, of_objects, *state->session));
  }
  GYRE_ASSIGN_OR_RETURN(state->assets, AssetPaths(*files, graph));
  GYRE_RETURN_IF_ERROR(Initialize(*files, graph, state->assets, *state->session));
  for (const auto& [name, signature] : graph.signatures)
    state->signatures.emplace(name, ToSignature(signature));
  std::map<std::string, std::string> keys;
  if (bundle) keys = WholesOf(*graph.program, of_objects);
  state->variables = VariablesOf(graph, *state->session, keys);
  state->tags = graph.tags;
  state->object_graph = graph.object_graph;
  GYRE_ASSIGN_OR_RETURN(const auto captured, CapturedObjects(graph));
  for (const auto& [object, value] : captured) {
    state->object_tensors[object] =
        absl::StrCat(graph.program->main().node(value.node).name, ":", value.slot);
  }
  state->files = *files;
  return state;
}

absl::StatusOr<SavedModel::Values> SavedModel::Run(absl::string_view name, const Inputs& inputs,
                                                   const RunOptions& options) const {
  return CatchOutOfMemory("this run", [&] { return state_->Run(name, inputs, options); });
}

absl::StatusOr<SavedModel::Values> SavedModel::State::Run(absl::string_view name,
                                                          const Inputs& inputs,
                                                          const RunOptions& options) {
  const auto found = signatures.find(std::string(name));
  if (found == signatures.end()) {
    return absl::NotFoundError(
        absl::StrCat("the model has no signature '", name, "'; it has ", NamesOf(signatures)));
  }
  const Signature& signature = found->second;
  for (const auto& [input, value] : inputs) {
    if (signature.inputs.contains(input)) continue;
    return absl::NotFoundError(absl::StrCat("signature '", name, "' has no input '", input,
                                            "'; it has ", NamesOf(signature.inputs)));
  }
  std::vector<Tensor> feeds;
  for (const auto& [input, argument] : signature.inputs) {
    const auto given = inputs.find(input);
    Tensor value =
        given != inputs.end() ? given->second.tensor() : argument.fallback.value_or(Tensor());
    if (!value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input, "' of signature '", name, "' is missing"));
    }
    if (given != inputs.end() && given->second.is_literal()) {
      absl::StatusOr<Tensor> converted = internal::ConvertLiteral(value, argument.dtype);
      if (!converted.ok()) {
        return Annotate(converted.status(),
                        absl::StrCat("input '", input, "' of signature '", name, "'"));
      }
      value = *std::move(converted);
    }
    if (value.dtype() != argument.dtype || !argument.shape.Allows(value.shape())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input, "' of signature '", name, "' takes ", DTypeName(argument.dtype),
          argument.shape.ToString(), ", not ", DTypeName(value.dtype()), value.shape().ToString()));
    }
    feeds.push_back(value);
  }
  GYRE_ASSIGN_OR_RETURN(const Prepared callable, Prepare(found->first, signature));
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> results, callable->Run(feeds, options));
  Values values;
  size_t next = 0;
  for (const auto& [output, argument] : signature.outputs)
    values.emplace(output, std::move(results[next++]));
  return values;
}

absl::Status SavedModel::Save(const std::string& path) const {
  return CatchOutOfMemory(
      kThisModel, [&] { return SaveModel(state_->files, state_->tags, *state_->session, path); });
}

const std::map<std::string, SavedModel::Signature>& SavedModel::signatures() const {
  return state_->signatures;
}

const std::vector<SavedModel::Variable>& SavedModel::variables() const { return state_->variables; }
Session& SavedModel::session() const { return *state_->session; }
const std::string& SavedModel::checkpoint() const { return state_->checkpoint; }
const std::string& SavedModel::object_graph() const { return state_->object_graph; }
const std::map<int, std::string>& SavedModel::object_tensors() const {
  return state_->object_tensors;
}
const std::vector<std::string>& SavedModel::tags() const { return state_->tags; }
const std::vector<std::string>& SavedModel::assets() const { return state_->assets; }

}  // namespace gyre
