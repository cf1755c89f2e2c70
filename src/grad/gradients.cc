#include "grad/gradients.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/run_signature.h"
#include "base/status.h"
#include "base/work.h"
#include "grad/body.h"
#include "grad/memory_policy.h"
#include "grad/stacks/to_lists.h"
#include "grad/symbolic_gradient.h"
#include "grad/why_unconnected.h"

namespace gyre {
namespace {

using grad::Form;
using grad::GradientBody;
using grad::GradientTransform;
using grad::HasDerivative;
using grad::Marks;
using grad::NoMarks;
using grad::Slices;

absl::Status CheckEndpoint(const Function& main, Endpoint e, absl::string_view role) {
  const bool exists = e.node >= 0 && static_cast<size_t>(e.node) < main.nodes.size() &&
                      e.slot >= 0 && e.slot < main.node(e.node).num_outputs();
  if (exists) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(role, " is no value of the program"));
}

DType TypeOf(const Function& main, Endpoint e) {
  return main.node(e.node).signature.outputs[e.slot].dtype;
}

absl::Status CheckRequest(const Function& main, const GradientRequest& request) {
  for (size_t i = 0; i < request.ys.size(); ++i) {
    const Endpoint y = request.ys[i];
    GYRE_RETURN_IF_ERROR(CheckEndpoint(main, y, "a y"));
    const bool has_weight = i < request.grad_ys.size() && request.grad_ys[i];
    if ((TypeOf(main, y) == DType::kVariant && !has_weight) ||
        TypeOf(main, y) == DType::kResource) {
      return absl::InvalidArgumentError(absl::StrCat("'", main.EndpointName(y), "' is a ",
                                                     DTypeName(TypeOf(main, y)),
                                                     ": only numbers can be differentiated"));
    }
  }
  for (const Endpoint& x : request.xs) GYRE_RETURN_IF_ERROR(CheckEndpoint(main, x, "an x"));
  for (const Endpoint& stop : request.stops)
    GYRE_RETURN_IF_ERROR(CheckEndpoint(main, stop, "a stop"));
  if (!request.grad_ys.empty() && request.grad_ys.size() != request.ys.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.grad_ys.size(), " grad_ys for ", request.ys.size(), " ys"));
  }
  for (size_t i = 0; i < request.grad_ys.size(); ++i) {
    if (!request.grad_ys[i]) continue;
    GYRE_RETURN_IF_ERROR(CheckEndpoint(main, *request.grad_ys[i], "a grad_y"));
    if (TypeOf(main, *request.grad_ys[i]) == TypeOf(main, request.ys[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "grad_y '", main.EndpointName(*request.grad_ys[i]), "' is ",
        DTypeName(TypeOf(main, *request.grad_ys[i])), ", but '", main.EndpointName(request.ys[i]),
        "' is ", DTypeName(TypeOf(main, request.ys[i]))));
  }
  return absl::OkStatus();
}

Marks MarksOf(const Function& main, const std::vector<Endpoint>& endpoints) {
  Marks marks = NoMarks(main);
  for (const Endpoint& e : endpoints) marks[e.node][e.slot] = true;
  return marks;
}

// A Switch of a value, which has a rule.
bool HasRule(const Node& node) {
  return node.op != nullptr && node.op->gradient.rule != nullptr && node.kind() == OpKind::kSwitch;
}

absl::Status RefusePrimitive(const Node& node, absl::string_view where) {
  return absl::FailedPreconditionError(
      absl::StrCat("node '", node.name, "' (", node.op_name, ") of ", where,
                   " is a primitive, and gradients go through If, Case and While alone: 'gyre show "
                   "GRAPH --raised --full > raised.gyre' writes the graph with these, and 'gyre "
                   "convert raised.gyre raised.pb' makes a GraphDef of it"));
}

// Loops of primitives are refused, and paths that join again, where sums of adjoints would be of
// what is alive and what is not; paths that end are not.
absl::Status CheckStructured(const Program& program, const std::vector<Endpoint>& ys) {
  const Function& main = program.main();
  const std::vector<bool> needed = NeededNodes(main, {{}, ys, {}});
  for (const Node& node : main.nodes) {
    const bool is_aside = node.kind() == OpKind::kMerge && !needed[node.id];
    if (IsPrimitive(node.kind()) && !HasRule(node) && !is_aside)
      return RefusePrimitive(node, "the main graph");
  }
  for (const auto& [name, function] : program.functions()) {
    for (const Node& node : function->nodes) {
      if (IsPrimitive(node.kind()))
        return RefusePrimitive(node, absl::StrCat("function '", name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status Seed(GradientBody& body, const Function& main, const GradientRequest& request) {
  body.back().set_style({"gradients/", "", ""});
  for (size_t i = 0; i < request.ys.size(); ++i) {
    const Endpoint y = request.ys[i];
    if (!HasDerivative(TypeOf(main, y)) || !body.Wants(y)) continue;
    const std::optional<Endpoint> given =
        request.grad_ys.empty() ? std::nullopt : request.grad_ys[i];
    body.Add(y, given ? body.back().At(*given) : OnesLike(body.back().At(y)));
  }
  return body.back().status();
}

std::optional<GradientOfX> Take(GradientBody& body, Endpoint x) {
  const Form form = body.FormOf(x);
  if (form == Form::kNone) return std::nullopt;
  if (form == Form::kDense) return GradientOfX{body.Sum(x).endpoint(), std::nullopt, std::nullopt};
  const Slices slices = body.SumSlices(x);
  return GradientOfX{slices.values.endpoint(), slices.indices.endpoint(), body.Dims(x).endpoint()};
}

absl::StatusOr<GradientResult> Differentiate(std::shared_ptr<const Program> program,
                                             const GradientRequest& request, bool dense) {
  GYRE_ASSIGN_OR_RETURN(program, ExpandSymbolicGradients(std::move(program)));
  GYRE_RETURN_IF_ERROR(CheckRequest(program->main(), request));
  GYRE_RETURN_IF_ERROR(CheckStructured(*program, request.ys));
  const grad::Asked asked{"", request.ys, request.xs, request.stops};
  GYRE_ASSIGN_OR_RETURN(program, grad::StacksToLists(std::move(program), {asked}));
  GYRE_ASSIGN_OR_RETURN(program,
                        grad::ApplyMemoryPolicies(std::move(program), asked, request.memory));
  const Function& main = program->main();
  absl::StatusOr<ShapeTable> shapes = InferShapes(*program);
  GradientTransform transform(*program, shapes.ok() ? *std::move(shapes) : ShapeTable(),
                              request.op_gradients);
  Marks varied = MarksOf(main, request.xs);
  MarkDependents(main, transform.dependence(), MarksOf(main, request.stops), varied);
  GradientBody body(transform, main, std::move(varied));
  GYRE_RETURN_IF_ERROR(Seed(body, main, request));
  GYRE_RETURN_IF_ERROR(body.Walk(request.stops));
  body.back().set_style({"gradients/", "", ""});
  GradientResult result;
  for (const Endpoint& x : request.xs) {
    if (dense && body.Has(x)) (void)body.Sum(x);
    result.gradients.push_back(HasDerivative(TypeOf(main, x)) ? Take(body, x) : std::nullopt);
    result.why_not.push_back(
        result.gradients.back() ? "" : WhyUnconnected(main, transform.dependence(), request.ys, x));
  }
  GYRE_ASSIGN_OR_RETURN(Function extended, body.FinishMain());
  ProgramBuilder builder(*program);
  for (Function& function : transform.TakeFunctions({&extended}))
    builder.SetFunction(std::move(function));
  builder.SetMain(std::move(extended));
  result.program = builder.Build();
  return result;
}

}  // namespace

absl::StatusOr<GradientResult> Gradients(const std::shared_ptr<const Program>& program,
                                         const GradientRequest& request) {
  return RunStage("differentiating",
                  [&]() { return Differentiate(program, request, /*dense=*/false); });
}

absl::StatusOr<GradientResult> DenseGradients(const std::shared_ptr<const Program>& program,
                                              const GradientRequest& request) {
  return RunStage("differentiating",
                  [&]() { return Differentiate(program, request, /*dense=*/true); });
}

}  // namespace gyre
