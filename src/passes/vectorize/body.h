// BatchedBody: one function while its rows are being put together.
//
// Node by node, producers first: what is the same in all rows is copied; for the rest the op's rule
// (rules.h) writes what computes all rows; what has no rule, or is refused by it, becomes a loop.
// Not thread-safe; lives as long as the function is being written.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/hash_map.h"
#include "ir/expr.h"
#include "passes/vectorize/transform.h"

namespace gyre::vectorize {

class BatchedBody {
 public:
  // A value of the function and what stands for it.
  struct Value {
    Expr expr;
    Rows rows = Rows::kSame;
    ValueInfo info;  // of one row
  };

  // `name`: of the new function.
  BatchedBody(BatchTransform& transform, const Function& function,
              const std::vector<RowValue>& args, std::string name);
  absl::StatusOr<RowsFunction> Write(const ResultRequest& request);

  BatchTransform& transform() { return transform_; }
  const Function& function() const { return function_; }
  const std::string& name() const { return builder_.name(); }
  ExprBuilder& builder() { return exprs_; }
  // How many rows there are: an int32 scalar.
  Expr rows() { return rows_; }

  const Value& At(Endpoint e) const { return values_.at(e); }
  void Set(Endpoint e, Expr expr, Rows rows) { values_[e] = {expr, rows, InfoOf(e)}; }
  // The value with the axis of rows, repeated if it is the same in all of them. A refusal where a
  // value cannot be.
  absl::StatusOr<Expr> Stacked(const Value& value);
  // The dimensions of a value in one row: an int32 vector, constant where that is known.
  Expr RowDims(const Value& value);
  // `dims` behind the number of rows; of the type of `dims`.
  Expr WithRows(Expr dims);
  // Adds a node named as `like`, in its place.
  std::vector<Expr> AddLike(const Node& like, absl::string_view op, const std::vector<Expr>& inputs,
                            AttrMap attrs);
  std::vector<ValueInfo> InputInfos(const Node& node) const;
  const ValueInfo& OutputInfo(const Node& node, int slot) const {
    return infos_.at({node.id, slot});
  }

 private:
  ValueInfo InfoOf(Endpoint e) const {
    const auto found = infos_.find(e);
    return found == infos_.end() ? ValueInfo() : found->second;
  }
  bool IsSameInAllRows(const Node& node) const;
  void Copy(const Node& node);
  absl::Status Convert(const Node& node);
  absl::Status Batch(const Node& node);
  absl::Status FallBack(const Node& node, const absl::Status& why);
  absl::Status Refuse(const Node& node, absl::string_view reason) const;
  std::vector<NodeId> Awaited(const Node& node) const;
  void NoteDone(const Node& node, NodeId first_new);

  BatchTransform& transform_;
  const Function& function_;
  FunctionBuilder builder_;
  ExprBuilder exprs_;
  Expr rows_;
  HashMap<Endpoint, Value> values_;
  HashMap<Endpoint, ValueInfo> infos_;
  std::vector<std::vector<NodeId>> done_;  // by node: the new ones after which it has run
};

// The loop over rows that one node becomes: each of its inputs' rows in turn.
absl::Status AddRowLoop(BatchedBody& body, const Node& node);

// Conditionals, loops and calls whose bodies are vectorised.
absl::Status VectorizeStructured(BatchedBody& body, const Node& node);

}  // namespace gyre::vectorize
