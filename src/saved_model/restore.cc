#include "saved_model/restore.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "bundle/reader.h"
#include "ops/state/resource.h"

namespace gyre {
namespace {

constexpr absl::string_view kVariableValue = "VARIABLE_VALUE";

using KeysByObject = std::vector<std::map<std::string, std::string>>;

absl::StatusOr<KeysByObject> ReadObjectKeys(const BundleReader& bundle) {
  const std::string where = absl::StrCat(IndexFile(bundle.prefix()), ": ", kObjectGraphKey);
  GYRE_ASSIGN_OR_RETURN(const Tensor objects, bundle.Read(kObjectGraphKey));
  if (objects.dtype() != DType::kString || objects.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(where, " is no scalar string"));
  }
  absl::StatusOr<KeysByObject> keys = ReadCheckpointKeys(objects.scalar<std::string>());
  if (!keys.ok()) return Annotate(keys.status(), where);
  return keys;
}

// The name of the variable whose handle a value is; empty if it is no such handle.
std::string VariableBehind(const Function& main, Endpoint e) {
  const Node* node = &main.node(e.node);
  for (size_t steps = 0; node->op_name == "Identity" && steps < main.nodes.size(); ++steps)
    node = &main.node(node->inputs[0].node);
  return VariableOf(*node);
}

// Which variable of the session gets the value of which key: what the calls of the main graph
// capture are the objects of the model, in the order of the functions' bound inputs; the checkpoint
// numbers its objects alike.
absl::StatusOr<std::map<std::string, std::string>> KeysOfVariables(const MetaGraph& graph,
                                                                   const KeysByObject& keys) {
  std::map<std::string, std::string> found;
  const Function& main = graph.program->main();
  for (const Node& node : main.nodes) {
    const FunctionRef* callee = node.attrs.Get<FunctionRef>("f");
    if (node.kind() != OpKind::kCall || callee == nullptr) continue;
    const auto bound = graph.bound_inputs.find(callee->name);
    if (bound == graph.bound_inputs.end()) continue;
    const std::vector<int>& objects = bound->second;
    if (objects.size() > node.inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", node.name, "' calls ", callee->name, " with ", node.inputs.size(),
                       " inputs, but the function captures ", objects.size(), " objects"));
    }
    const absl::Span<const Endpoint> captured =
        absl::MakeConstSpan(node.inputs).last(objects.size());
    for (size_t i = 0; i < objects.size(); ++i) {
      const size_t object = static_cast<size_t>(objects[i]);
      if (graph.objects[object].kind != SavedObjectInfo::Kind::kVariable) continue;
      const std::string variable = VariableBehind(main, captured[i]);
      if (variable.empty() || object >= keys.size()) continue;
      const auto key = keys[object].find(std::string(kVariableValue));
      if (key == keys[object].end()) continue;
      const auto [it, is_new] = found.emplace(variable, key->second);
      if (!is_new && it->second != key->second) {
        return absl::InvalidArgumentError(
            absl::StrCat("variable '", variable, "' stands for two objects: '", it->second,
                         "' and '", key->second, "' of the checkpoint"));
      }
    }
  }
  return found;
}

absl::Status RestoreByObjects(const BundleReader& bundle, const MetaGraph& graph,
                              Session& session) {
  GYRE_ASSIGN_OR_RETURN(const KeysByObject keys, ReadObjectKeys(bundle));
  GYRE_ASSIGN_OR_RETURN(const auto key_of, KeysOfVariables(graph, keys));
  std::vector<std::pair<std::string, Tensor>> values;
  for (const auto& [variable, key] : key_of) {
    GYRE_ASSIGN_OR_RETURN(Tensor value, bundle.Read(key));
    values.emplace_back(variable, std::move(value));
  }
  return session.AssignVariables(values);
}

// Whether all variables of the graph have values.
absl::StatusOr<bool> IsComplete(const Session& session) {
  std::vector<std::string> names;
  for (const Session::VariableInfo& variable : session.Variables()) names.push_back(variable.name);
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.ReadVariables(names));
  return std::all_of(values.begin(), values.end(),
                     [](const Tensor& value) { return value.has_value(); });
}

bool HasVariables(const MetaGraph& graph) {
  for (const SavedObjectInfo& object : graph.objects) {
    if (object.kind == SavedObjectInfo::Kind::kVariable) return true;
  }
  return false;
}

}  // namespace

std::string VariableOf(const Node& node) {
  if (node.op_name != "VarHandleOp") return "";
  const ResourceName where(node);
  if (where.anonymous) return "";
  return where.container.empty() ? where.name : absl::StrCat(where.container, "/", where.name);
}

absl::Status RestoreModel(const ModelFiles& files, const MetaGraph& graph, Session& session) {
  if (CheckpointOf(files).empty()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const BundleReader bundle,
                        BundleReader::Open(files.checkpoint, files.folder));
  if (HasVariables(graph) && bundle.Find(kObjectGraphKey) != nullptr) {
    GYRE_RETURN_IF_ERROR(RestoreByObjects(bundle, graph, session));
    GYRE_ASSIGN_OR_RETURN(const bool is_complete, IsComplete(session));
    if (is_complete) return absl::OkStatus();
  }
  // What is left, no signature reads; but saving the model does.
  if (graph.restore_op.empty()) return absl::OkStatus();
  const Feeds feeds = {{graph.restore_filename, Tensor::Scalar(files.checkpoint)}};
  const RunOptions options{.sandbox = files.folder};
  return Annotate(session.Run(feeds, {}, {graph.restore_op}, options).status(),
                  absl::StrCat("restoring ", files.checkpoint));
}

}  // namespace gyre
