#include "session/names.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/suggest.h"

namespace gyre {

absl::StatusOr<TensorName> ParseTensorName(absl::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == absl::string_view::npos) return TensorName{name};
  TensorName result{name.substr(0, colon)};
  if (absl::SimpleAtoi(name.substr(colon + 1), &result.slot) && result.slot >= 0) return result;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no name of a tensor, such as ", result.node, ":0"));
}

MainNames::MainNames(const Program& program) : main_(program.main()) {
  for (const Node& node : main_.nodes) ids_.emplace(node.name, node.id);
}

absl::StatusOr<Endpoint> MainNames::FindEndpoint(absl::string_view name) const {
  GYRE_ASSIGN_OR_RETURN(const TensorName parts, ParseTensorName(name));
  const auto it = ids_.find(parts.node);
  if (it == ids_.end()) {
    std::vector<std::string> names;
    for (const Node& node : main_.nodes) names.push_back(node.name);
    return absl::NotFoundError(
        absl::StrCat("the graph has no op '", parts.node, "'", DidYouMean(parts.node, names)));
  }
  const Node& node = main_.node(it->second);
  if (node.op == nullptr || parts.slot < node.num_outputs()) return Endpoint{node.id, parts.slot};
  const std::string title = absl::StrCat("'", parts.node, "' (", node.op_name, ")");
  if (node.num_outputs() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(title, " has no outputs; it can only be a target"));
  }
  return absl::InvalidArgumentError(absl::StrCat(title, " has no output ", parts.slot,
                                                 ", its last one is ", node.num_outputs() - 1));
}

absl::StatusOr<NodeId> MainNames::FindTarget(absl::string_view name) const {
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  GYRE_ASSIGN_OR_RETURN(const Endpoint endpoint, FindEndpoint(name));
  return endpoint.node;
}

absl::StatusOr<RunSignature> MainNames::FindSignature(
    const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
    const std::vector<std::string>& targets) const {
  RunSignature signature;
  for (const std::string& name : feeds) {
    GYRE_ASSIGN_OR_RETURN(signature.feeds.emplace_back(), FindEndpoint(name));
  }
  for (const std::string& name : fetches) {
    GYRE_ASSIGN_OR_RETURN(signature.fetches.emplace_back(), FindEndpoint(name));
  }
  for (const std::string& name : targets) {
    GYRE_ASSIGN_OR_RETURN(signature.targets.emplace_back(), FindTarget(name));
  }
  return signature;
}

std::vector<std::string> NamesOf(const Feeds& feeds) {
  std::vector<std::string> names;
  names.reserve(feeds.size());
  for (const auto& [name, value] : feeds) names.push_back(name);
  return names;
}

std::vector<Tensor> ValuesOf(const Feeds& feeds) {
  std::vector<Tensor> values;
  values.reserve(feeds.size());
  for (const auto& [name, value] : feeds) values.push_back(value.tensor());
  return values;
}

}  // namespace gyre
