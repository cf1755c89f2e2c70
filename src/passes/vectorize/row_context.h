// RowContext: what a rule sees of one node, and how it answers; and the table of rules.
//
// A rule is a function `absl::Status Rule(RowContext&)`. It writes, as ordinary nodes, what
// computes the node for all rows, and sets each output:
//
//   absl::Status Softmax(RowContext& c) { return c.Emit({c.input(0)}); }   // along the last axis
//
// Before it writes anything it makes sure that it can: what must be the same in all rows is asked
// for by NeedSame, and what is not to be had is refused by NotBatched with a reason, which makes
// the node a loop. Mistakes of what is written are remembered, as by ExprBuilder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "passes/vectorize/body.h"

namespace gyre::vectorize {

class RowContext {
 public:
  RowContext(Body& body, const Node& node) : body_(body), node_(node) {}

  const Node& node() const { return node_; }
  int num_inputs() const { return static_cast<int>(node_.inputs.size()); }
  DType input_dtype(int i) const { return node_.signature.inputs[i].dtype; }
  template <typename T>
  T attr(absl::string_view name, T fallback) const {
    return node_.attrs.GetOr<T>(name, std::move(fallback));
  }

  Rows rows_of(int i) const { return value(i).rows; }
  bool is_stacked(int i) const { return rows_of(i) == Rows::kStacked; }
  // What is known of an input or output in one row.
  const PartialShape& row_shape(int i) const { return value(i).info.shape; }
  const PartialShape& output_row_shape(int i) const { return body_.OutputInfo(node_, i).shape; }
  // Null when it is not known.
  const Tensor* constant(int i) const {
    return value(i).info.constant.has_value() ? &value(i).info.constant : nullptr;
  }

  // NotBatched unless the input is the same in all rows.
  absl::Status NeedSame(int i) const;
  absl::Status NeedSameFrom(int first) const;
  // The rank of input i in one row; NotBatched if it is not known.
  absl::StatusOr<int> NeedRank(int i) const;

  // An input as it is.
  Expr input(int i) { return value(i).expr; }
  // … with the axis of rows in front, repeated if it is the same in all of them.
  Expr stacked(int i);
  // … and, where it has fewer dimensions than `rank` in one row, with ones behind the axis of rows:
  // so that rows broadcast as they do by themselves. Requirement: its rank is known, and no larger.
  Expr stacked(int i, int rank);
  // The same for a rank, an int32 scalar, that shows when the program runs.
  Expr stacked(int i, Expr rank);
  Expr row_dims(int i) { return body_.RowDims(value(i)); }
  Expr rows() { return body_.rows(); }
  // `dims` behind the number of rows.
  Expr with_rows(Expr dims) { return body_.WithRows(dims); }
  // Input i, an axis or several, counted in tensors with the axis of rows.
  Expr shifted_axes(int i);

  ExprBuilder& builder() { return body_.builder(); }
  Expr op(absl::string_view name, const std::vector<Expr>& inputs, AttrMap attrs = {}) {
    return builder().Op(name, inputs, std::move(attrs));
  }

  void Set(int output, Expr value, Rows rows = Rows::kStacked) {
    body_.Set({node_.id, output}, value, rows);
  }
  // The node itself with other inputs, and some other attributes. `rows`: of its outputs; all are
  // stacked if it is empty.
  absl::Status Emit(const std::vector<Expr>& inputs, const AttrMap& changed = {},
                    const std::vector<Rows>& rows = {});
  // Another op in its place.
  absl::Status EmitAs(absl::string_view op, const std::vector<Expr>& inputs, AttrMap attrs = {},
                      const std::vector<Rows>& rows = {});

 private:
  const Body::Value& value(int i) const { return body_.At(node_.inputs[i]); }

  Body& body_;
  const Node& node_;
};

struct Rule {
  absl::Status (*apply)(RowContext&);
  bool knows_lists = false;  // inputs and outputs may be Rows::kElements
};

// Null when there is none. Elementwise ops share one.
const Rule* FindRule(const Node& node);
// Whether the node makes a list that may come to hold what differs from row to row.
bool MakesList(const Node& node);

struct NamedRule {
  absl::string_view op;
  Rule rule;
};
// The tables, one for each family.
absl::Span<const NamedRule> ArrayRules();
absl::Span<const NamedRule> IndexRules();
absl::Span<const NamedRule> MathRules();
absl::Span<const NamedRule> ListRules();
absl::Span<const NamedRule> EffectRules();
// For all ops whose traits say elementwise.
absl::Status ElementwiseRule(RowContext& c);

}  // namespace gyre::vectorize
