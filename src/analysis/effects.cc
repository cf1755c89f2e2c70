#include "analysis/effects.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/refusals.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/type_attrs.h"

namespace gyre {
namespace {

// Resources without a name of their own take the node's; so do random numbers and counts of prints.
bool HangsOnName(const Node& node) {
  const auto* shared_name = node.attrs.Get<std::string>("shared_name");
  const bool is_unnamed = shared_name != nullptr && shared_name->empty();
  const auto* shared_names = node.attrs.Get<std::vector<std::string>>("shared_names");
  return is_unnamed || shared_names != nullptr || node.attrs.GetOr<int64_t>("first_n", -1) >= 0;
}

EffectSet OfEffect(Effect effect) {
  switch (effect) {
    case Effect::kNone:
      return {};
    case Effect::kRead:
      return EffectSet::kRead;
    case Effect::kWrite:
      return EffectSet::kWrite;
    case Effect::kAllocate:
      return EffectSet::kAllocate;
    case Effect::kRandom:
      return EffectSet::kRandom | EffectSet::kByName;
    case Effect::kIo:
      return EffectSet::kTalk;
  }
  return EffectSet::kUnclear;
}

// Of what nobody knows.
constexpr EffectSet kAnything =
    EffectSet::kRead | EffectSet::kWrite | EffectSet::kTalk | EffectSet::kUnclear;

bool CallsFit(const Program& program, const Node& node) {
  return !CalleesOf(program, node).empty() && CheckCallees(program, node).ok();
}

// Whether a call of the function, whose nodes `needed` says, runs some that no result needs.
bool RunsMore(const Function& function, const std::vector<bool>& needed) {
  RunSignature for_results = CallSignature(function);
  if (for_results.targets.empty()) return false;
  for_results.targets.clear();
  return needed != NeededNodes(function, for_results);
}

// A function by its name, as a node of its own.
bool IsCallByName(const Program& program, const Node& node) {
  return node.op == nullptr && program.FindFunction(node.op_name) != nullptr;
}

}  // namespace

EffectSet OwnEffects(const Node& node) {
  if (IsStructured(node.kind())) return HasReferences(node) ? EffectSet::kUnclear : EffectSet();
  if (node.op == nullptr) return kAnything;
  EffectSet effects = OfEffect(node.op->traits.effect);
  if (HangsOnName(node)) effects |= EffectSet::kByName;
  const bool is_unclear =
      MovesDeadness(node) || HasReferences(node) || node.kind() == OpKind::kSymbolicGradient;
  if (is_unclear) effects |= EffectSet::kUnclear;
  return effects;
}

bool HasReferences(const Node& node) {
  const auto is_ref = [](const NodeSignature::Slot& slot) { return slot.is_ref; };
  return std::any_of(node.signature.inputs.begin(), node.signature.inputs.end(), is_ref) ||
         std::any_of(node.signature.outputs.begin(), node.signature.outputs.end(), is_ref);
}

bool MovesDeadness(const Node& node) {
  return IsPrimitive(node.kind()) || node.kind() == OpKind::kControlTrigger ||
         node.kind() == OpKind::kTransfer;
}

bool IsOpaque(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(),
                     [](const Node& node) { return MovesDeadness(node) || IsGeneric(node); }) ||
         std::any_of(function.args.begin(), function.args.end(), [](const FunctionArg& arg) {
           return arg.is_ref || arg.dtype == DType::kInvalid;
         });
}

// Effects spread from callees to callers until nothing changes, so that functions which call each
// other share theirs.
Effects::Effects(const Program& program) : program_(program) {
  for (const std::string& name : RecursiveFunctions(program)) recursive_.insert(name);
  HashMap<std::string, std::vector<std::string>> callers;
  std::vector<std::string> work;
  for (const auto& [name, function] : program.functions()) {
    EffectSet effects = IsOpaque(*function) ? EffectSet::kUnclear : EffectSet();
    const std::vector<bool> needed = NeededNodes(*function, CallSignature(*function));
    if (RunsMore(*function, needed)) effects |= EffectSet::kMore;
    for (const Node& node : function->nodes) {
      SpendWork();
      if (!needed[node.id]) continue;
      const bool is_call = IsStructured(node.kind()) || IsCallByName(program, node);
      if (!IsCallByName(program, node)) effects |= OwnEffects(node);
      if (IsStructured(node.kind()) && !CallsFit(program, node)) effects |= kAnything;
      if (!is_call) continue;
      for (const Callee& callee : CalleesOf(program, node))
        callers[callee.function.name].push_back(name);
    }
    of_[name] = effects;
    if (effects != EffectSet()) work.push_back(name);
  }
  while (!work.empty()) {
    const std::string name = std::move(work.back());
    work.pop_back();
    for (const std::string& caller : callers[name]) {
      EffectSet& effects = of_[caller];
      const EffectSet before = effects;
      effects |= of_[name];
      if (effects != before) work.push_back(caller);
    }
  }
}

EffectSet Effects::OfFunction(absl::string_view name) const {
  const auto it = of_.find(name);
  return it == of_.end() ? kAnything : it->second;
}

bool Effects::IsRecursive(absl::string_view function) const {
  return recursive_.find(function) != recursive_.end();
}

EffectSet Effects::Of(const Node& node) const {
  if (IsCallByName(program_, node)) return OfFunction(node.op_name);
  EffectSet effects = OwnEffects(node);
  if (!IsStructured(node.kind())) return effects;
  if (!CallsFit(program_, node)) effects |= kAnything;
  for (const Callee& callee : CalleesOf(program_, node))
    effects |= OfFunction(callee.function.name);
  return effects;
}

}  // namespace gyre
