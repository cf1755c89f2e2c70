#include "session/names.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {

MainNames::MainNames(const Program& program) : main_(program.main()) {
  for (const Node& node : main_.nodes) ids_.emplace(node.name, node.id);
}

absl::StatusOr<Endpoint> MainNames::FindEndpoint(absl::string_view name) const {
  absl::string_view node_name = name;
  int slot = 0;
  if (const size_t colon = name.rfind(':'); colon != absl::string_view::npos) {
    if (!absl::SimpleAtoi(name.substr(colon + 1), &slot) || slot < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is no name of a tensor; write NODE:OUTPUT"));
    }
    node_name = name.substr(0, colon);
  }
  const auto it = ids_.find(node_name);
  if (it == ids_.end()) {
    return absl::NotFoundError(
        absl::StrCat("there is no node called \"", node_name, "\" in the graph"));
  }
  const Node& node = main_.node(it->second);
  if (node.op != nullptr && slot >= node.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node_name, " (", node.op_name, ") has ",
                                                   node.num_outputs(), " outputs; there is no ",
                                                   name));
  }
  return Endpoint{it->second, slot};
}

absl::StatusOr<NodeId> MainNames::FindTarget(absl::string_view name) const {
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  GYRE_ASSIGN_OR_RETURN(const Endpoint endpoint, FindEndpoint(name));
  return endpoint.node;
}

}  // namespace gyre
