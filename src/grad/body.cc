#include "grad/body.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "grad/rule_context.h"
#include "grad/slices.h"
#include "ir/calls.h"
#include "ir/data_order.h"

namespace gyre::grad {
namespace {

Marks VariedIn(GradientTransform& transform, const Function& function,
               const FunctionRequest& request) {
  Marks varied = NoMarks(function);
  for (size_t i = 0; i < function.arg_nodes.size(); ++i)
    varied[function.arg_nodes[i]][0] = request.wanted[i];
  MarkDependents(function, transform.dependence(), NoMarks(function), varied);
  return varied;
}

Expr Concat(const std::vector<Expr>& parts) {
  if (parts.size() == 1) return parts[0];
  std::vector<Expr> inputs = parts;
  inputs.push_back(parts[0].builder().Int(0));
  return parts[0].builder().Op("ConcatV2", std::move(inputs));
}

}  // namespace

GradientBody::GradientBody(GradientTransform& transform, const Function& main, Marks varied)
    : transform_(transform),
      original_(main),
      shapes_(transform.ShapesOf("")),
      kinds_(transform.kinds().Of(main, {})),
      varied_(std::move(varied)),
      forward_(transform.ops(), main),
      back_(forward_) {}

GradientBody::GradientBody(GradientTransform& transform, const Function& function,
                           const FunctionRequest& request)
    : transform_(transform),
      original_(function),
      shapes_(transform.ShapesOf(function.name)),
      kinds_(transform.kinds().Of(function, request.arg_kinds)),
      varied_(VariedIn(transform, function, request)),
      forward_(transform.ops(), function),
      own_backward_(std::make_unique<FunctionBuilder>(transform.ops(), function.name)),
      back_(*own_backward_) {}

const ValueKind& GradientBody::KindOf(Endpoint e) const {
  static const ValueKind* const none = new ValueKind();
  const bool is_known = static_cast<size_t>(e.node) < kinds_.size() &&
                        static_cast<size_t>(e.slot) < kinds_[e.node].size();
  return is_known ? kinds_[e.node][e.slot] : *none;
}

DType GradientBody::AdjointType(Endpoint e) const {
  if (KindOf(e).IsFlow()) return DType::kVariant;
  const DType dtype = forward_.dtype(e);
  if (dtype != DType::kResource) return dtype;
  const std::optional<HandleInfo>& handle = Info(e).handle;
  return handle ? handle->dtype : DType::kInvalid;
}

Expr GradientBody::Forward(Endpoint e) {
  if (own_backward_ == nullptr) return back_.At(e);
  if (const auto known = values_.find(e); known != values_.end()) return known->second;
  const Node& node = forward_.node(e.node);
  Expr value;
  if (node.kind() == OpKind::kConst) {
    value = back_.Constant(*node.attrs.Get<Tensor>("value"));
  } else if (node.kind() == OpKind::kIdentity && !node.signature.inputs[0].is_ref) {
    value = Forward(node.inputs[0]);
  } else {
    value = back_.At(own_backward_->Arg(node.name, forward_.dtype(e), PartialShape::Unknown(),
                                        node.signature.outputs[e.slot].is_ref));
    saved_.push_back(e);
  }
  return values_[e] = value;
}

absl::StatusOr<Endpoint> GradientBody::AddForward(absl::string_view op, Endpoint input) {
  const Node& node = forward_.node(input.node);
  return forward_.Add1(
      op, {input}, {},
      {absl::StrCat("gradients/", node.name, "/", op), {}, node.device, node.source});
}

Expr GradientBody::Dims(Endpoint e) {
  const bool is_handle = forward_.dtype(e) == DType::kResource;
  const std::optional<HandleInfo>& handle = Info(e).handle;
  const PartialShape shape = is_handle ? (handle ? handle->shape : PartialShape()) : Info(e).shape;
  if (shape.IsFullyKnown()) {
    const std::vector<int32_t> dims(shape.dims().begin(), shape.dims().end());
    return back_.Ints(dims);
  }
  const auto [known, is_new] = dims_.try_emplace(e);
  if (is_new) {
    absl::StatusOr<Endpoint> dims = AddForward(is_handle ? "VariableShape" : "Shape", e);
    if (!dims.ok()) back_.Fail(dims.status());
    known->second = dims.ok() ? *dims : e;
  }
  return Forward(known->second);
}

Expr GradientBody::Zero(Endpoint e) {
  const ValueKind& kind = KindOf(e);
  const DType dtype = AdjointType(e);
  if (kind.IsOptional()) return back_.Op("_OptionalZero", {});
  if (kind.IsFlow()) {
    return back_.Op("EmptyTensorList", {back_.Int(-1), back_.Int(-1)},
                    {{"element_dtype", kind.dtype}});
  }
  if (kind.IsList()) {
    absl::StatusOr<Endpoint> length = AddForward("TensorListLength", e);
    if (!length.ok()) back_.Fail(length.status());
    return back_.Op("TensorListReserve", {back_.Int(-1), Forward(length.ok() ? *length : e)},
                    {{"element_dtype", kind.dtype}});
  }
  // Of another variant (ragged rows), the value itself says what it holds.
  if (forward_.dtype(e) == DType::kVariant) return back_.Op("ZerosLike", {Forward(e)});
  if (dtype == DType::kVariant || dtype == DType::kInvalid) {
    back_.Fail(absl::UnimplementedError(absl::StrCat("a gradient of zero is needed for '",
                                                     original_.EndpointName(e),
                                                     "', of which it is not known what it holds")));
    return Expr();
  }
  const Expr number = back_.Scalar(dtype, 0);
  const bool is_scalar = forward_.dtype(e) != DType::kResource && Info(e).shape.has_rank() &&
                         Info(e).shape.rank() == 0;
  return is_scalar ? number : Fill(Dims(e), number);
}

void GradientBody::Add(Endpoint e, Expr dense) {
  if (dense.ok()) adjoints_[e].dense.push_back(dense);
}

void GradientBody::AddSlices(Endpoint e, Slices slices) {
  if (slices.values.ok() && slices.indices.ok()) adjoints_[e].slices.push_back(slices);
}

Expr GradientBody::Take(Endpoint e) {
  const Expr list = Sum(e);
  adjoints_[e].dense.clear();
  return list;
}

Form GradientBody::FormOf(Endpoint e) const {
  const auto found = adjoints_.find(e);
  if (found == adjoints_.end()) return Form::kNone;
  return found->second.dense.empty() && !found->second.slices.empty() ? Form::kSlices
                                                                      : Form::kDense;
}

Slices GradientBody::SumSlices(Endpoint e) {
  std::vector<Slices>& all = adjoints_[e].slices;
  if (all.size() > 1) {
    const bool same_type = std::all_of(all.begin(), all.end(), [&](const Slices& s) {
      return s.indices.dtype() == all[0].indices.dtype();
    });
    std::vector<Expr> values, indices;
    for (const Slices& s : all) {
      values.push_back(s.values);
      indices.push_back(same_type ? s.indices : Cast(s.indices, DType::kInt64));
    }
    all = {{Concat(values), Concat(indices)}};
  }
  return all[0];
}

Expr GradientBody::SumOfMany(Endpoint e, std::vector<Expr> parts) {
  if (IsList(e)) {
    // What is missing is zero. The gradient of a flow grows with its reads, so its own gradient may
    // be of several lengths.
    Expr longest = back_.Op("TensorListLength", {parts[0]});
    for (size_t i = 1; i < parts.size(); ++i)
      longest = back_.Op("Maximum", {longest, back_.Op("TensorListLength", {parts[i]})});
    for (Expr& list : parts) list = back_.Op("TensorListResize", {list, longest});
  }
  return back_.Op("AddN", parts);
}

Expr GradientBody::Sum(Endpoint e) {
  if (!Has(e)) return Zero(e);
  Adjoint& adjoint = adjoints_[e];
  if (!adjoint.slices.empty()) {
    adjoint.dense.push_back(MakeDense(SumSlices(e), Dims(e)));
    adjoint.slices.clear();
  }
  if (adjoint.dense.empty()) adjoint.dense.push_back(Zero(e));
  if (adjoint.dense.size() > 1) {
    const bool is_pair = adjoint.dense.size() == 2 && AdjointType(e) != DType::kVariant;
    const Expr sum = is_pair ? adjoint.dense[0] + adjoint.dense[1] : SumOfMany(e, adjoint.dense);
    adjoint.dense = {sum};
  }
  return adjoint.dense[0];
}

bool GradientBody::HasAny(const Node& node) const {
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    if (Has({node.id, slot})) return true;
  }
  return false;
}

absl::Status GradientBody::Walk(const std::vector<Endpoint>& stops) {
  HashMap<Endpoint, Adjoint> stopped;
  HashMap<NodeId, std::vector<Endpoint>> stops_of;
  for (const Endpoint& stop : stops) stops_of[stop.node].push_back(stop);
  const std::vector<NodeId> order = OrderByData(original_).order;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = original_.node(*id);
    if (const auto here = stops_of.find(node.id); here != stops_of.end()) {
      for (const Endpoint& stop : here->second) {
        if (!Has(stop)) continue;
        stopped[stop] = std::move(adjoints_[stop]);
        adjoints_.erase(stop);
      }
    }
    if (node.kind() == OpKind::kArg || !HasAny(node)) continue;
    const bool leads_on =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) { return Wants(e); });
    if (!leads_on) continue;
    GYRE_RETURN_IF_ERROR(Differentiate(node));
  }
  for (auto& [stop, adjoint] : stopped) adjoints_[stop] = std::move(adjoint);
  return back_.status();
}

absl::Status GradientBody::CheckFlows(const Node& node) const {
  const bool takes_flow = node.op != nullptr && !node.op->inputs.empty() &&
                          node.op->inputs.back().name == "flow_in" && Wants(node.inputs.back());
  if (takes_flow && KindOf(node.inputs[0]).IsGradientArray()) {
    return absl::UnimplementedError(absl::StrCat(
        "node '", node.name, "' (", node.op_name, ") cannot be differentiated: it works on an ",
        "array of gradients, whose contents do not follow from its flow; take higher derivatives ",
        "of what they are gradients of"));
  }
  if (takes_flow && !IsList(node.inputs.back())) {
    return absl::UnimplementedError(absl::StrCat(
        "node '", node.name, "' (", node.op_name, ") cannot be differentiated: it is not known ",
        "what array is behind flow '", original_.EndpointName(node.inputs.back()), "'"));
  }
  const auto changes = [this](const Node& candidate) {
    for (int slot = 0; slot < candidate.num_outputs(); ++slot) {
      if (KindOf({candidate.id, slot}).IsFlow()) return true;
    }
    return false;
  };
  if (!changes(node)) return absl::OkStatus();
  for (const Endpoint& flow : node.inputs) {
    if (!KindOf(flow).IsFlow()) continue;
    for (const Node& other : original_.nodes) {
      const bool takes =
          std::find(other.inputs.begin(), other.inputs.end(), flow) != other.inputs.end();
      if (other.id == node.id || !takes || !changes(other) || other.kind() == OpKind::kIdentity)
        continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "the TensorArray behind flow '", original_.EndpointName(flow),
          "' could not be proved linear: both '", node.name, "' (", node.op_name, ") and '",
          other.name, "' (", other.op_name, ") go on from that flow, and the gradient cannot tell ",
          "which comes first. Hand the flow that one returns to the other"));
    }
  }
  return absl::OkStatus();
}

absl::Status GradientBody::Differentiate(const Node& node) {
  GYRE_RETURN_IF_ERROR(CheckFlows(node));
  back_.set_style({absl::StrCat("gradients/", node.name, "/"), node.device, node.source});
  if (const auto* own = node.attrs.Get<std::string>("_gradient_op_type")) {
    const std::string* function = transform_.OpGradient(*own);
    if (function != nullptr) return ApplyOwnGradient(*this, node, *function);
    // Of a call it is no more than a hint: the function itself can be differentiated.
    if (!IsStructured(node.kind()))
      return absl::UnimplementedError(
          absl::StrCat("node '", node.name, "' (", node.op_name, ") has a gradient of its own, '",
                       *own, "', which the program does not hold: name a function for it"));
  }
  if (IsConditional(node.kind())) {
    GYRE_RETURN_IF_ERROR(DifferentiateBranches(*this, node));
  } else if (IsLoop(node.kind())) {
    GYRE_RETURN_IF_ERROR(DifferentiateLoop(*this, node));
  } else if (node.kind() == OpKind::kCall) {
    GYRE_RETURN_IF_ERROR(DifferentiateCall(*this, node));
  } else {
    GYRE_RETURN_IF_ERROR(ApplyRule(node));
  }
  return Annotate(back_.status(),
                  absl::StrCat("the gradient of node '", node.name, "' (", node.op_name, ")"));
}

absl::Status GradientBody::ApplyRule(const Node& node) {
  const Gradient* gradient = node.op == nullptr ? nullptr : &node.op->gradient;
  if (gradient != nullptr && gradient->rule != nullptr) {
    RuleContext context(*this, node);
    gradient->rule(context);
    return absl::OkStatus();
  }
  if (gradient != nullptr && !gradient->refuses && !gradient->not_differentiable.empty())
    return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "node '", node.name, "' (", node.op_name, ") cannot be differentiated: ",
      gradient == nullptr || gradient->not_differentiable.empty() ? "the op has no gradient rule"
                                                                  : gradient->not_differentiable));
}

absl::StatusOr<FunctionGradient> GradientBody::Finish(const FunctionRequest& request) {
  FunctionGradient gradient;
  for (size_t i = 0; i < request.wanted.size(); ++i) {
    if (!request.wanted[i]) continue;
    const Endpoint arg{original_.arg_nodes[i], 0};
    if (request.dense[i] && !Has(arg)) Add(arg, Zero(arg));
    const Form form = request.dense[i] ? Form::kDense : FormOf(arg);
    if (form == Form::kSlices) {
      const Slices slices = SumSlices(arg);
      GYRE_RETURN_IF_ERROR(back_.status());
      own_backward_->Return(absl::StrCat(original_.args[i].name, "_values"),
                            slices.values.endpoint());
      own_backward_->Return(absl::StrCat(original_.args[i].name, "_indices"),
                            slices.indices.endpoint());
    } else if (form == Form::kDense) {
      const Expr sum = Sum(arg);
      GYRE_RETURN_IF_ERROR(back_.status());
      own_backward_->Return(original_.args[i].name, sum.endpoint());
    }
    gradient.forms.push_back(form);
  }
  GYRE_RETURN_IF_ERROR(back_.status());
  gradient.saved = saved_;
  for (const Endpoint& e : saved_) gradient.saved_kinds.push_back(KindOf(e));
  gradient.forward = forward_.Build();
  gradient.backward = own_backward_->Build();
  return gradient;
}

absl::StatusOr<Function> GradientBody::FinishMain() {
  GYRE_RETURN_IF_ERROR(back_.status());
  return forward_.Build();
}

absl::StatusOr<FunctionGradient> DifferentiateFunction(GradientTransform& transform,
                                                       const Function& function,
                                                       const FunctionRequest& request) {
  GradientBody body(transform, function, request);
  FunctionBuilder& back = body.back().function();
  const auto take = [&](absl::string_view name, DType dtype, Endpoint e) {
    body.Add(e, body.back().At(back.Arg(absl::StrCat("d_", name), dtype)));
  };
  for (size_t r = 0; r < function.results.size(); ++r) {
    if (!request.results[r]) continue;
    take(function.results[r].name, request.result_types[r], function.results[r].value);
  }
  for (size_t i = 0; i < function.args.size(); ++i) {
    if (!request.seeded[i]) continue;
    take(function.args[i].name, request.arg_types[i], {function.arg_nodes[i], 0});
    body.Thread({function.arg_nodes[i], 0});
  }
  GYRE_RETURN_IF_ERROR(body.Walk());
  return body.Finish(request);
}

}  // namespace gyre::grad
