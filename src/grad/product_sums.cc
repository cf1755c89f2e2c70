#include "grad/product_sums.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace gyre::grad {

bool IsProductForOne(Endpoint value, absl::Span<const Endpoint> results, const Function& function) {
  if (function.node(value.node).role() != Role::kMatrixProduct) return false;
  int64_t uses = std::count(results.begin(), results.end(), value);
  for (const Node& node : function.nodes)
    uses += std::count(node.inputs.begin(), node.inputs.end(), value);
  return uses == 1;
}

absl::Status AddProductTo(Endpoint sum, NodeId product, FunctionBuilder& builder) {
  const Node& node = builder.node(product);
  FunctionBuilder::NodeOptions options;
  options.control_inputs = node.control_inputs;
  options.device = node.device;
  options.source = node.source;
  AttrMap turns;
  for (const char* name : {"transpose_a", "transpose_b"})
    turns.Set(name, node.attrs.GetOr<bool>(name, false));
  GYRE_ASSIGN_OR_RETURN(Node in_place,
                        builder.Make("_MatMulAdd", {node.inputs[0], node.inputs[1], sum},
                                     std::move(turns), std::move(options)));
  builder.Replace(product, std::move(in_place));
  return absl::OkStatus();
}

}  // namespace gyre::grad
