#include "analysis/pass_through.h"

namespace gyre {

Endpoint PastIdentities(const Function& function, Endpoint value) {
  while (function.node(value.node).kind() == OpKind::kIdentity)
    value = function.node(value.node).inputs[0];
  return value;
}

int ArgumentOf(const Function& function, Endpoint value) {
  const Node& node = function.node(PastIdentities(function, value).node);
  if (node.kind() != OpKind::kArg) return -1;
  const int64_t index = node.attrs.GetOr<int64_t>("index", -1);
  return index >= 0 && index < static_cast<int64_t>(function.args.size()) ? static_cast<int>(index)
                                                                          : -1;
}

std::vector<bool> InvariantVariables(const Function& body, int num_counters) {
  std::vector<bool> invariant;
  for (size_t i = 0; i < body.results.size(); ++i) {
    invariant.push_back(ArgumentOf(body, body.results[i].value) ==
                        static_cast<int>(i) + num_counters);
  }
  return invariant;
}

}  // namespace gyre
