#include "cli/defaults.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

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
  // Constants are left over, unless there is nothing else.
  const auto is_constant = [&](Endpoint e) {
    return program.main().node(e.node).kind() == OpKind::kConst;
  };
  if (!std::all_of(result.begin(), result.end(), is_constant)) std::erase_if(result, is_constant);
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
