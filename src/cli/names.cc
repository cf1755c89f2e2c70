#include "cli/names.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/suggest.h"

namespace gyre::cli {
namespace {

// Which nodes of the main graph have a consumer: of a value, or of any kind.
struct Uses {
  std::vector<bool> of_value;
  std::vector<bool> of_any;
};

Uses FindUses(const Function& main) {
  Uses uses{std::vector<bool>(main.nodes.size()), std::vector<bool>(main.nodes.size())};
  for (const Node& node : main.nodes) {
    for (const Endpoint& input : node.inputs) {
      uses.of_value[input.node] = uses.of_any[input.node] = true;
    }
    for (const NodeId control : node.control_inputs) uses.of_any[control] = true;
  }
  return uses;
}

}  // namespace

absl::StatusOr<NodeId> FindOp(const Program& program, absl::string_view name) {
  std::vector<std::string> names;
  for (const Node& node : program.main().nodes) {
    if (node.name == name) return node.id;
    names.push_back(node.name);
  }
  return absl::NotFoundError(
      absl::StrCat("the graph has no op '", name, "'", DidYouMean(name, names)));
}

absl::StatusOr<Endpoint> FindTensor(const Program& program, absl::string_view name) {
  absl::string_view node_name = name;
  int32_t slot = 0;
  if (const size_t colon = name.rfind(':'); colon != absl::string_view::npos) {
    node_name = name.substr(0, colon);
    if (!absl::SimpleAtoi(name.substr(colon + 1), &slot) || slot < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' is no name of a tensor, such as ", node_name, ":0"));
    }
  }
  GYRE_ASSIGN_OR_RETURN(const NodeId id, FindOp(program, node_name));
  const Node& node = program.main().node(id);
  if (node.op != nullptr && slot >= node.num_outputs()) {
    return absl::NotFoundError(node.num_outputs() == 0
                                   ? absl::StrCat("'", node_name, "' (", node.op_name,
                                                  ") has no outputs; it can only be a --target")
                                   : absl::StrCat("'", node_name, "' (", node.op_name,
                                                  ") has no output ", slot, ", its last one is ",
                                                  node.num_outputs() - 1));
  }
  return Endpoint{id, slot};
}

std::vector<NodeId> Placeholders(const Program& program) {
  std::vector<NodeId> result;
  for (const Node& node : program.main().nodes) {
    if (node.kind() == OpKind::kPlaceholder && node.inputs.empty()) result.push_back(node.id);
  }
  return result;
}

PartialShape FedShape(const Node& node) {
  if (node.kind() != OpKind::kPlaceholder) return PartialShape::Unknown();
  return node.attrs.GetOr<PartialShape>("shape", PartialShape::Unknown());
}

std::vector<Endpoint> LikelyFetches(const Program& program) {
  const Uses uses = FindUses(program.main());
  std::vector<Endpoint> result;
  for (const Node& node : program.main().nodes) {
    const bool is_input = node.inputs.empty() && node.kind() == OpKind::kPlaceholder;
    if (uses.of_value[node.id] || is_input) continue;
    for (int32_t slot = 0; slot < node.num_outputs(); ++slot) result.push_back({node.id, slot});
  }
  return result;
}

std::vector<NodeId> LikelyTargets(const Program& program) {
  const Uses uses = FindUses(program.main());
  std::vector<NodeId> result;
  for (const Node& node : program.main().nodes) {
    if (node.num_outputs() == 0 && !uses.of_any[node.id]) result.push_back(node.id);
  }
  return result;
}

std::string DescribeTensor(const Program& program, Endpoint e) {
  const Node& node = program.main().node(e.node);
  std::string text = absl::StrCat(node.name, ":", e.slot);
  if (e.slot < node.num_outputs()) {
    absl::StrAppend(&text, " ", DTypeName(node.signature.outputs[e.slot].dtype));
  }
  if (node.kind() == OpKind::kPlaceholder) {
    const PartialShape shape = FedShape(node);
    absl::StrAppend(&text, shape.has_rank() ? shape.ToString() : " of any shape");
  }
  return text;
}

}  // namespace gyre::cli
