// Scope: a function that is being written, with what is known of its values, and the structured
// nodes within it. Ops of ONNX are written with it as formulas (ir/expr.h).
//
// A value of a scope outside is reached by `Reach`, which makes it an argument: a capture. Mistakes
// are remembered, as by ExprBuilder, and those of inner scopes become their outer scope's. One
// thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/builder.h"
#include "ir/expr.h"
#include "ir/shape_context.h"

namespace gyre::onnx {

// What the scopes of one program share. The functions are those that are done.
struct Writing {
  explicit Writing(const OpLookup& ops);

  const OpLookup& ops;
  std::shared_ptr<const Program> nothing;  // an empty program
  std::vector<Function> functions;
  int num_functions = 0;  // ever begun: the number in the next one's name
};

class Scope {
 public:
  Scope(Writing& writing, std::string name, Scope* outer);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Writing& writing() { return writing_; }
  FunctionBuilder& function() { return function_; }
  ExprBuilder& b() { return builder_; }
  Scope* outer() { return outer_; }
  int depth() const { return depth_; }

  Expr Op(absl::string_view op, const std::vector<Expr>& inputs, AttrMap attrs = {}) {
    return builder_.Op(op, inputs, std::move(attrs));
  }
  // What stands for a value after a failure.
  Expr Invalid() { return builder_.At(Endpoint()); }
  bool failed() const { return !builder_.status().ok(); }
  void Fail(absl::Status status) { builder_.Fail(std::move(status)); }

  Expr Arg(absl::string_view name, DType dtype, ValueInfo info);
  // `value` of this scope or one outside, as a value of this one.
  Expr Reach(const Expr& value);
  const std::vector<std::pair<Expr, Expr>>& captures() const { return captures_; }

  // What is known of a value. Constants are known as far as they are small.
  const ValueInfo& Info(const Expr& value);
  void SetInfos(NodeId node, std::vector<ValueInfo> infos) { stated_[node] = std::move(infos); }

  const PartialShape& ShapeOf(const Expr& value) { return Info(value).shape; }
  // -1: not known.
  int RankOf(const Expr& value);
  // The elements of an integer tensor that is known; nullopt otherwise.
  std::optional<std::vector<int64_t>> IntsOf(const Expr& value);

  // Constants.
  Expr Int64(int64_t value);
  Expr Int64s(const std::vector<int64_t>& values);
  Expr Int32s(const std::vector<int64_t>& values);
  Expr Scalar(DType dtype, double value) { return builder_.Scalar(dtype, value); }

 private:
  void Infer(const Node& node);
  void Evaluate(const Node& node, const std::vector<ValueInfo>& inputs,
                std::vector<ValueInfo>& outputs);

  Writing& writing_;
  Scope* const outer_;
  const int depth_;
  FunctionBuilder function_;
  ExprBuilder builder_;
  std::vector<std::pair<Expr, Expr>> captures_;  // outer, inner
  std::map<std::pair<NodeId, int>, Expr> reached_;
  std::vector<std::vector<ValueInfo>> infos_;  // by node; as far as they were asked for
  std::map<NodeId, std::vector<ValueInfo>> stated_;
};

// Functions that are written while it lives are thrown away: something is only tried.
class Trial {
 public:
  explicit Trial(Scope& scope)
      : functions_(scope.writing().functions), before_(functions_.size()) {}
  ~Trial() { functions_.resize(before_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

 private:
  std::vector<Function>& functions_;
  const size_t before_;
};

using BodyFn = std::function<std::vector<Expr>(Scope&, const std::vector<Expr>&)>;

// If: the results of one of the two, whose types must agree. `condition`: a bool scalar.
std::vector<Expr> WriteIf(Scope& scope, const std::string& name, const Expr& condition,
                          const std::function<std::vector<Expr>(Scope&)>& then,
                          const std::function<std::vector<Expr>(Scope&)>& otherwise);

// While: `initial`, or what `body` makes of it as often as `condition` says. The body is written
// again with less known of the variables, until what is known holds for all iterations.
std::vector<Expr> WriteWhile(Scope& scope, const std::string& name,
                             const std::vector<Expr>& initial, const BodyFn& condition,
                             const BodyFn& body);

// The variables after `count` iterations (an int64 scalar); the body's first argument is the number
// of the iteration (int64).
std::vector<Expr> WriteFor(
    Scope& scope, const std::string& name, const Expr& count, const std::vector<Expr>& initial,
    const std::function<std::vector<Expr>(Scope&, const Expr& i, const std::vector<Expr>&)>& body);

}  // namespace gyre::onnx
