#include "grad/replay/resources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/call_graph.h"
#include "ir/calls.h"
#include "ir/data_order.h"

namespace gyre::grad {
namespace {

bool IsHandle(const NodeSignature::Slot& slot) {
  return slot.dtype == DType::kResource || slot.is_ref;
}

// Makes several variables, each with a name of its own.
bool NamesSeveral(const Node& node) { return node.attrs.Has("shared_names"); }

// Its outputs are its inputs, of whatever frame or iteration.
bool GivesItsInputs(const Node& node) {
  return HandsOn(node) || (node.op != nullptr && node.op->traits.forwards &&
                           node.signature.inputs.size() == node.signature.outputs.size());
}

}  // namespace

bool ResourceSet::Join(const ResourceSet& other) {
  const size_t before = names.size();
  const bool had_any = has_any;
  has_any |= other.has_any;
  names.insert(other.names.begin(), other.names.end());
  return names.size() != before || has_any != had_any;
}

bool ResourceSet::MayMeet(const ResourceSet& other) const {
  if (names.empty() || other.names.empty() || has_any || other.has_any) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return other.names.contains(name); });
}

Resources::Resources(const Program& program) : program_(program) {
  const CallGraph calls(program);
  std::set<std::string> pending;
  const auto prepare = [&](const std::string& name, const Function& function) {
    pending.insert(name);
    for (const Node& node : function.nodes) rows_[name].emplace_back(node.num_outputs());
  };
  prepare("", program.main());
  for (const auto& [name, function] : program.functions()) prepare(name, *function);
  for (const NodeId arg : program.main().arg_nodes) rows_[""][arg][0].has_any = true;
  while (!pending.empty()) {
    const std::string name = pending.extract(pending.begin()).value();
    if (!Update(name, pending)) continue;
    pending.insert(calls.Callers(name).begin(), calls.Callers(name).end());
  }
}

const Function& Resources::Find(const std::string& function) const {
  return function.empty() ? program_.main() : *program_.FindFunction(function);
}

// Named ones are those of the session; others are known by where they are made.
ResourceSet Resources::Made(const std::string& function, const Node& node) const {
  ResourceSet made;
  // Of gradients, too: no variable.
  const bool is_array = node.role() == Role::kArray;
  const bool is_maker =
      node.op != nullptr && IsPlain(node.kind()) &&
      std::none_of(node.signature.inputs.begin(), node.signature.inputs.end(),
                   [](const auto& in) { return IsHandle(in) || in.dtype == DType::kVariant; });
  const std::string name = node.attrs.GetOr<std::string>("shared_name", "");
  const bool has_name = !name.empty() || function.empty() ||
                        (is_maker && node.op->traits.effect == Effect::kAllocate);
  if (!is_array && (!is_maker || !has_name || NamesSeveral(node))) {
    made.has_any = true;
  } else if (is_array || node.op->traits.effect == Effect::kAllocate) {
    made.names = {absl::StrCat(node.op_name, " of ", function, "/", node.name)};
  } else {
    made.names = {absl::StrCat(node.op_name, " ", node.attrs.GetOr<std::string>("container", ""),
                               "/", name.empty() ? node.name : name)};
  }
  return made;
}

bool Resources::Update(const std::string& name, std::set<std::string>& pending) {
  const Function& function = Find(name);
  Rows& rows = rows_[name];
  bool changed = false;
  for (const NodeId id : OrderByData(function).order) {
    const Node& node = function.node(id);
    if (IsStructured(node.kind())) {
      changed |= HandOver(name, node, pending);
      continue;
    }
    if (node.kind() == OpKind::kArg) continue;
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      if (!IsHandle(node.signature.outputs[slot])) continue;
      if (GivesItsInputs(node)) {
        changed |= rows[id][slot].Join(rows[node.inputs[slot].node][node.inputs[slot].slot]);
      } else {
        changed |= rows[id][slot].Join(Made(name, node));
      }
    }
  }
  return changed;
}

// Arguments to the functions of a node, and what they return to it.
bool Resources::HandOver(const std::string& name, const Node& structured,
                         std::set<std::string>& pending) {
  const size_t selectors = NumSelectorInputs(structured);
  const size_t first = NumCounterArgs(structured);
  const bool is_loop = IsLoop(structured.kind());
  Rows& rows = rows_[name];
  std::vector<ResourceSet>& outputs = rows[structured.id];
  bool changed = false;
  for (size_t i = selectors; is_loop && i < structured.inputs.size(); ++i) {
    if (IsHandle(structured.signature.inputs[i]))
      changed |=
          outputs[i - selectors].Join(rows[structured.inputs[i].node][structured.inputs[i].slot]);
  }
  for (const Callee& callee : CalleesOf(program_, structured)) {
    const Function* called = program_.FindFunction(callee.function.name);
    if (called == nullptr) continue;
    Rows& inner = rows_[called->name];
    for (size_t i = selectors; i < structured.inputs.size(); ++i) {
      const size_t arg = i - selectors + first;
      if (!IsHandle(structured.signature.inputs[i]) || arg >= called->arg_nodes.size()) continue;
      // What an iteration hands to the next is an argument, too.
      const ResourceSet& given = is_loop
                                     ? outputs[i - selectors]
                                     : rows[structured.inputs[i].node][structured.inputs[i].slot];
      if (inner[called->arg_nodes[arg]][0].Join(given)) pending.insert(called->name);
    }
    if (callee.is_condition()) continue;
    for (size_t r = 0; r < std::min(called->results.size(), outputs.size()); ++r) {
      const Endpoint value = called->results[r].value;
      if (IsHandle(structured.signature.outputs[r]))
        changed |= outputs[r].Join(inner[value.node][value.slot]);
    }
  }
  return changed;
}

const ResourceSet& Resources::Of(const std::string& function, Endpoint handle) const {
  return rows_.at(function)[handle.node][handle.slot];
}

ResourceSet Resources::WrittenBy(const std::string& function, const Node& node) const {
  ResourceSet written;
  std::set<std::string> seen, pending;
  const auto add = [&](const std::string& in, const Node& one) {
    const std::vector<Callee> callees = CalleesOf(program_, one);
    if (callees.empty()) AddWrites(in, one, written);
    for (const Callee& callee : callees) {
      const bool is_known = program_.FindFunction(callee.function.name) != nullptr;
      written.has_any |= !is_known;
      if (is_known && seen.insert(callee.function.name).second)
        pending.insert(callee.function.name);
    }
  };
  add(function, node);
  while (!pending.empty() && !written.has_any) {
    const std::string name = pending.extract(pending.begin()).value();
    for (const Node& inner : Find(name).nodes) add(name, inner);
  }
  return written;
}

void Resources::AddWrites(const std::string& function, const Node& node,
                          ResourceSet& written) const {
  const bool has_reference =
      std::any_of(node.signature.inputs.begin(), node.signature.inputs.end(),
                  [](const NodeSignature::Slot& slot) { return slot.is_ref; });
  if (node.op == nullptr || has_reference || node.kind() == OpKind::kSymbolicGradient) {
    written.has_any = true;
    return;
  }
  const Effect effect = node.op->traits.effect;
  if (effect != Effect::kWrite && effect != Effect::kIo) return;
  bool names_one = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsHandle(node.signature.inputs[i])) continue;
    const ResourceSet& one = Of(function, node.inputs[i]);
    names_one = true;
    written.has_any |= one.names.empty();
    written.Join(one);
  }
  if (!names_one) written.has_any |= effect == Effect::kWrite || node.op->traits.calls_host;
}

}  // namespace gyre::grad
