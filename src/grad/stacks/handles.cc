#include "grad/stacks/handles.h"

#include <algorithm>
#include <utility>

#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"

namespace gyre::grad {
namespace {

bool MayBeHandle(const Function& function, size_t arg) {
  const auto& slot = function.node(function.arg_nodes[arg]).signature.outputs[0];
  return slot.dtype == DType::kResource || slot.is_ref;
}

}  // namespace

// Both grow until nothing changes, so that functions which call each other are no special case.
StackHandles::StackHandles(const Program& program) : program_(program) {
  for (const auto& [name, function] : program.functions()) {
    summaries_[name] = {std::vector<bool>(function->args.size()),
                        std::vector<int>(function->results.size(), -1)};
  }
  const auto repeat = [&](bool (StackHandles::*find)(const Function&, Summary&) const) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [name, function] : program.functions())
        changed |= (this->*find)(*function, summaries_[name]);
    }
  };
  repeat(&StackHandles::FindReturned);
  repeat(&StackHandles::FindUses);
}

bool StackHandles::Uses(const std::string& function, size_t arg) const {
  const auto found = summaries_.find(function);
  return found == summaries_.end() || arg >= found->second.uses.size() || found->second.uses[arg];
}

int StackHandles::Returned(const std::string& function, size_t result) const {
  const auto found = summaries_.find(function);
  if (found == summaries_.end() || result >= found->second.returned.size()) return -1;
  return found->second.returned[result];
}

bool StackHandles::Loses(const Node& structured, size_t input, const StackRows& rows) const {
  const size_t passed = input - NumSelectorInputs(structured);
  const int arg = ArgOfInput(structured, static_cast<int>(input));
  const int stack = rows[structured.inputs[input].node][structured.inputs[input].slot];
  for (const Callee& callee : CalleesOf(program_, structured)) {
    if (callee.is_condition()) continue;
    if (IsLoop(structured.kind()) && Returned(callee.function.name, passed) != arg) return true;
    for (int slot = 0; slot < structured.num_outputs(); ++slot) {
      if (Returned(callee.function.name, slot) == arg && rows[structured.id][slot] != stack)
        return true;
    }
  }
  return false;
}

bool StackHandles::UsesInput(const Node& node, size_t input, const StackRows& rows) const {
  if (!IsStructured(node.kind()))
    return !HandsOn(node) || input >= static_cast<size_t>(node.num_outputs());
  const int arg = ArgOfInput(node, static_cast<int>(input));
  if (arg < 0 || Loses(node, input, rows)) return true;
  const std::vector<Callee> callees = CalleesOf(program_, node);
  return callees.empty() || std::any_of(callees.begin(), callees.end(), [&](const Callee& callee) {
           return Uses(callee.function.name, arg);
         });
}

// Arguments count as stacks of their own.
StackRows StackHandles::FollowArgs(const Function& function) const {
  std::vector<int> args(function.args.size(), kNoStack);
  for (size_t i = 0; i < args.size(); ++i) {
    if (MayBeHandle(function, i)) args[i] = static_cast<int>(i);
  }
  return Follow(function, args, {});
}

bool StackHandles::FindReturned(const Function& function, Summary& summary) const {
  const StackRows rows = FollowArgs(function);
  std::vector<int> returned;
  returned.reserve(function.results.size());
  for (const FunctionResult& result : function.results)
    returned.push_back(rows[result.value.node][result.value.slot]);
  return std::exchange(summary.returned, returned) != returned;
}

bool StackHandles::FindUses(const Function& function, Summary& summary) const {
  const StackRows rows = FollowArgs(function);
  std::vector<bool> uses(function.args.size());
  for (const Node& node : function.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int arg = rows[node.inputs[i].node][node.inputs[i].slot];
      if (arg != kNoStack && !uses[arg]) uses[arg] = UsesInput(node, i, rows);
    }
  }
  return std::exchange(summary.uses, uses) != uses;
}

// The stack that all functions of the node return there.
int StackHandles::OutputOfStructured(const Node& node, size_t slot, const StackRows& rows) const {
  int stack = kNoStack;
  bool is_first = true;
  for (const Callee& callee : CalleesOf(program_, node)) {
    if (callee.is_condition()) continue;
    const int arg = Returned(callee.function.name, slot);
    const int input = arg < 0 ? -1 : InputOfArg(node, arg);
    if (input < 0 || input >= static_cast<int>(node.inputs.size())) return kNoStack;
    // A loop may make no iteration.
    const int variable = static_cast<int>(slot) + NumCounterArgs(node);
    if (IsLoop(node.kind()) && arg != variable) return kNoStack;
    const int here = rows[node.inputs[input].node][node.inputs[input].slot];
    if (!is_first && here != stack) return kNoStack;
    stack = here;
    is_first = false;
  }
  return stack;
}

StackRows StackHandles::Follow(const Function& function, const std::vector<int>& args,
                               const std::map<NodeId, int>& own) const {
  StackRows rows;
  rows.reserve(function.nodes.size());
  for (const Node& node : function.nodes) rows.emplace_back(node.num_outputs(), kNoStack);
  for (size_t i = 0; i < args.size(); ++i) rows[function.arg_nodes[i]][0] = args[i];
  for (const auto& [maker, stack] : own) rows[maker][0] = stack;
  for (const NodeId id : OrderByData(function).order) {
    SpendWork();
    const Node& node = function.node(id);
    const size_t outputs = node.num_outputs();
    for (size_t slot = 0; slot < outputs; ++slot) {
      if (IsStructured(node.kind())) {
        rows[id][slot] = OutputOfStructured(node, slot, rows);
      } else if (HandsOn(node)) {
        rows[id][slot] = rows[node.inputs[slot].node][node.inputs[slot].slot];
      }
    }
  }
  return rows;
}

}  // namespace gyre::grad
