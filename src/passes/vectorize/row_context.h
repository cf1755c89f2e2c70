// RowContext: a body's BatchContext for one of its nodes.
#pragma once

#include <utility>
#include <vector>

#include "ir/batch_context.h"
#include "passes/vectorize/body.h"

namespace gyre::vectorize {

class RowContext final : public BatchContext {
 public:
  RowContext(BatchedBody& body, const Node& node) : body_(body), node_(node) {}

  const Node& node() const override { return node_; }
  Rows rows_of(int i) const override { return value(i).rows; }
  const ValueInfo& input_info(int i) const override { return value(i).info; }
  const ValueInfo& output_info(int i) const override { return body_.OutputInfo(node_, i); }
  Expr input(int i) override { return value(i).expr; }
  using BatchContext::stacked;
  Expr stacked(int i) override {
    const absl::StatusOr<Expr> expr = body_.Stacked(value(i));
    if (expr.ok()) return *expr;
    builder().Fail(expr.status());
    return Expr();
  }
  Expr row_dims(int i) override { return body_.RowDims(value(i)); }
  Expr rows() override { return body_.rows(); }
  Expr with_rows(Expr dims) override { return body_.WithRows(dims); }
  ExprBuilder& builder() override { return body_.builder(); }

 private:
  void SetOutput(int output, Expr value, Rows rows) override {
    body_.Set({node_.id, output}, value, rows);
  }
  std::vector<Expr> AddInPlace(absl::string_view op, const std::vector<Expr>& inputs,
                               AttrMap attrs) override {
    return body_.AddLike(node_, op, inputs, std::move(attrs));
  }
  const BatchedBody::Value& value(int i) const { return body_.At(node_.inputs[i]); }

  BatchedBody& body_;
  const Node& node_;
};

}  // namespace gyre::vectorize
