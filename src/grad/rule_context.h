// RuleContext: what a gradient rule sees of one node in a body.
#pragma once

#include "grad/body.h"
#include "ir/gradient_context.h"

namespace gyre::grad {

class RuleContext final : public GradientContext {
 public:
  RuleContext(GradientBody& body, const Node& node) : body_(body), node_(node) {}

  const Node& node() const override { return node_; }
  const ValueInfo& input_info(int i) const override { return body_.Info(node_.inputs[i]); }
  const ValueInfo& output_info(int i) const override { return body_.Info({node_.id, i}); }

  Expr input(int i) override { return body_.Forward(node_.inputs[i]); }
  Expr output(int i) override { return body_.Forward({node_.id, i}); }
  Expr input_dims(int i) override { return body_.Dims(node_.inputs[i]); }
  Expr output_dims(int i) override { return body_.Dims({node_.id, i}); }

  bool has_grad(int i) const override { return body_.Has({node_.id, i}); }
  Expr grad(int i) override { return body_.Sum({node_.id, i}); }
  Expr zero(int i) override { return body_.Zero(node_.inputs[i]); }

  bool wants(int i) const override { return body_.Wants(node_.inputs[i]); }
  void Add(int i, Expr contribution) override {
    if (wants(i)) body_.Add(node_.inputs[i], contribution);
  }
  void AddSlices(int i, Expr values, Expr indices) override {
    if (wants(i)) body_.AddSlices(node_.inputs[i], {values, indices});
  }
  Expr TakeList(int i) override { return body_.Take(node_.inputs[i]); }
  void PutList(int i, Expr list) override { body_.Add(node_.inputs[i], list); }

  ExprBuilder& builder() override { return body_.back(); }

 private:
  GradientBody& body_;
  const Node& node_;
};

}  // namespace gyre::grad
