#include "analysis/value_kinds.h"

#include <algorithm>

#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"

namespace gyre {
namespace {

bool HasKinds(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [](const Node& node) {
    return node.role() == Role::kArray ||
           std::any_of(node.signature.outputs.begin(), node.signature.outputs.end(),
                       [](const auto& slot) { return slot.dtype == DType::kVariant; });
  });
}

}  // namespace

ValueKinds::ValueKinds(const Program& program)
    : program_(program), has_any_(HasKinds(program.main())) {
  for (const auto& [name, function] : program.functions()) has_any_ |= HasKinds(*function);
}

std::vector<KindRow> ValueKinds::Of(const Function& function, const KindRow& args) {
  while (true) {
    is_stale_ = false;
    evaluated_.clear();
    std::vector<KindRow> kinds = Evaluate(function, args);
    if (!is_stale_) return kinds;
    for (Entry* const entry : evaluated_) entry->state = Entry::State::kOld;
  }
}

std::vector<KindRow> ValueKinds::Evaluate(const Function& function, const KindRow& args) {
  std::vector<KindRow> kinds;
  for (const Node& node : function.nodes) kinds.emplace_back(node.num_outputs());
  if (!has_any_) return kinds;
  for (size_t i = 0; i < std::min(args.size(), function.arg_nodes.size()); ++i)
    kinds[function.arg_nodes[i]][0] = args[i];
  for (const NodeId id : OrderByData(function).order) {
    SpendWork();
    const Node& node = function.node(id);
    if (node.kind() == OpKind::kArg) continue;
    KindRow inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(kinds[e.node][e.slot]);
    kinds[id] = Outputs(node, inputs);
  }
  return kinds;
}

KindRow ValueKinds::Outputs(const Node& node, const KindRow& inputs) {
  if (IsStructured(node.kind()))
    return OutputsOfStructured(node, {inputs.begin() + NumSelectorInputs(node), inputs.end()});
  if (node.op != nullptr && node.op->kinds != nullptr) return node.op->kinds(node, inputs);
  KindRow kinds(node.num_outputs());
  if (HandsOn(node) && inputs.size() >= kinds.size()) {
    kinds.assign(inputs.begin(), inputs.begin() + node.num_outputs());
  } else if (kinds.size() == 1 && node.signature.outputs[0].dtype == DType::kVariant) {
    for (const ValueKind& input : inputs) kinds[0] = Join(kinds[0], input);  // sums, choices
  }
  return kinds;
}

KindRow ValueKinds::OutputsOfStructured(const Node& node, const KindRow& args) {
  const bool is_loop = IsLoop(node.kind());
  KindRow outputs = is_loop ? args : KindRow(node.num_outputs());
  for (const Callee& callee : CalleesOf(program_, node)) {
    if (callee.is_condition()) continue;
    for (bool changed = true; changed;) {
      KindRow inputs = is_loop ? outputs : args;
      inputs.insert(inputs.begin(), NumCounterArgs(node), ValueKind());
      const KindRow before = outputs;
      JoinRow(outputs, Results(callee.function.name, inputs));
      changed = is_loop && outputs != before;
    }
  }
  return outputs;
}

KindRow ValueKinds::Results(const std::string& name, const KindRow& args) {
  const Function* function = program_.FindFunction(name);
  if (function == nullptr) return {};
  Entry& entry = results_[{name, args}];
  if (entry.state != Entry::State::kOld) {
    entry.was_guessed |= entry.state == Entry::State::kInWork;
    return entry.kinds;
  }
  CheckStack();
  entry.state = Entry::State::kInWork;
  entry.was_guessed = false;
  evaluated_.push_back(&entry);
  const std::vector<KindRow> kinds = Evaluate(*function, args);
  KindRow results;
  for (const FunctionResult& result : function->results)
    results.push_back(kinds[result.value.node][result.value.slot]);
  JoinRow(results, entry.kinds);
  is_stale_ |= entry.was_guessed && results != entry.kinds;
  entry.kinds = std::move(results);
  entry.state = Entry::State::kKnown;
  return entry.kinds;
}

}  // namespace gyre
