#include "passes/vectorize/body.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/order.h"
#include "analysis/run_signature.h"
#include "base/status.h"
#include "ir/shape_inference.h"
#include "passes/edit/rewrite.h"
#include "passes/vectorize/row_context.h"

namespace gyre::vectorize {
namespace {

// On an error that says at which node.
constexpr absl::string_view kNamesNode = "gyre/names_node";

// Rules ask for constants that others do not come to need.
absl::StatusOr<Function> WithoutUnused(const OpLookup& ops, Function function) {
  const std::vector<bool> needed = NeededNodes(function, CallSignature(function));
  passes::Rewrite rewrite(ops, std::move(function));
  for (size_t id = 0; id < needed.size(); ++id) {
    const auto node = static_cast<NodeId>(id);
    if (!needed[id] && rewrite.node(node).kind() != OpKind::kArg) rewrite.Drop(node);
  }
  GYRE_ASSIGN_OR_RETURN(passes::Rewrite::Finished finished, std::move(rewrite).Finish());
  return std::move(finished.function);
}

}  // namespace

BatchedBody::BatchedBody(BatchTransform& transform, const Function& function,
                         const std::vector<RowValue>& args, std::string name)
    : transform_(transform),
      function_(function),
      builder_(transform.ops(), std::move(name)),
      exprs_(builder_),
      done_(function.nodes.size()) {
  for (size_t i = 0; i < function.args.size(); ++i) {
    const FunctionArg& arg = function.args[i];
    const PartialShape shape = args[i].rows == Rows::kStacked
                                   ? batch::WithRowAxis(args[i].info.shape, transform.num_rows())
                                   : args[i].info.shape;
    const Endpoint e = builder_.Arg(arg.name, arg.dtype, shape);
    const Endpoint old = {function.arg_nodes[i], 0};
    infos_[old] = args[i].info;
    Set(old, exprs_.At(e), args[i].rows);
    done_[old.node] = {e.node};
  }
  rows_ = exprs_.At(builder_.Arg("rows", DType::kInt32, PartialShape::Scalar()));
}

absl::StatusOr<RowsFunction> BatchedBody::Write(const ResultRequest& request) {
  const Expr rows_arg = rows_;
  if (transform_.num_rows() >= 0) rows_ = exprs_.Int(static_cast<int32_t>(transform_.num_rows()));
  const std::vector<bool> needed = NeededNodes(function_, CallSignature(function_));
  for (const NodeId id : ProducersFirst(function_)) {
    const Node& node = function_.node(id);
    if (!needed[id] || node.kind() == OpKind::kArg) continue;
    GYRE_RETURN_IF_ERROR(Convert(node));
  }
  RowsFunction made{.name = name()};
  exprs_.set_style({});
  for (size_t i = 0; i < function_.results.size(); ++i) {
    const FunctionResult& result = function_.results[i];
    const Value& value = At(result.value);
    Rows rows = value.rows;
    Expr expr = value.expr;
    if (!request.rows.empty() && request.rows[i] != rows) {
      if (request.rows[i] != Rows::kStacked)
        return batch::Refuse(absl::StrCat("'", result.name, "' is a list in some places only"));
      GYRE_ASSIGN_OR_RETURN(expr, Stacked(value));
      rows = Rows::kStacked;
    }
    made.results.push_back({rows, value.info});
    if (!expr.ok()) break;
    builder_.Return(result.name, expr.endpoint());
  }
  GYRE_RETURN_IF_ERROR(exprs_.status());
  if (request.returns_rows) builder_.Return("rows", rows_arg.endpoint());
  for (const auto& [result, id] : function_.control_results) {
    for (const NodeId done : done_[id]) builder_.ReturnControl(builder_.node(done).name, done);
  }
  GYRE_ASSIGN_OR_RETURN(Function all, WithoutUnused(transform_.ops(), builder_.Build()));
  all.attrs = function_.attrs;
  transform_.Add(std::move(all));
  return made;
}

std::vector<ValueInfo> BatchedBody::InputInfos(const Node& node) const {
  std::vector<ValueInfo> infos;
  for (const Endpoint& input : node.inputs) infos.push_back(At(input).info);
  return infos;
}

std::vector<NodeId> BatchedBody::Awaited(const Node& node) const {
  std::vector<NodeId> awaited;
  for (const NodeId control : node.control_inputs) {
    for (const NodeId done : done_[control]) {
      if (std::find(awaited.begin(), awaited.end(), done) == awaited.end()) awaited.push_back(done);
    }
  }
  return awaited;
}

// One run does for all rows.
bool BatchedBody::IsSameInAllRows(const Node& node) const {
  for (const Endpoint& input : node.inputs) {
    if (At(input).rows != Rows::kSame) return false;
  }
  return !transform_.effects().Of(node).Has(EffectSet::kWrite | EffectSet::kTalk |
                                            EffectSet::kAllocate | EffectSet::kRandom |
                                            EffectSet::kUnclear) &&
         (node.op == nullptr || !node.op->batch.makes_list);
}

void BatchedBody::Copy(const Node& node) {
  std::vector<Endpoint> inputs;
  for (const Endpoint& input : node.inputs) inputs.push_back(At(input).expr.endpoint());
  const NodeId copy = builder_.Copy(node, std::move(inputs), {});
  for (int slot = 0; slot < node.num_outputs(); ++slot)
    Set({node.id, slot}, exprs_.At({copy, slot}), Rows::kSame);
}

absl::Status BatchedBody::Batch(const Node& node) {
  if (node.op == nullptr) return batch::Refuse("the op is not known");
  if (node.attrs.Has("_gradient_op_type")) return batch::Refuse("it has a gradient of its own");
  if (IsStructured(node.kind())) return VectorizeStructured(*this, node);
  gyre::Batch rule = node.op->batch;
  if (rule.rule == nullptr && node.op->traits.elementwise && !node.op->stateful())
    rule.rule = batch::Elementwise;
  if (rule.rule == nullptr) return batch::Refuse("there is no rule for this op");
  RowContext context(*this, node);
  if (!rule.knows_lists) {
    for (const Endpoint& input : node.inputs) {
      if (At(input).rows == Rows::kElements) return batch::Refuse("one of its inputs is a list");
    }
    for (const NodeSignature::Slot& output : node.signature.outputs) {
      if (output.dtype == DType::kVariant || output.dtype == DType::kResource)
        return batch::Refuse(absl::StrCat("it makes a ", DTypeName(output.dtype), " for each row"));
    }
  }
  return rule.rule(context);
}

absl::Status BatchedBody::Convert(const Node& node) {
  const absl::StatusOr<std::vector<ValueInfo>> infos =
      InferNode(transform_.program(), node, InputInfos(node));
  for (int slot = 0; slot < node.num_outputs(); ++slot)
    infos_[{node.id, slot}] = infos.ok() ? (*infos)[slot] : ValueInfo();
  exprs_.set_style({absl::StrCat(node.name, "/"), node.device, node.source});
  const NodeId first_new = static_cast<NodeId>(builder_.function().nodes.size());
  if (IsSameInAllRows(node)) {
    Copy(node);
    NoteDone(node, first_new);
    return absl::OkStatus();
  }
  absl::Status status = Batch(node);
  // What a rule finds out while it writes cannot be undone.
  if (absl::IsUnimplemented(exprs_.status())) return Refuse(node, exprs_.status().message());
  if (absl::IsUnimplemented(status)) status = FallBack(node, status);
  GYRE_RETURN_IF_ERROR(status);
  GYRE_RETURN_IF_ERROR(exprs_.status());
  NoteDone(node, first_new);
  return absl::OkStatus();
}

// A loop over rows in place of a node that is not batched, for the reason that `why` gives.
absl::Status BatchedBody::FallBack(const Node& node, const absl::Status& why) {
  if (!transform_.falls_back())
    return why.GetPayload(kNamesNode) ? why : Refuse(node, why.message());
  const absl::Status status = AddRowLoop(*this, node);
  if (absl::IsUnimplemented(status))
    return Refuse(node, absl::StrCat(why.message(), "; nor row by row: ", status.message()));
  transform_.Note(name(), {node.name, node.op_name, node.source, std::string(why.message())});
  return status;
}

absl::Status BatchedBody::Refuse(const Node& node, absl::string_view reason) const {
  absl::Status refused = batch::Refuse(absl::StrCat(
      "'", node.name, "' (", node.op_name, ") cannot be computed for all rows at once: ", reason,
      node.source.empty() ? "" : "\n  at ", node.source));
  refused.SetPayload(kNamesNode, absl::Cord());
  return refused;
}

// What stands for the node waits for what the node waited for; who waits for it waits for its
// outputs, or for the last of its nodes.
void BatchedBody::NoteDone(const Node& node, NodeId first_new) {
  const NodeId end = static_cast<NodeId>(builder_.function().nodes.size());
  for (const NodeId control : Awaited(node)) {
    for (NodeId id = first_new; id < end; ++id) builder_.AddControlInput(id, control);
  }
  std::vector<NodeId>& done = done_[node.id];
  if (first_new < end) done.push_back(end - 1);
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    const NodeId id = At({node.id, slot}).expr.endpoint().node;
    if (std::find(done.begin(), done.end(), id) == done.end()) done.push_back(id);
  }
}

absl::StatusOr<Expr> BatchedBody::Stacked(const Value& value) {
  if (value.rows == Rows::kStacked) return value.expr;
  if (value.rows == Rows::kElements) return batch::Refuse("a list is wanted as a tensor");
  if (!value.expr.ok()) return value.expr;
  if (value.expr.dtype() == DType::kVariant || value.expr.dtype() == DType::kResource)
    return batch::Refuse(absl::StrCat("a ", DTypeName(value.expr.dtype()), " is one for all rows"));
  return exprs_.Op("BroadcastTo", {value.expr, WithRows(RowDims(value))});
}

Expr BatchedBody::RowDims(const Value& value) {
  if (const std::optional<Shape> known = value.info.shape.ToShape()) {
    std::vector<int32_t> dims(known->dims().begin(), known->dims().end());
    return exprs_.Ints(dims);
  }
  const Expr dims = ShapeOf(value.expr);
  return value.rows == Rows::kStacked ? batch::Behind(dims) : dims;
}

Expr BatchedBody::WithRows(Expr dims) {
  if (!dims.ok()) return dims;
  const int64_t known = transform_.num_rows();
  const Expr rows = known >= 0 ? exprs_.Ints({static_cast<int32_t>(known)})
                               : exprs_.Op("ExpandDims", {rows_, exprs_.Int(0)});
  return batch::Joined({Cast(rows, dims.dtype()), dims});
}

std::vector<Expr> BatchedBody::AddLike(const Node& like, absl::string_view op,
                                       const std::vector<Expr>& inputs, AttrMap attrs) {
  const int outputs = std::max(1, like.num_outputs());
  std::vector<Endpoint> endpoints;
  for (const Expr& input : inputs) {
    if (!input.ok()) return std::vector<Expr>(outputs);
    endpoints.push_back(input.endpoint());
  }
  const absl::StatusOr<NodeId> id =
      builder_.Add(op, endpoints, std::move(attrs),
                   {.name = like.name, .device = like.device, .source = like.source});
  if (!id.ok()) {
    exprs_.Fail(id.status());
    return std::vector<Expr>(outputs);
  }
  std::vector<Expr> results;
  for (int slot = 0; slot < builder_.node(*id).num_outputs(); ++slot)
    results.push_back(exprs_.At({*id, slot}));
  return results;
}

}  // namespace gyre::vectorize
