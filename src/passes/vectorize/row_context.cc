#include "passes/vectorize/row_context.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "passes/vectorize/dims.h"

namespace gyre::vectorize {
namespace {

// "input 'axis'" of a node.
std::string NameOfInput(const Node& node, int i) {
  for (size_t arg = 0; arg < node.op->inputs.size(); ++arg) {
    const auto range = ArgRange(*node.op, node.attrs, /*is_output=*/false, static_cast<int>(arg));
    if (range.ok() && range->first <= i && i < range->second)
      return absl::StrCat("input '", node.op->inputs[arg].name, "'");
  }
  return absl::StrCat("input ", i);
}

using RuleTable = absl::flat_hash_map<absl::string_view, Rule>;

const RuleTable& AllRules() {
  static const RuleTable* const table = [] {
    auto* rules = new RuleTable();
    for (const auto& family :
         {ArrayRules(), IndexRules(), MathRules(), ListRules(), EffectRules()}) {
      for (const NamedRule& named : family) rules->emplace(named.op, named.rule);
    }
    return rules;
  }();
  return *table;
}

}  // namespace

const Rule* FindRule(const Node& node) {
  static constexpr Rule kElementwise = {ElementwiseRule};
  const auto found = AllRules().find(node.op_name);
  if (found != AllRules().end()) return &found->second;
  return node.op->traits.elementwise && !node.op->stateful() ? &kElementwise : nullptr;
}

absl::Status RowContext::NeedSame(int i) const {
  if (rows_of(i) == Rows::kSame) return absl::OkStatus();
  return NotBatched(absl::StrCat(NameOfInput(node_, i), " differs from row to row"));
}

absl::Status RowContext::NeedSameFrom(int first) const {
  for (int i = first; i < num_inputs(); ++i) GYRE_RETURN_IF_ERROR(NeedSame(i));
  return absl::OkStatus();
}

absl::StatusOr<int> RowContext::NeedRank(int i) const {
  if (row_shape(i).has_rank()) return row_shape(i).rank();
  return NotBatched(absl::StrCat("the rank of ", NameOfInput(node_, i), " is not known"));
}

Expr RowContext::stacked(int i) {
  const absl::StatusOr<Expr> expr = body_.Stacked(value(i));
  if (expr.ok()) return *expr;
  builder().Fail(expr.status());
  return Expr();
}

Expr RowContext::stacked(int i, int rank) {
  return WithOnesBehindRows(stacked(i), rank - row_shape(i).rank());
}

Expr RowContext::stacked(int i, Expr rank) {
  const Expr dims = row_dims(i);
  const Expr missing = op("ExpandDims", {rank - op("Size", {dims}), builder().Int(0)});
  const Expr ones = op("Fill", {missing, builder().Int(1)});
  return Reshape(stacked(i), with_rows(Joined({ones, dims})));
}

Expr RowContext::shifted_axes(int i) {
  const Expr axes = input(i);
  if (!axes.ok()) return axes;
  // Axes that are counted from the end stay.
  if (const Tensor* known = constant(i); known != nullptr && known->dtype() == DType::kInt32) {
    std::vector<int32_t> shifted;
    for (const int32_t axis : known->values<int32_t>())
      shifted.push_back(axis < 0 ? axis : axis + 1);
    return known->rank() == 0 ? builder().Int(shifted[0]) : builder().Ints(shifted);
  }
  const Expr is_counted_from_front = op("GreaterEqual", {axes, builder().Zero(axes.dtype())});
  return axes + Cast(is_counted_from_front, axes.dtype());
}

absl::Status RowContext::Emit(const std::vector<Expr>& inputs, const AttrMap& changed,
                              const std::vector<Rows>& rows) {
  AttrMap attrs = node_.attrs;
  attrs.Erase("_output_shapes");
  for (const auto& [name, value] : changed) attrs.Set(name, value);
  return EmitAs(node_.op_name, inputs, std::move(attrs), rows);
}

absl::Status RowContext::EmitAs(absl::string_view op, const std::vector<Expr>& inputs,
                                AttrMap attrs, const std::vector<Rows>& rows) {
  const std::vector<Expr> outputs = body_.AddLike(node_, op, inputs, std::move(attrs));
  for (int i = 0; i < node_.num_outputs(); ++i)
    Set(i, outputs[i], rows.empty() ? Rows::kStacked : rows[i]);
  return builder().status();
}

}  // namespace gyre::vectorize
