// Gradients that a program brings along: those that its library names for a function, and those
// that a node names for itself.
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "grad/structured.h"
#include "ir/calls.h"

namespace gyre::grad {

absl::Status ApplyOwnGradient(GradientBody& body, const Node& node, const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const Function* gradient, body.transform().Find({name, nullptr}));
  const std::vector<Endpoint> args(node.inputs.begin() + NumSelectorInputs(node),
                                   node.inputs.end());
  BackwardNode call{.op = "PartitionedCall",
                    .attrs = {{"f", FunctionRef{name, nullptr}}},
                    .has_effects = gradient->stateful};
  for (const Endpoint& arg : args) call.inputs.push_back(body.Forward(arg));
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    const Endpoint output{node.id, slot};
    call.inputs.push_back(HasDerivative(node.signature.outputs[slot].dtype)
                              ? body.Sum(output)
                              : ZerosLike(body.Forward(output)));
  }
  for (const FunctionResult& result : gradient->results) call.types.push_back(result.dtype);
  const auto refuse = [&](const auto&... what) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "', the gradient of '", node.name, "', ", what...));
  };
  if (call.types.size() != args.size())
    return refuse("returns ", call.types.size(), " values for ", args.size(), " arguments");
  if (call.inputs.size() != gradient->args.size()) {
    return refuse("takes ", gradient->args.size(), " arguments, not the ", call.inputs.size(),
                  " that are arguments and adjoints of results");
  }
  const std::vector<Expr> outputs = AddStructured(body, call);
  for (size_t i = 0; i < args.size(); ++i) {
    if (!body.Wants(args[i])) continue;
    if (call.types[i] != body.AdjointType(args[i])) {
      return refuse("returns ", DTypeName(call.types[i]), " for argument ", i, ", which is ",
                    DTypeName(body.AdjointType(args[i])));
    }
    body.Add(args[i], outputs[i]);
  }
  return absl::OkStatus();
}

}  // namespace gyre::grad
