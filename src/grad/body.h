// GradientBody: one function (or the main graph) while its gradient is written.
//
// Two sides. Forward: the function itself, whose nodes keep their ids; structured nodes are
// extended, and nodes that only the gradient needs (shapes) are added. Backward: for the main graph
// the same function; for others a function of its own, to which forward values come as arguments.
// Walk visits nodes from the last to the first and adds up adjoints. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "grad/slices.h"
#include "grad/transform.h"
#include "ir/expr.h"
#include "ir/shape_context.h"

namespace gyre::grad {

class GradientBody {
 public:
  // The main graph; `varied` marks what depends on what is asked for.
  GradientBody(GradientTransform& transform, const Function& main, Marks varied);
  // A function. Its arguments that are wanted are what is asked for.
  GradientBody(GradientTransform& transform, const Function& function,
               const FunctionRequest& request);
  GradientBody(const GradientBody&) = delete;

  GradientTransform& transform() { return transform_; }
  FunctionBuilder& forward() { return forward_; }
  ExprBuilder& back() { return back_; }
  const Function& original() const { return original_; }
  bool IsMain() const { return own_backward_ == nullptr; }

  // Forward values on the backward side. Of a function, asking is what saves them.
  Expr Forward(Endpoint e);
  const ValueInfo& Info(Endpoint e) const { return shapes_.at(e); }
  // The value's shape, on the backward side, as an int32 vector: constant where it is known. Of a
  // handle: the variable's.
  Expr Dims(Endpoint e);
  const ValueKind& KindOf(Endpoint e) const;
  // Of one more output of a node.
  void AddKind(NodeId node, ValueKind kind) {
    if (kinds_.size() <= static_cast<size_t>(node)) kinds_.resize(node + 1);
    kinds_[node].push_back(std::move(kind));
  }
  // Of the value's adjoint; kInvalid when it is not known.
  DType AdjointType(Endpoint e) const;
  // Whether the adjoint is a list that is changed rather than added to.
  bool IsList(Endpoint e) const { return KindOf(e).IsList() || KindOf(e).IsFlow(); }
  // Whether the sum so far goes through a structured node that adds to it: lists, and what came as
  // a seed.
  bool Threads(Endpoint e) const { return IsList(e) || threaded_.contains(e); }
  void Thread(Endpoint e) { threaded_.insert(e); }
  // An adjoint that is zero.
  Expr Zero(Endpoint e);

  // Adjoints so far.
  bool Has(Endpoint e) const { return adjoints_.contains(e); }
  bool Wants(Endpoint e) const { return varied_[e.node][e.slot]; }
  void Add(Endpoint e, Expr dense);
  void AddSlices(Endpoint e, Slices slices);
  // The sum so far; what is added afterwards begins with its successor.
  Expr Take(Endpoint e);
  // The sum: of any form, or made dense. Requirement for the former: Has(e).
  Form FormOf(Endpoint e) const;
  Slices SumSlices(Endpoint e);
  Expr Sum(Endpoint e);
  void Forget(Endpoint e) { adjoints_.erase(e); }

  // `stops`: of the main graph, values whose adjoints go no further.
  absl::Status Walk(const std::vector<Endpoint>& stops = {});

  // Of a function, afterwards.
  absl::StatusOr<FunctionGradient> Finish(const FunctionRequest& request);
  // Of the main graph.
  absl::StatusOr<Function> FinishMain();

 private:
  struct Adjoint {
    std::vector<Expr> dense;
    std::vector<Slices> slices;
  };

  bool HasAny(const Node& node) const;
  // INVALID_ARGUMENT where the node changes an array that another node changes from the same flow:
  // the gradient follows the flow, and cannot tell which came first. UNIMPLEMENTED where it is not
  // known which array a flow is of.
  absl::Status CheckFlows(const Node& node) const;
  absl::Status Differentiate(const Node& node);
  absl::Status ApplyRule(const Node& node);
  Expr SumOfMany(Endpoint e, std::vector<Expr> parts);
  absl::StatusOr<Endpoint> AddForward(absl::string_view op, Endpoint input);

  GradientTransform& transform_;
  const Function& original_;
  const FunctionShapes& shapes_;
  std::vector<KindRow> kinds_;
  Marks varied_;
  FunctionBuilder forward_;
  std::unique_ptr<FunctionBuilder> own_backward_;  // null: the main graph
  ExprBuilder back_;
  HashMap<Endpoint, Adjoint> adjoints_;
  HashMap<Endpoint, Expr> values_;  // forward values on the backward side
  std::vector<Endpoint> saved_;
  HashSet<Endpoint> threaded_;
  HashMap<Endpoint, Endpoint> dims_;  // forward nodes that compute shapes
};

// How structured nodes are differentiated: they are extended on the forward side, and their
// gradient is a structured node on the backward side.
absl::Status DifferentiateBranches(GradientBody& body, const Node& structured);
absl::Status DifferentiateLoop(GradientBody& body, const Node& structured);
absl::Status DifferentiateCall(GradientBody& body, const Node& structured);

// The gradient of a node by a function that the program brings along: name(inputs, adjoints of all
// outputs) -> adjoints of all inputs. INVALID_ARGUMENT when it does not fit.
absl::Status ApplyOwnGradient(GradientBody& body, const Node& node, const std::string& name);

}  // namespace gyre::grad
