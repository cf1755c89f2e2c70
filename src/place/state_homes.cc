#include "place/state_homes.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace gyre::place {

std::string StateName(const Node& node, absl::string_view node_name) {
  const bool is_handle =
      node.num_outputs() == 1 && node.inputs.empty() &&
      (node.signature.outputs[0].is_ref || node.signature.outputs[0].dtype == DType::kResource);
  if (!is_handle) return "";
  const std::string name = node.attrs.GetOr<std::string>("shared_name", "");
  return StateName(node.attrs.GetOr<std::string>("container", ""),
                   name.empty() ? node_name : absl::string_view(name));
}

std::string StateName(absl::string_view container, absl::string_view name) {
  return absl::StrCat(container, ";", name);
}

std::map<std::string, std::string> HomesOfState(const Program& program) {
  const Function& main = program.main();
  std::map<std::string, std::string> homes;
  std::vector<std::string> states(main.nodes.size());
  for (const Node& node : main.nodes) {
    if (node.op == nullptr) continue;
    states[node.id] = StateName(node, node.name);
    if (!states[node.id].empty() && !node.device.empty())
      homes.emplace(states[node.id], node.device);
  }
  for (const Node& node : main.nodes) {
    if (node.device.empty()) continue;
    for (const Endpoint& input : node.inputs) {
      if (!states[input.node].empty()) homes.emplace(states[input.node], node.device);
    }
  }
  return homes;
}

}  // namespace gyre::place
