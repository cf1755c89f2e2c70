#include "saved_model/checkpoint_keys.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "ir/calls.h"
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

bool HasVariables(const MetaGraph& graph) {
  for (const SavedObjectInfo& object : graph.objects) {
    if (object.kind == SavedObjectInfo::Kind::kVariable) return true;
  }
  return false;
}

// What a value is handed on from by nodes that change no element of it.
Endpoint Origin(const Function& function, Endpoint e) {
  for (size_t steps = 0; steps < function.nodes.size(); ++steps) {
    const Node& node = function.node(e.node);
    if (HandsOn(node)) {
      e = node.inputs[e.slot];
    } else if (node.op != nullptr && node.op->traits.is_view) {
      e = node.inputs[0];
    } else {
      return e;
    }
  }
  return e;
}

// The strings of a constant; none if it is none.
std::vector<std::string> StringsAt(const Function& function, Endpoint e) {
  const Node& node = function.node(Origin(function, e).node);
  const Tensor* const value = node.attrs.Get<Tensor>("value");
  if (node.kind() != OpKind::kConst || value == nullptr || value->dtype() != DType::kString)
    return {};
  const absl::Span<const std::string> strings = value->values<std::string>();
  return {strings.begin(), strings.end()};
}

// Goes through a graph and the functions that it calls, with the variables that they are handed.
class RestoreOps {
 public:
  explicit RestoreOps(const Program& program) : program_(program) {}

  // `given`: by argument, the variable that it is a handle of; empty for others.
  void Visit(const Function& function, const std::vector<std::string>& given) {
    for (const Node& node : function.nodes) {
      if (node.role() == Role::kAssigns) {
        AddAssignment(function, node, given);
      } else if (node.kind() == OpKind::kCall) {
        VisitCall(function, node, given);
      }
    }
  }

  std::vector<VariableKey> Take() && { return std::move(found_); }

 private:
  void VisitCall(const Function& function, const Node& call,
                 const std::vector<std::string>& given) {
    const FunctionRef* const ref = call.attrs.Get<FunctionRef>("f");
    const Function* const callee = ref == nullptr ? nullptr : program_.FindFunction(ref->name);
    if (callee == nullptr || !visited_.insert(ref->name).second) return;
    std::vector<std::string> handed;
    handed.reserve(call.inputs.size());
    for (const Endpoint& input : call.inputs) handed.push_back(Variable(function, input, given));
    Visit(*callee, handed);
  }

  void AddAssignment(const Function& function, const Node& assign,
                     const std::vector<std::string>& given) {
    const std::string variable = Variable(function, assign.inputs[0], given);
    const Endpoint value = Origin(function, assign.inputs[1]);
    const Node& source = function.node(value.node);
    if (variable.empty() || source.role() != Role::kRestores) return;
    const std::vector<std::string> keys = StringsAt(function, source.inputs[1]);
    const std::vector<std::string> slices = StringsAt(function, source.inputs[2]);
    const auto slot = static_cast<size_t>(value.slot);
    if (slot < keys.size() && slot < slices.size())
      found_.push_back({variable, keys[slot], slices[slot]});
  }

  static std::string Variable(const Function& function, Endpoint e,
                              const std::vector<std::string>& given) {
    const Node& node = function.node(Origin(function, e).node);
    if (node.kind() != OpKind::kArg) return VariableOf(node);
    const auto index = static_cast<size_t>(node.attrs.GetOr<int64_t>("index", 0));
    return index < given.size() ? given[index] : "";
  }

  const Program& program_;
  std::set<std::string> visited_;  // functions: each restores once
  std::vector<VariableKey> found_;
};

}  // namespace

std::string VariableOf(const Node& node) {
  // Of one variable; a node that makes several names them in lists.
  if (node.op == nullptr || !node.op->traits.makes_variable || node.attrs.Has("shared_names"))
    return "";
  const ResourceName where(node);
  if (where.anonymous) return "";
  return where.container.empty() ? where.name : absl::StrCat(where.container, "/", where.name);
}

absl::StatusOr<std::optional<BundleReader>> OpenCheckpoint(const ModelFiles& files,
                                                           const MetaGraph& graph) {
  GYRE_ASSIGN_OR_RETURN(const std::string checkpoint, CheckpointOf(files));
  if (checkpoint.empty()) {
    if (!HasVariables(graph)) return std::nullopt;
    return absl::NotFoundError(
        absl::StrCat("the model has variables, but there is no ", IndexFile(files.checkpoint)));
  }
  GYRE_ASSIGN_OR_RETURN(BundleReader bundle, BundleReader::Open(files.checkpoint, files.folder));
  return bundle;
}

absl::StatusOr<std::vector<std::pair<int, Endpoint>>> CapturedObjects(const MetaGraph& graph) {
  std::vector<std::pair<int, Endpoint>> found;
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
    for (size_t i = 0; i < objects.size(); ++i)
      found.emplace_back(objects[i], Origin(main, captured[i]));
  }
  return found;
}

absl::StatusOr<std::vector<VariableKey>> KeysByObjects(const MetaGraph& graph,
                                                       const BundleReader& bundle) {
  if (!HasVariables(graph) || bundle.Find(kObjectGraphKey) == nullptr)
    return std::vector<VariableKey>();
  GYRE_ASSIGN_OR_RETURN(const KeysByObject keys, ReadObjectKeys(bundle));
  GYRE_ASSIGN_OR_RETURN(const auto captured, CapturedObjects(graph));
  std::map<std::string, std::string> found;
  for (const auto& [number, value] : captured) {
    const auto object = static_cast<size_t>(number);
    if (graph.objects[object].kind != SavedObjectInfo::Kind::kVariable) continue;
    const std::string variable = VariableOf(graph.program->main().node(value.node));
    if (variable.empty() || object >= keys.size()) continue;
    const auto key = keys[object].find(std::string(kVariableValue));
    if (key == keys[object].end()) continue;
    const auto [it, is_new] = found.emplace(variable, key->second);
    if (!is_new && it->second != key->second) {
      return absl::InvalidArgumentError(
          absl::StrCat("variable '", variable, "' stands for two objects: '", it->second, "' and '",
                       key->second, "' of the checkpoint"));
    }
  }
  std::vector<VariableKey> all;
  all.reserve(found.size());
  for (const auto& [variable, key] : found) all.push_back({variable, key});
  return all;
}

std::map<std::string, std::vector<VariableKey>> PartsByKey(
    const Program& program, const std::vector<VariableKey>& of_objects) {
  std::map<std::string, std::vector<VariableKey>> parts;
  std::set<std::string> variables, keys;
  for (const VariableKey& whole : of_objects) {
    parts[whole.key].push_back(whole);
    variables.insert(whole.variable);
    keys.insert(whole.key);
  }
  RestoreOps ops(program);
  ops.Visit(program.main(), {});
  for (const VariableKey& part : std::move(ops).Take()) {
    if (!variables.contains(part.variable) && !keys.contains(part.key))
      parts[part.key].push_back(part);
  }
  return parts;
}

}  // namespace gyre
