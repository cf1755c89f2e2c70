#include "grad/symbolic_gradient.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/call_graph.h"
#include "base/status.h"
#include "base/work.h"
#include "grad/stacks/to_lists.h"
#include "grad/transform.h"
#include "ir/calls.h"
#include "ir/expr.h"

namespace gyre {
namespace {

using grad::FunctionGradient;
using grad::FunctionRequest;
using grad::GradientTransform;
using grad::HasDerivative;
using grad::NumResults;

bool IsSymbolic(const Node& node) { return node.kind() == OpKind::kSymbolicGradient; }

bool HasSymbolic(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), IsSymbolic);
}

// By name, "" for the main graph: functions that hold such a node.
std::set<std::string> Holders(const Program& program) {
  std::set<std::string> holders;
  if (HasSymbolic(program.main())) holders.insert("");
  for (const auto& [name, function] : program.functions()) {
    if (HasSymbolic(*function)) holders.insert(name);
  }
  return holders;
}

// Of the node's function, or of the op that it names instead.
absl::StatusOr<Function> FunctionOf(const Program& program, const Node& node) {
  const FunctionRef* ref = node.attrs.Get<FunctionRef>("f");
  if (ref == nullptr) return absl::InvalidArgumentError("it names no function");
  if (const Function* function = program.FindFunction(ref->name)) return *function;
  const size_t num_args = node.signature.outputs.size();
  FunctionBuilder builder(program.ops(), ref->name);
  std::vector<Endpoint> args;
  for (size_t i = 0; i < num_args; ++i)
    args.push_back(builder.Arg(absl::StrCat("x", i), node.signature.outputs[i].dtype));
  GYRE_ASSIGN_OR_RETURN(const NodeId op,
                        builder.Add(ref->name, args, ref->attrs ? *ref->attrs : AttrMap()));
  for (int slot = 0; slot < builder.node(op).num_outputs(); ++slot)
    builder.Return(absl::StrCat("y", slot), {op, slot});
  return builder.Build();
}

FunctionRequest RequestAll(const Function& function) {
  FunctionRequest request;
  for (const FunctionArg& arg : function.args) {
    request.wanted.push_back(HasDerivative(arg.dtype) && arg.dtype != DType::kResource &&
                             arg.dtype != DType::kVariant);
    request.arg_types.push_back(arg.dtype);
  }
  for (const FunctionResult& result : function.results) {
    request.results.push_back(HasDerivative(result.dtype));
    request.result_types.push_back(result.dtype);
  }
  request.dense = request.wanted;
  request.seeded.resize(function.args.size());
  request.arg_kinds.resize(function.args.size());
  return request;
}

// gradient(arguments, adjoints of results) -> adjoints of arguments
absl::StatusOr<Function> GradientFunction(GradientTransform& transform, const Function& function) {
  const FunctionRequest request = RequestAll(function);
  GYRE_ASSIGN_OR_RETURN(FunctionGradient gradient,
                        DifferentiateFunction(transform, function, request));
  const std::string joined = transform.Add(
      JoinSides(transform.ops(), std::move(gradient), absl::StrCat(function.name, "_gradient")));
  // The same with all arguments and results.
  FunctionBuilder builder(transform.ops(), absl::StrCat(function.name, "_symbolic_gradient"));
  ExprBuilder exprs(builder);
  std::vector<Expr> inputs;
  std::vector<DType> types;
  for (size_t i = 0; i < function.args.size(); ++i) {
    inputs.push_back(exprs.At(builder.Arg(function.args[i].name, function.args[i].dtype)));
    if (request.wanted[i]) types.push_back(function.args[i].dtype);
  }
  const std::vector<Expr> args = inputs;
  for (size_t r = 0; r < function.results.size(); ++r) {
    const FunctionResult& result = function.results[r];
    const Expr adjoint = exprs.At(builder.Arg(absl::StrCat("d_", result.name), result.dtype));
    if (request.results[r]) inputs.push_back(adjoint);
  }
  const std::vector<Expr> gradients = exprs.Ops(
      function.stateful ? "StatefulPartitionedCall" : "PartitionedCall", inputs,
      {{"f", FunctionRef{joined, nullptr}}, {"Tout", types}}, static_cast<int>(types.size()) + 1);
  size_t next = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const Expr result = request.wanted[i] ? gradients[next++] : ZerosLike(args[i]);
    GYRE_RETURN_IF_ERROR(exprs.status());
    builder.Return(absl::StrCat("d_", function.args[i].name), result.endpoint());
  }
  return builder.Build();
}

// The derivatives that such nodes ask for.
std::vector<grad::Asked> AskedOf(const Program& program) {
  std::set<std::string> functions;
  const auto look = [&](const Function& function) {
    for (const Node& node : function.nodes) {
      SpendWork();
      const FunctionRef* ref = IsSymbolic(node) ? node.attrs.Get<FunctionRef>("f") : nullptr;
      if (ref != nullptr && !program.gradient_functions().contains(ref->name))
        functions.insert(ref->name);
    }
  };
  look(program.main());
  for (const auto& [name, function] : program.functions()) look(*function);
  std::vector<grad::Asked> asked;
  for (const std::string& name : functions) {
    const Function* function = program.FindFunction(name);
    if (function == nullptr) continue;
    grad::Asked& all = asked.emplace_back();
    all.function = name;
    for (const FunctionResult& result : function->results) all.ys.push_back(result.value);
    for (const NodeId arg : function->arg_nodes) all.xs.push_back({arg, 0});
  }
  return asked;
}

// Writes calls in place of the nodes of one program whose own functions have none left.
class Expansion {
 public:
  explicit Expansion(const Program& program)
      : program_(program),
        transform_(program, ShapesOf(program)),
        holders_(Holders(program)),
        reaching_(CallGraph(program).Reaching(holders_)) {}

  absl::StatusOr<std::shared_ptr<const Program>> Run() {
    std::vector<Function> expanded;
    for (const std::string& holder : holders_) {
      const Function& function = holder.empty() ? program_.main() : *program_.FindFunction(holder);
      GYRE_ASSIGN_OR_RETURN(expanded.emplace_back(), Expand(function));
    }
    if (!changed_) return NoneReady();
    std::vector<const Function*> roots;
    for (const Function& function : expanded) roots.push_back(&function);
    ProgramBuilder builder(program_);
    for (Function& function : transform_.TakeFunctions(roots))
      builder.SetFunction(std::move(function));
    auto holder = holders_.begin();
    for (Function& function : expanded) {
      if ((holder++)->empty()) {
        builder.SetMain(std::move(function));
      } else {
        builder.SetFunction(std::move(function));
      }
    }
    return builder.Build();
  }

 private:
  static ShapeTable ShapesOf(const Program& program) {
    absl::StatusOr<ShapeTable> shapes = InferShapes(program);
    return shapes.ok() ? *std::move(shapes) : ShapeTable();
  }

  absl::StatusOr<Function> Expand(const Function& function) {
    FunctionBuilder builder(program_.ops(), function);
    for (const Node& node : function.nodes) {
      if (!IsSymbolic(node) || !IsReady(node)) continue;
      absl::StatusOr<Node> call = CallFor(node);
      if (!call.ok()) {
        return Annotate(call.status(), absl::StrCat("node '", node.name, "' (SymbolicGradient)"));
      }
      builder.Replace(node.id, *std::move(call));
      changed_ = true;
    }
    return builder.Build();
  }

  // Nothing that its function uses has such a node.
  bool IsReady(const Node& node) const {
    const std::vector<std::string> names = NamedFunctions(node);
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return reaching_.contains(name); });
  }

  // Where none is ready, each leads to another, and some to themselves.
  absl::Status NoneReady() const {
    const std::string& holder = *holders_.rbegin();
    const Function& function = holder.empty() ? program_.main() : *program_.FindFunction(holder);
    const Node& node = *std::find_if(function.nodes.begin(), function.nodes.end(), IsSymbolic);
    const FunctionRef* ref = node.attrs.Get<FunctionRef>("f");
    return absl::UnimplementedError(absl::StrCat(
        "node '", node.name, "' (SymbolicGradient) of function '", holder,
        "' asks for the gradient of '", ref == nullptr ? "" : ref->name,
        "', which leads back to such a node; the gradient of a function must not need itself"));
  }

  absl::StatusOr<Node> CallFor(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const Function function, FunctionOf(program_, node));
    const auto own = program_.gradient_functions().find(function.name);
    const auto [made, is_new] = made_.try_emplace(function.name);
    if (is_new) {
      if (own != program_.gradient_functions().end()) {
        made->second = own->second;
      } else {
        GYRE_ASSIGN_OR_RETURN(Function gradient, GradientFunction(transform_, function));
        made->second = transform_.Add(std::move(gradient));
      }
    }
    Node call = node;
    call.op_name = function.stateful ? "StatefulPartitionedCall" : "PartitionedCall";
    call.op = program_.ops().Find(call.op_name);
    call.attrs.Set("f", FunctionRef{made->second, nullptr});
    GYRE_ASSIGN_OR_RETURN(call.signature, ResolveSignature(*call.op, call.attrs));
    return call;
  }

  const Program& program_;
  GradientTransform transform_;
  const std::set<std::string> holders_;
  const std::set<std::string> reaching_;  // the holders, and what leads to one
  std::map<std::string, std::string> made_;
  bool changed_ = false;
};

}  // namespace

bool HasSymbolicGradients(const Program& program) { return !Holders(program).empty(); }

absl::StatusOr<std::shared_ptr<const Program>> ExpandSymbolicGradients(
    std::shared_ptr<const Program> program) {
  return RunStage("differentiating", [&]() -> absl::StatusOr<std::shared_ptr<const Program>> {
    while (HasSymbolicGradients(*program)) {
      GYRE_ASSIGN_OR_RETURN(program, grad::StacksToLists(program, AskedOf(*program)));
      GYRE_ASSIGN_OR_RETURN(program, Expansion(*program).Run());
    }
    return program;
  });
}

}  // namespace gyre
