// What a loop that is computed again for its gradient knows of variables and of effects: values
// that were captured before, in the place of the nodes that would ask once more.
#include "ops/state/captured.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

// A variable without a value is no mistake before somebody uses the value: the loop that it is
// captured for may make no iteration.
absl::Status CaptureVariable(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, ctx.output_dtype(0)));
  Tensor value = variable->Read();
  if (!value.has_value()) {
    GYRE_ASSIGN_OR_RETURN(value, ctx.Allocate(ctx.output_dtype(0), Shape::Vector(0)));
  }
  ctx.set_output(0, std::move(value));
  return absl::OkStatus();
}

absl::Status CapturedValue(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const VariableObject* variable, VariableInput(ctx, 0, ctx.output_dtype(0)));
  const bool may_be_missing = ctx.input(1).num_elements() == 0 && ctx.input(1).rank() == 1;
  if (may_be_missing) GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, 0, *variable, variable->Read()));
  ctx.set_output(0, ctx.TakeInput(1));
  return absl::OkStatus();
}

absl::Status CapturedShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  if (c.input_handle(0)) c.set_output(0, c.input_handle(0)->shape);
  return absl::OkStatus();
}

void CapturedGradient(GradientContext& g) {
  if (g.wants(0) && g.has_grad(0)) g.Add(0, g.grad());
}

// ---- _Replayed

constexpr absl::string_view kOfPrefix = "_of_";

absl::Status Replay(KernelContext& ctx) {
  const int first = ctx.num_inputs() - ctx.num_outputs();
  if (first < 0) return absl::InvalidArgumentError("kept must have a value for each output");
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.TakeInput(first + i));
  return absl::OkStatus();
}

absl::Status ReplayedShape(ShapeContext& c) {
  const int first = c.num_inputs() - c.num_outputs();
  for (int i = 0; i < c.num_outputs() && first >= 0; ++i) {
    c.set_output(i, c.input(first + i));
    if (c.input_handle(first + i)) c.set_output_handle(i, *c.input_handle(first + i));
  }
  return absl::OkStatus();
}

// The node that was replayed, as it was: inputs, outputs and attributes of its op.
Node OriginalOf(const Node& node) {
  Node original = node;
  original.op_name = node.attrs.GetOr<std::string>("op", "");
  original.op = Ops().Find(original.op_name);
  original.attrs = {};
  for (const auto& [name, value] : node.attrs) {
    if (absl::StartsWith(name, kOfPrefix)) original.attrs.Set(name.substr(kOfPrefix.size()), value);
  }
  const size_t num_kept = node.signature.outputs.size();
  original.inputs.resize(node.inputs.size() - num_kept);
  original.signature.inputs.resize(node.inputs.size() - num_kept);
  return original;
}

// What the original op's rule sees: all as it is, but for the node.
class OriginalContext final : public GradientContext {
 public:
  OriginalContext(GradientContext& g, const Node& original) : g_(g), original_(original) {}

  const Node& node() const override { return original_; }
  const ValueInfo& input_info(int i) const override { return g_.input_info(i); }
  const ValueInfo& output_info(int i) const override { return g_.output_info(i); }
  Expr input(int i) override { return g_.input(i); }
  Expr output(int i) override { return g_.output(i); }
  Expr input_dims(int i) override { return g_.input_dims(i); }
  Expr output_dims(int i) override { return g_.output_dims(i); }
  bool has_grad(int i) const override { return g_.has_grad(i); }
  Expr grad(int i) override { return g_.grad(i); }
  Expr zero(int i) override { return g_.zero(i); }
  bool wants(int i) const override { return g_.wants(i); }
  void Add(int i, Expr contribution) override { g_.Add(i, contribution); }
  void AddSlices(int i, Expr values, Expr indices) override { g_.AddSlices(i, values, indices); }
  Expr TakeList(int i) override { return g_.TakeList(i); }
  void PutList(int i, Expr list) override { g_.PutList(i, list); }
  ExprBuilder& builder() override { return g_.builder(); }

 private:
  GradientContext& g_;
  const Node& original_;
};

void ReplayedGradient(GradientContext& g) {
  const Node original = OriginalOf(g.node());
  if (original.op == nullptr) {
    return g.Fail(absl::NotFoundError(absl::StrCat("there is no op called ", original.op_name)));
  }
  if (original.op->gradient.refuses) {
    return g.Fail(absl::UnimplementedError(
        absl::StrCat("node '", original.name, "' (", original.op_name,
                     ") cannot be differentiated: ", original.op->gradient.not_differentiable)));
  }
  if (original.op->gradient.rule == nullptr) return;
  OriginalContext context(g, original);
  original.op->gradient.rule(context);
}

}  // namespace

absl::StatusOr<Node> MakeReplayed(const Node& node, std::vector<Endpoint> kept,
                                  const FunctionBuilder& builder) {
  AttrMap attrs{{"op", node.op_name}};
  for (const auto& [name, value] : node.attrs) attrs.Set(absl::StrCat(kOfPrefix, name), value);
  std::vector<DType> given, types;
  std::vector<Endpoint> inputs;
  const Gradient& gradient = node.op->gradient;
  if (gradient.rule != nullptr || gradient.refuses) {
    inputs = node.inputs;
    for (const NodeSignature::Slot& slot : node.signature.inputs) given.push_back(slot.dtype);
  }
  for (const NodeSignature::Slot& slot : node.signature.outputs) types.push_back(slot.dtype);
  attrs.Set("Tin", std::move(given));
  attrs.Set("Tkept", std::move(types));
  inputs.insert(inputs.end(), kept.begin(), kept.end());
  return builder.Make("_Replayed", inputs, std::move(attrs),
                      {node.name, node.control_inputs, node.device, node.source});
}

void RegisterCaptured(OpRegistry& ops) {
  ops.Add({.schema = "_CaptureVariable(resource: resource) -> captured: dtype {dtype: type}",
           .doc = "The value of a variable, for _CapturedValue; an empty vector while it has none.",
           .traits = {.effect = Effect::kRead},
           .shape = shape::Unknown,
           .gradient = NotDifferentiable("the gradient goes through _CapturedValue"),
           .kernel = Compute<CaptureVariable>()});
  ops.Add({.schema = "_CapturedValue(resource: resource, captured: dtype) -> value: dtype "
                     "{dtype: type}",
           .doc = "What ReadVariableOp gave of a variable when it was captured.",
           .traits = {.is_view = true},
           .shape = CapturedShape,
           .gradient = {CapturedGradient},
           .kernel = Compute<CapturedValue>()});
  ops.Add({.schema = "_Replayed(given: Tin, kept: Tkept) -> output: Tkept "
                     "{op: string; Tin: list(type) >= 0; Tkept: list(type) >= 0}",
           .doc =
               "What a node of `op` has computed of `given`: `kept`, with the op's gradient. The "
               "node's attributes stand here with \"_of_\" in front of their names.",
           .shape = ReplayedShape,
           .gradient = {ReplayedGradient},
           .kernel = Compute<Replay>()});
}

}  // namespace gyre
