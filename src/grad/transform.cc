#include "grad/transform.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "grad/splice.h"
#include "ir/calls.h"

namespace gyre::grad {

bool operator<(const FunctionRequest& a, const FunctionRequest& b) {
  const auto key = [](const FunctionRequest& r) {
    return std::tie(r.results, r.wanted, r.seeded, r.dense, r.arg_kinds, r.arg_types,
                    r.result_types);
  };
  return key(a) < key(b);
}

GradientTransform::GradientTransform(const Program& program, ShapeTable shapes,
                                     std::map<std::string, std::string> op_gradients)
    : program_(program),
      shapes_(std::move(shapes)),
      dependence_(program),
      kinds_(program),
      recursive_(RecursiveFunctions(program)),
      op_gradients_(std::move(op_gradients)),
      names_(program) {}

const FunctionShapes& GradientTransform::ShapesOf(const std::string& function) const {
  const FunctionShapes* shapes = shapes_.Find(function);
  return shapes == nullptr ? no_shapes_ : *shapes;
}

absl::StatusOr<const Function*> GradientTransform::Find(const FunctionRef& ref) const {
  const Function* function = program_.FindFunction(ref.name);
  if (function == nullptr)
    return absl::NotFoundError(absl::StrCat("there is no function '", ref.name, "'"));
  if (ref.attrs != nullptr && !ref.attrs->empty()) {
    return absl::UnimplementedError(
        absl::StrCat("the gradient of '", ref.name, "', a function of open types"));
  }
  return function;
}

namespace {

// The same function with its arguments in front, in their order.
Function ArgsFirst(Function function) {
  std::vector<NodeId> order = function.arg_nodes;
  for (const Node& node : function.nodes) {
    SpendWork();
    if (node.kind() != OpKind::kArg) order.push_back(node.id);
  }
  std::vector<NodeId> ids(function.nodes.size());
  std::vector<Node> nodes;
  for (const NodeId id : order) {
    ids[id] = static_cast<NodeId>(nodes.size());
    nodes.push_back(std::move(function.nodes[id]));
    nodes.back().id = ids[id];
  }
  for (Node& node : nodes) {
    for (Endpoint& e : node.inputs) e.node = ids[e.node];
    for (NodeId& control : node.control_inputs) control = ids[control];
  }
  for (NodeId& arg : function.arg_nodes) arg = ids[arg];
  for (FunctionResult& result : function.results) result.value.node = ids[result.value.node];
  for (auto& [name, id] : function.control_results) id = ids[id];
  function.nodes = std::move(nodes);
  return function;
}

}  // namespace

std::string GradientTransform::Add(Function function) {
  function = ArgsFirst(std::move(function));
  function.name = UniqueName(function.name);
  functions_.push_back(std::move(function));
  return functions_.back().name;
}

std::vector<Function> GradientTransform::TakeFunctions(const std::vector<const Function*>& roots) {
  HashMap<std::string, size_t> index;
  for (size_t i = 0; i < functions_.size(); ++i) index[functions_[i].name] = i;
  std::vector<bool> needed(functions_.size());
  std::vector<const Function*> pending = roots;
  while (!pending.empty()) {
    const Function& function = *pending.back();
    pending.pop_back();
    for (const std::string& name : NamedFunctions(function)) {
      const auto found = index.find(name);
      if (found == index.end() || needed[found->second]) continue;
      needed[found->second] = true;
      pending.push_back(&functions_[found->second]);
    }
  }
  std::vector<Function> taken;
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (needed[i]) taken.push_back(std::move(functions_[i]));
  }
  functions_.clear();
  return taken;
}

absl::StatusOr<std::shared_ptr<const FunctionGradient>> GradientTransform::Differentiate(
    const Function& function, const FunctionRequest& request) {
  std::pair<std::string, FunctionRequest> key{function.name, request};
  if (const auto found = gradients_.find(key); found != gradients_.end()) return found->second;
  CheckStack();
  GYRE_ASSIGN_OR_RETURN(FunctionGradient gradient, DifferentiateFunction(*this, function, request));
  auto shared = std::make_shared<const FunctionGradient>(std::move(gradient));
  gradients_.emplace(std::move(key), shared);
  return shared;
}

Function JoinSides(const OpLookup& ops, FunctionGradient gradient, std::string name) {
  const size_t num_given = gradient.backward.args.size() - gradient.saved.size();
  Function forward = std::move(gradient.forward);
  forward.results.clear();
  forward.name = std::move(name);
  FunctionBuilder builder(ops, std::move(forward));
  std::vector<Endpoint> values;
  for (size_t i = 0; i < num_given; ++i)
    values.push_back(builder.Arg(gradient.backward.args[i].name, gradient.backward.args[i].dtype));
  values.insert(values.end(), gradient.saved.begin(), gradient.saved.end());
  const std::vector<Endpoint> results = Splice(gradient.backward, values, builder);
  for (size_t r = 0; r < results.size(); ++r)
    builder.Return(gradient.backward.results[r].name, results[r]);
  return builder.Build();
}

}  // namespace gyre::grad
