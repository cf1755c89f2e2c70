#include "grad/stacks/flow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"

namespace gyre::grad {
namespace {

// Follows values through the whole program until nothing more is found.
class StackFlow {
 public:
  // Of what is asked for of `function`.
  StackFlow(const Program& program, const Function& function, const Asked& asked)
      : program_(program), dependence_(program) {
    index_of_[&function] = Start(function, &asked.stops);
    for (const Endpoint& x : asked.xs) entries_[0].marks[x.node][x.slot] |= kVaried;
  }

  void Run() {
    for (bool again = true; again;) {
      again = std::exchange(pushed_more_, false);
      for (size_t i = 0; i < entries_.size(); ++i) {  // grows
        if (!std::exchange(entries_[i].is_changed, false)) continue;
        Visit(i);
        again = true;
      }
      if (!pushed_more_) continue;
      for (Entry& entry : entries_) entry.is_changed = true;
    }
  }

  // The pop that a value comes from, if it comes from one that depends on what is marked.
  PopOnTheWay PopBehind(Endpoint e) const {
    const Bits bits = entries_[0].marks[e.node][e.slot];
    if ((bits & kPopped) == 0) return {};
    for (const PopOnTheWay& pop : pops_) {
      if ((bits & BitOf(pop.dtype)) != 0) return pop;
    }
    return {};
  }

 private:
  // What a value depends on: one bit says what is marked, the others, by dtype, a stack of it.
  using Bits = uint64_t;
  static constexpr Bits kVaried = 1;
  static constexpr Bits kPopped = ~kVaried;
  static Bits BitOf(DType dtype) { return Bits{2} << (static_cast<unsigned>(dtype) % 62); }

  struct Entry {
    const Function* function;
    const std::vector<Endpoint>* stops;  // null: none
    std::vector<NodeId> order;
    std::vector<std::vector<Bits>> marks;  // by node, then output
    std::vector<size_t> callers;
    bool is_changed = true;
  };

  size_t Start(const Function& function, const std::vector<Endpoint>* stops) {
    Entry entry{&function, stops, OrderByData(function).order, {}, {}};
    for (const Node& node : function.nodes) entry.marks.emplace_back(node.num_outputs());
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
  }

  size_t EntryOf(const Function& function, size_t caller) {
    const auto [found, is_new] = index_of_.try_emplace(&function, entries_.size());
    if (is_new) Start(function, nullptr);
    const size_t index = found->second;
    std::vector<size_t>& callers = entries_[index].callers;
    if (std::find(callers.begin(), callers.end(), caller) == callers.end())
      callers.push_back(caller);
    return index;
  }

  Bits MarkOf(size_t entry, Endpoint e) const { return entries_[entry].marks[e.node][e.slot]; }

  void Visit(size_t index) {
    const Function& function = *entries_[index].function;
    const std::vector<NodeId> order = entries_[index].order;
    for (const NodeId id : order) {
      SpendWork();
      const Node& node = function.node(id);
      std::vector<Bits> inputs;
      inputs.reserve(node.inputs.size());
      for (const Endpoint& e : node.inputs) inputs.push_back(MarkOf(index, e));
      std::vector<Bits> outputs(node.num_outputs());
      if (IsStructured(node.kind())) {
        outputs = ThroughStructured(index, node, inputs);
      } else if (IsStackPush(node)) {
        outputs = {inputs[1]};
        Push(node.signature.inputs[1].dtype, inputs[1]);
      } else if (IsStackPop(node)) {
        outputs = {Pop(function, node)};
      } else {
        outputs = ThroughOp(node, inputs);
      }
      bool changed = false;
      for (int slot = 0; slot < node.num_outputs(); ++slot) {
        Bits& mark = entries_[index].marks[id][slot];
        Bits more = HasDerivative(node.signature.outputs[slot].dtype) ? outputs[slot] & ~mark : 0;
        if (more == 0 || IsStopped(index, {id, slot})) continue;
        mark |= more;
        changed = true;
      }
      if (!changed) continue;
      entries_[index].is_changed = true;  // it may be recursive, or have loops of primitives
      for (const size_t caller : entries_[index].callers) entries_[caller].is_changed = true;
    }
  }

  bool IsStopped(size_t index, Endpoint e) const {
    const auto* stops = entries_[index].stops;
    return stops != nullptr && std::find(stops->begin(), stops->end(), e) != stops->end();
  }

  std::vector<Bits> ThroughOp(const Node& node, const std::vector<Bits>& inputs) const {
    std::vector<Bits> outputs(node.num_outputs());
    Bits all = 0;
    for (const Bits bits : inputs) all |= bits;
    for (; all != 0; all &= all - 1) {
      const Bits bit = all & -all;
      std::vector<bool> has;
      has.reserve(inputs.size());
      for (const Bits bits : inputs) has.push_back((bits & bit) != 0);
      const std::vector<bool> leads = dependence_.Outputs(node, has);
      for (size_t slot = 0; slot < leads.size(); ++slot) {
        if (leads[slot]) outputs[slot] |= bit;
      }
    }
    return outputs;
  }

  void Push(DType dtype, Bits bits) {
    if (bits == 0 || !HasDerivative(dtype) || pushed_[dtype]) return;
    pushed_[dtype] = true;
    pushed_more_ = true;
  }

  Bits Pop(const Function& function, const Node& node) {
    const DType dtype = node.signature.outputs[0].dtype;
    if (!pushed_[dtype]) return 0;
    const bool is_known = std::any_of(pops_.begin(), pops_.end(),
                                      [&](const auto& pop) { return pop.dtype == dtype; });
    if (!is_known) pops_.push_back({&function, node.id, dtype});
    return BitOf(dtype);
  }

  std::vector<Bits> ThroughStructured(size_t index, const Node& node,
                                      const std::vector<Bits>& inputs) {
    std::vector<Bits> outputs(node.num_outputs());
    const bool is_loop = IsLoop(node.kind());
    const size_t selectors = NumSelectorInputs(node);
    std::vector<Bits> args(inputs.begin() + std::min(selectors, inputs.size()), inputs.end());
    Bits all = 0;
    for (const Bits arg : args) all |= arg;
    const std::vector<Callee> callees = CalleesOf(program_, node);
    for (const Callee& callee : callees) {
      const Function* function = program_.FindFunction(callee.function.name);
      if (function == nullptr || callee.is_condition()) continue;
      const size_t entry = EntryOf(*function, index);
      if (program_.gradient_functions().contains(function->name)) {
        // Its gradient is what another function says, of any argument by any result.
        for (Bits& output : outputs) output |= all;
      }
      for (size_t r = 0; r < std::min(outputs.size(), function->results.size()); ++r)
        outputs[r] |= MarkOf(entry, function->results[r].value);
    }
    for (size_t i = 0; is_loop && i < std::min(args.size(), outputs.size()); ++i)
      outputs[i] = args[i] |= outputs[i];
    for (const Callee& callee : callees) {
      const Function* function = program_.FindFunction(callee.function.name);
      if (function != nullptr) Enter(EntryOf(*function, index), args, NumCounterArgs(node));
    }
    return outputs;
  }

  // Hands arguments to a function, behind the first `shift`.
  void Enter(size_t index, const std::vector<Bits>& args, size_t shift) {
    Entry& entry = entries_[index];
    const std::vector<NodeId>& nodes = entry.function->arg_nodes;
    for (size_t i = 0; i < args.size() && i + shift < nodes.size(); ++i) {
      const NodeId arg = nodes[i + shift];
      Bits& mark = entry.marks[arg][0];
      const Bits more =
          HasDerivative(entry.function->node(arg).signature.outputs[0].dtype) ? args[i] & ~mark : 0;
      if (more == 0) continue;
      mark |= more;
      entry.is_changed = true;
    }
  }

  const Program& program_;
  const Dependence dependence_;
  std::vector<Entry> entries_;
  std::map<const Function*, size_t> index_of_;
  std::map<DType, bool> pushed_;   // what depends on what is marked, on stacks
  std::vector<PopOnTheWay> pops_;  // the first of each dtype
  bool pushed_more_ = false;       // since it was last looked at
};

}  // namespace

bool IsStackMaker(const Node& node) { return node.role() == Role::kMakesStack; }
bool IsStackPush(const Node& node) { return node.role() == Role::kPushes; }
bool IsStackPop(const Node& node) { return node.role() == Role::kPops; }
bool IsStackClose(const Node& node) { return node.role() == Role::kClosesStack; }

bool HasStacks(const Program& program) {
  const auto has = [](const Function& function) {
    return std::any_of(function.nodes.begin(), function.nodes.end(), IsStackPush);
  };
  return has(program.main()) ||
         std::any_of(program.functions().begin(), program.functions().end(),
                     [&](const auto& function) { return has(*function.second); });
}

std::string Described(const Function& function, const Node& node) {
  return absl::StrCat("node '", node.name, "' (", node.op_name, ")",
                      function.name.empty() ? "" : " of function '", function.name,
                      function.name.empty() ? "" : "'");
}

PopOnTheWay FindPopOnTheWay(const Program& program, const Asked& asked) {
  const Function* function =
      asked.function.empty() ? &program.main() : program.FindFunction(asked.function);
  if (function == nullptr) return {};
  StackFlow flow(program, *function, asked);
  flow.Run();
  for (const Endpoint& y : asked.ys) {
    if (const PopOnTheWay pop = flow.PopBehind(y); pop.function != nullptr) return pop;
  }
  return {};
}

}  // namespace gyre::grad
