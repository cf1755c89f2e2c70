#include "passes/resolve.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ops/control/condition.h"
#include "ops/control/for_trip_count.h"
#include "passes/edit/body.h"
#include "passes/edit/evaluate.h"
#include "passes/edit/interface.h"
#include "passes/edit/staged_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::Rewrite;

class Resolver {
 public:
  Resolver(const Effects& effects, Rewrite& rewrite)
      : effects_(effects),
        program_(effects.program()),
        rewrite_(rewrite),
        body_(passes::ReadBody(rewrite.function(), effects, rewrite.run().feeds)) {}

  absl::Status Resolve() {
    for (const NodeId id : body_.order) {
      SpendWork();
      const Node& node = rewrite_.node(id);
      if (!IsStructured(node.kind()) || body_.is_fixed[id] ||
          body_.effects[id].Has(EffectSet::kUnclear)) {
        continue;
      }
      GYRE_RETURN_IF_ERROR(ResolveNode(node));
    }
    return absl::OkStatus();
  }

 private:
  const Tensor* Constant(Endpoint e) const { return passes::ConstantOf(rewrite_, body_, e); }

  absl::Status ResolveNode(const Node& node) {
    if (IsConditional(node.kind())) {
      const std::optional<int> taken = TakenBranch(node);
      return taken ? BecomeCall(node, *taken, NumSelectorInputs(node)) : absl::OkStatus();
    }
    if (!IsLoop(node.kind()) || body_.effects[node.id].Has(EffectSet::kByName))
      return absl::OkStatus();
    const bool counts = SelectorOf(node) == Selector::kBounds;
    const std::optional<int> iterations = counts ? IterationsOfFor(node) : IterationsOfWhile(node);
    if (iterations == 0) return BecomeInputs(node);
    if (iterations == 1) return counts ? BecomeCallOfFor(node) : BecomeCall(node, 1, 0);
    return absl::OkStatus();
  }

  std::optional<int> TakenBranch(const Node& node) const {
    const Tensor* selector = Constant(node.inputs[0]);
    if (selector == nullptr) return std::nullopt;
    const absl::StatusOr<int> chosen = ChosenFunction(
        SelectorOf(node), *selector, static_cast<int>(CalleesOf(program_, node).size()));
    return chosen.ok() ? std::optional<int>(*chosen) : std::nullopt;
  }

  // 0, 1, or nothing: more, or not known.
  std::optional<int> IterationsOfWhile(const Node& node) const {
    const std::vector<Callee> callees = CalleesOf(program_, node);
    const Function& cond = *program_.FindFunction(callees[0].function.name);
    if (!effects_.OfFunction(cond.name).IsPure()) return std::nullopt;
    std::vector<Tensor> values;
    for (const Endpoint& e : node.inputs) {
      const Tensor* constant = Constant(e);
      values.push_back(constant == nullptr ? Tensor() : *constant);
    }
    for (const int iterations : {0, 1}) {
      const Tensor result = passes::EvaluateCall(effects_, cond, values)[0];
      if (!result.has_value()) return std::nullopt;
      const absl::StatusOr<bool> goes_on = Truth(result);
      if (!goes_on.ok()) return std::nullopt;
      if (!*goes_on) return iterations;
      const Function& body = *program_.FindFunction(callees[1].function.name);
      if (iterations == 0) values = passes::EvaluateCall(effects_, body, values);
    }
    return std::nullopt;
  }

  std::optional<int> IterationsOfFor(const Node& node) const {
    const Tensor* const start = Constant(node.inputs[0]);
    const Tensor* const limit = Constant(node.inputs[1]);
    const Tensor* const delta = Constant(node.inputs[2]);
    if (start == nullptr || limit == nullptr || delta == nullptr) return std::nullopt;
    const absl::StatusOr<int64_t> iterations = CountIterations(*start, *limit, *delta);
    if (!iterations.ok() || *iterations > 1) return std::nullopt;
    return static_cast<int>(*iterations);
  }

  absl::Status BecomeInputs(const Node& structured) {
    const Node node = structured;
    const int selectors = NumSelectorInputs(node);
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      Endpoint value = node.inputs[slot + selectors];
      if (!node.control_inputs.empty()) {  // they hold up what comes out, too
        GYRE_ASSIGN_OR_RETURN(const NodeId held,
                              rewrite_.Add("Identity", {value}, {},
                                           {.name = absl::StrCat(node.name, "/", slot),
                                            .control_inputs = node.control_inputs,
                                            .like = &node,
                                            .before = node.id}));
        value = {held, 0};
      }
      rewrite_.Replace({node.id, slot}, value);
    }
    rewrite_.Drop(node.id);
    return absl::OkStatus();
  }

  // A call of one of the structured node's functions with its inputs, the first `skipped` left out.
  absl::Status BecomeCall(const Node& structured, int callee, int skipped) {
    const std::vector<Endpoint> args(structured.inputs.begin() + skipped, structured.inputs.end());
    return BecomeCall(structured, CalleesOf(program_, structured)[callee].function, args);
  }

  absl::Status BecomeCallOfFor(const Node& structured) {
    std::vector<Endpoint> args = {structured.inputs[0]};
    args.insert(args.end(), structured.inputs.begin() + NumSelectorInputs(structured),
                structured.inputs.end());
    return BecomeCall(structured, CalleesOf(program_, structured)[0].function, std::move(args));
  }

  absl::Status BecomeCall(const Node& structured, const FunctionRef& function,
                          std::vector<Endpoint> args) {
    std::vector<DType> types;
    for (const Endpoint& e : args)
      types.push_back(rewrite_.node(e.node).signature.outputs[e.slot].dtype);
    const bool has_effects = !effects_.OfFunction(function.name).MayDrop();
    GYRE_ASSIGN_OR_RETURN(Node call, passes::CallInstead(program_.ops(), structured, function,
                                                         has_effects, std::move(args), types));
    call.id = structured.id;
    rewrite_.Edit(call.id) = std::move(call);
    return absl::OkStatus();
  }

  const Effects& effects_;
  const Program& program_;
  Rewrite& rewrite_;
  const BodyFacts body_;
};

}  // namespace

absl::StatusOr<Staged> ResolvePass(const Staged& staged) {
  const Effects effects(*staged.program);
  return passes::RewriteEach(staged, [&](absl::string_view, Rewrite& rewrite) {
    return Resolver(effects, rewrite).Resolve();
  });
}

}  // namespace gyre
