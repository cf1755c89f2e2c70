#include "passes/simplify.h"

#include <utility>

#include "base/work.h"
#include "ir/simplify_context.h"
#include "passes/edit/body.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/shapes.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;

constexpr absl::string_view kOwnGradient = "_gradient_op_type";

// One function while its nodes are looked at, producers first.
class Simplifier final : public SimplifyContext {
 public:
  Simplifier(const OpLookup& ops, const Effects& effects, const FunctionShapes& shapes,
             Rewrite& rewrite)
      : ops_(ops),
        shapes_(shapes),
        rewrite_(rewrite),
        body_(passes::ReadBody(rewrite.function(), effects, rewrite.run().feeds)) {}

  void Simplify();

  const Node& node() const override { return rewrite_.node(id_); }
  Endpoint InputOf(const Node& node, int i) const override {
    return rewrite_.Resolve(node.inputs[i]);
  }
  const Tensor* ConstantOf(const Node& node, int i) const override {
    const NodeId id = InputOf(node, i).node;
    return IsFixed(id) ? nullptr : ConstantValue(rewrite_.node(id));
  }
  const Node* Maker(int i, absl::string_view op) const override {
    const Node& maker = rewrite_.node(input(i).node);
    const bool is_it = maker.op != nullptr && maker.op == ops_.Find(op) && !IsFixed(maker.id) &&
                       maker.control_inputs.empty() && !maker.attrs.Has(kOwnGradient);
    return is_it ? &maker : nullptr;
  }
  DType TypeOf(Endpoint e) const override {
    return rewrite_.node(e.node).signature.outputs[e.slot].dtype;
  }
  PartialShape ShapeOf(Endpoint e) const override {
    if (const Tensor* value = ConstantValue(rewrite_.node(e.node)))
      return PartialShape(value->shape());
    return shapes_.at(e).shape;
  }
  bool IsFree(Endpoint e) const override {
    return static_cast<size_t>(e.node) >= body_.after_effects.size() ||
           !body_.after_effects[e.node];
  }
  void Replace(int output, Endpoint e) override {
    rewrite_.Replace({id_, output}, e);
    is_replaced_ = true;
  }
  Node& Edit() override { return rewrite_.Edit(id_); }

 private:
  bool IsFixed(NodeId id) const {
    return static_cast<size_t>(id) < body_.is_fixed.size() && body_.is_fixed[id];
  }

  const OpLookup& ops_;
  const FunctionShapes& shapes_;
  Rewrite& rewrite_;
  const BodyFacts body_;
  NodeId id_ = -1;            // the node that is looked at
  bool is_replaced_ = false;  // all its outputs are
};

void Simplifier::Simplify() {
  for (const NodeId id : body_.order) {
    SpendWork();
    id_ = id;
    if (!body_.IsPure(id) || !node().control_inputs.empty() || node().attrs.Has(kOwnGradient) ||
        node().op->simplify == nullptr) {
      continue;
    }
    is_replaced_ = false;
    node().op->simplify(*this);
    if (is_replaced_) rewrite_.Drop(id);
  }
}

}  // namespace

absl::StatusOr<Staged> SimplifyPass(const Staged& staged) {
  const Effects effects(*staged.program);
  const passes::KnownShapes shapes(staged);
  return passes::RewriteEach(staged, [&](absl::string_view name, Rewrite& rewrite) {
    Simplifier(staged.program->ops(), effects, shapes.Of(name), rewrite).Simplify();
    return absl::OkStatus();
  });
}

}  // namespace gyre
