#include "passes/fold.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ops/registry.h"
#include "passes/edit/body.h"
#include "passes/edit/evaluate.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/shapes.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;

// One function's constants as they are found.
class Folder {
 public:
  Folder(const Effects& effects, const FunctionShapes& shapes, Rewrite& rewrite)
      : shapes_(shapes),
        rewrite_(rewrite),
        body_(passes::ReadBody(rewrite.function(), effects, rewrite.run().feeds)),
        values_(rewrite.function().nodes.size()) {}

  void Fold() {
    FindReadOutputs();
    for (const NodeId id : body_.order) {
      SpendWork();
      if (!body_.IsPure(id)) continue;
      if (const Tensor* value = ConstantValue(rewrite_.node(id))) {
        values_[id] = {*value};
      } else if (auto outputs = Evaluate(rewrite_.node(id))) {
        Become(id, *std::move(outputs));
      }
    }
  }

 private:
  void FindReadOutputs() {
    const Function& function = rewrite_.function();
    for (const Node& node : function.nodes) read_.insert(node.inputs.begin(), node.inputs.end());
    for (const FunctionResult& result : function.results) read_.insert(result.value);
    for (const Endpoint& fetch : rewrite_.run().fetches) read_.insert(fetch);
  }

  std::optional<std::vector<Tensor>> Evaluate(const Node& node) const {
    if (!IsPlain(node.kind()) || node.kind() == OpKind::kConst || node.num_outputs() == 0)
      return std::nullopt;
    std::vector<Tensor> inputs;
    for (const Endpoint& e : node.inputs) {
      if (values_[e.node].empty()) return FromShapes(node);
      inputs.push_back(values_[e.node][e.slot]);
    }
    return inputs.empty() ? std::nullopt : passes::EvaluatePure(node, std::move(inputs));
  }

  std::optional<std::vector<Tensor>> FromShapes(const Node& node) const {
    std::vector<Tensor> outputs;
    if (!shapes_.IsComputed(node.id)) return std::nullopt;
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      const Tensor& constant = shapes_.at({node.id, slot}).constant;
      if (!constant.has_value() || constant.dtype() != node.signature.outputs[slot].dtype)
        return std::nullopt;
      outputs.push_back(constant);
    }
    return outputs;
  }

  void Become(NodeId id, std::vector<Tensor> outputs) {
    std::vector<NodeId> waits = rewrite_.node(id).control_inputs;
    for (const Endpoint& e : rewrite_.node(id).inputs) {
      if (body_.after_effects[e.node]) waits.push_back(e.node);
    }
    if (waits.empty()) values_[id] = outputs;
    if (outputs.size() == 1) {
      passes::MakeConstant(Ops(), outputs[0], std::move(waits), rewrite_.Edit(id));
      return;
    }
    const Node node = rewrite_.node(id);
    for (int slot = 0; slot < static_cast<int>(outputs.size()); ++slot) {
      if (!read_.contains({id, slot})) continue;
      const Endpoint constant = rewrite_.AddConstant(
          outputs[slot], {.name = slot == 0 ? node.name : absl::StrCat(node.name, "/", slot),
                          .control_inputs = waits,
                          .like = &node,
                          .before = id});
      rewrite_.Replace({id, slot}, constant);
    }
    rewrite_.Drop(id);
  }

  const FunctionShapes& shapes_;
  Rewrite& rewrite_;
  const BodyFacts body_;
  std::vector<std::vector<Tensor>> values_;  // by node: its outputs, if known
  HashSet<Endpoint> read_;
};

}  // namespace

absl::StatusOr<Staged> FoldPass(const Staged& staged) {
  const Effects effects(*staged.program);
  const passes::KnownShapes shapes(staged);
  return passes::RewriteEach(staged, [&](absl::string_view name, Rewrite& rewrite) {
    Folder(effects, shapes.Of(name), rewrite).Fold();
    return absl::OkStatus();
  });
}

}  // namespace gyre
