#include "grad/saved_values.h"

#include <algorithm>
#include <utility>

#include "analysis/pass_through.h"
#include "base/hash_map.h"

namespace gyre::grad {
namespace {

// Elements up to which a tensor is as good as a scalar.
constexpr int64_t kFew = 4;

bool IsCount(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kInt32 || dtype == DType::kInt64;
}

}  // namespace

SavedValues::SavedValues(const Function& body, int first_arg, const FunctionShapes& shapes,
                         const std::vector<Endpoint>& needed)
    : body_(body),
      first_arg_(first_arg),
      shapes_(shapes),
      invariant_(InvariantVariables(body, first_arg)) {
  for (size_t i = 0; i < body.results.size(); ++i)
    args_[Arg(static_cast<int>(i))] = static_cast<int>(i);
  for (size_t i = 0; i < body.results.size(); ++i)
    results_.try_emplace(body.results[i].value, static_cast<int>(i));
  FindCounters();
  ChooseListed(needed);
  CarryResults();
  FindUses(needed);
}

int SavedValues::VarOfArg(Endpoint e) const {
  const auto found = args_.find(e);
  return found == args_.end() ? -1 : found->second;
}

int SavedValues::VarOfResult(Endpoint e) const {
  const auto found = results_.find(e);
  return found == results_.end() ? -1 : found->second;
}

void SavedValues::FindCounters() {
  for (size_t i = 0; i < body_.results.size(); ++i) {
    const int var = static_cast<int>(i);
    const DType dtype = body_.results[i].dtype;
    if (invariant_[i] || (dtype != DType::kInt32 && dtype != DType::kInt64)) continue;
    const Node& node = body_.node(PastIdentities(body_, body_.results[i].value).node);
    const bool subtracts = node.role() == Role::kDifference;
    if (!subtracts && node.role() != Role::kSum) continue;
    const auto is_step = [&](Endpoint e) {
      e = PastIdentities(body_, e);
      const int from = VarOfArg(e);
      return body_.node(e.node).kind() == OpKind::kConst || (from >= 0 && invariant_[from]);
    };
    const auto is_var = [&](Endpoint e) { return VarOfArg(PastIdentities(body_, e)) == var; };
    if (is_var(node.inputs[0]) && is_step(node.inputs[1])) {
      counters_.push_back({var, PastIdentities(body_, node.inputs[1]), subtracts});
    } else if (!subtracts && is_var(node.inputs[1]) && is_step(node.inputs[0])) {
      counters_.push_back({var, PastIdentities(body_, node.inputs[0]), false});
    }
  }
}

int SavedValues::CounterOf(int var) const {
  for (size_t i = 0; i < counters_.size(); ++i) {
    if (counters_[i].var == var) return static_cast<int>(i);
  }
  return -1;
}

// There without being saved.
bool SavedValues::IsFree(Endpoint e) const {
  if (body_.node(e.node).kind() == OpKind::kConst) return true;
  if (const int var = VarOfArg(e); var >= 0) return invariant_[var] || CounterOf(var) >= 0;
  const int var = VarOfResult(e);
  return var >= 0 && CounterOf(var) >= 0;
}

// Computed at least as fast as saved and fetched back.
bool SavedValues::IsCheap(const Node& node) const {
  if (node.op == nullptr || !IsPlain(node.kind()) || node.op->stateful()) return false;
  if (node.inputs.empty() || !node.control_inputs.empty()) return false;
  if (node.op->traits.computes_shapes || node.op->traits.is_view) return true;
  const auto& outputs = node.signature.outputs;
  const bool only_counts = std::all_of(outputs.begin(), outputs.end(),
                                       [](const auto& slot) { return IsCount(slot.dtype); });
  if (only_counts && node.op->traits.elementwise) return true;
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    const PartialShape& shape = shapes_.at({node.id, static_cast<int>(slot)}).shape;
    if (only_counts && shape.has_rank() && shape.rank() <= 1) continue;  // indices, dimensions
    const std::optional<Shape> known = shape.ToShape();
    if (!known || known->num_elements() > kFew) return false;
  }
  return only_counts || node.op->traits.elementwise;
}

bool SavedValues::IsAvailable(Endpoint e, const Set& listed, HashMap<Endpoint, bool>& known) const {
  if (listed.contains(e) || IsFree(e)) return true;
  const Node& node = body_.node(e.node);
  if (node.kind() == OpKind::kArg || !IsCheap(node)) return false;
  if (const auto found = known.find(e); found != known.end()) return found->second;
  const bool available = std::all_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint input) {
    return IsAvailable(input, listed, known);
  });
  return known[e] = available;
}

void SavedValues::ChooseListed(const std::vector<Endpoint>& needed) {
  Set listed;
  for (const Endpoint& e : needed) {
    if (!IsFree(e) && listed.insert(e).second) listed_.push_back(e);
  }
  // The last first: what is computed from others goes before these do.
  std::vector<Endpoint> candidates = listed_;
  std::sort(candidates.begin(), candidates.end(),
            [](Endpoint a, Endpoint b) { return a.node > b.node; });
  for (const Endpoint& e : candidates) {
    listed.erase(e);
    HashMap<Endpoint, bool> known;
    if (!IsAvailable(e, listed, known)) listed.insert(e);
  }
  std::erase_if(listed_, [&](Endpoint e) { return !listed.contains(e); });
}

void SavedValues::CarryResults() {
  std::erase_if(listed_, [&](Endpoint e) {
    const int var = VarOfArg(e) >= 0 ? -1 : VarOfResult(e);
    const bool has_arg =
        var >= 0 && std::find(listed_.begin(), listed_.end(), Arg(var)) != listed_.end();
    if (has_arg) carried_.push_back(var);
    return has_arg;
  });
}

// Everything that Write reads.
class SavedValues::Writer {
 public:
  Writer(const SavedValues& saved, const Given& given, ExprBuilder& builder)
      : saved_(saved), builder_(builder) {
    for (size_t i = 0; i < given.listed.size(); ++i) values_[saved.listed_[i]] = given.listed[i];
    for (size_t i = 0; i < given.carried.size(); ++i)
      values_[saved.body_.results[saved.carried_[i]].value] = given.carried[i];
    for (size_t i = 0; i < given.invariants.size(); ++i)
      values_[saved.Arg(saved.invariants_used_[i])] = given.invariants[i];
    for (size_t i = 0; i < given.counters.size(); ++i) {
      const Counter& counter = saved.counters_used_[i];
      values_[saved.body_.results[counter.var].value] = given.counters[i];
      const Expr step = Value(counter.step);
      values_[saved.Arg(counter.var)] =
          counter.subtracts ? given.counters[i] + step : given.counters[i] - step;
    }
  }

  Expr Value(Endpoint e) {
    if (const auto known = values_.find(e); known != values_.end()) return known->second;
    const Node& node = saved_.body_.node(e.node);
    if (node.kind() == OpKind::kConst) {
      return values_[e] = builder_.Constant(*node.attrs.Get<Tensor>("value"));
    }
    std::vector<Endpoint> inputs;
    for (const Endpoint& input : node.inputs) inputs.push_back(Value(input).endpoint());
    const NodeId copy = builder_.function().Copy(node, std::move(inputs), {});
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      values_[{node.id, slot}] = builder_.At({copy, slot});
    return values_[e];
  }

 private:
  const SavedValues& saved_;
  ExprBuilder& builder_;
  HashMap<Endpoint, Expr> values_;
};

void SavedValues::FindUses(const std::vector<Endpoint>& needed) {
  Set seen(listed_.begin(), listed_.end());
  for (const int var : carried_) seen.insert(body_.results[var].value);
  std::vector<bool> counters(counters_.size()), invariants(invariant_.size());
  std::vector<Endpoint> open = needed;
  while (!open.empty()) {
    const Endpoint e = open.back();
    open.pop_back();
    if (!seen.insert(e).second) continue;
    const int arg = VarOfArg(e);
    const int var = arg >= 0 ? arg : VarOfResult(e);
    const int counter = var >= 0 ? CounterOf(var) : -1;
    if (counter >= 0) {
      counters[counter] = true;
      open.push_back(counters_[counter].step);
    } else if (arg >= 0) {
      invariants[arg] = true;
    } else {
      const std::vector<Endpoint>& inputs = body_.node(e.node).inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }
  for (size_t i = 0; i < counters.size(); ++i) {
    if (counters[i]) counters_used_.push_back(counters_[i]);
  }
  for (size_t i = 0; i < invariants.size(); ++i) {
    if (invariants[i]) invariants_used_.push_back(static_cast<int>(i));
  }
}

std::vector<Expr> SavedValues::Write(const std::vector<Endpoint>& needed, const Given& given,
                                     ExprBuilder& builder, std::vector<Expr>& before) const {
  Writer writer(*this, given, builder);
  std::vector<Expr> values;
  for (const Endpoint& e : needed) values.push_back(writer.Value(e));
  for (const Counter& counter : counters_used_) before.push_back(writer.Value(Arg(counter.var)));
  return values;
}

}  // namespace gyre::grad
