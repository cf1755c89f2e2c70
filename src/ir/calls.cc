#include "ir/calls.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"

namespace gyre {
namespace {

// Tarjan's algorithm for strongly connected components ("Depth-first search and linear graph
// algorithms", 1972), with the recursion on a heap stack: files may nest calls as deep as they
// like.
class CallCycles {
 public:
  explicit CallCycles(const Program& program) {
    for (const auto& [name, function] : program.functions()) {
      index_of_.emplace(name, static_cast<int>(names_.size()));
      names_.push_back(name);
    }
    callees_.resize(names_.size());
    for (const auto& [name, function] : program.functions()) {
      std::vector<int>& callees = callees_[index_of_.at(name)];
      for (const Node& node : function->nodes) {
        for (const Callee& callee : CalleesOf(program, node)) {
          const auto it = index_of_.find(callee.function.name);
          if (it != index_of_.end()) callees.push_back(it->second);
        }
      }
    }
  }

  std::set<std::string> Find() {
    const size_t n = names_.size();
    order_.assign(n, -1);
    low_.assign(n, -1);
    on_stack_.assign(n, false);
    for (size_t root = 0; root < n; ++root) {
      if (order_[root] == -1) Visit(static_cast<int>(root));
    }
    return std::move(recursive_);
  }

 private:
  void Open(int v) {
    order_[v] = low_[v] = next_order_++;
    stack_.push_back(v);
    on_stack_[v] = true;
    path_.push_back({v, 0});
  }

  void Visit(int root) {
    Open(root);
    while (!path_.empty()) {
      auto& [v, next] = path_.back();
      if (next < callees_[v].size()) {
        const int w = callees_[v][next++];
        if (order_[w] == -1) {
          Open(w);
        } else if (on_stack_[w]) {
          low_[v] = std::min(low_[v], order_[w]);
        }
        continue;
      }
      const int done = v;
      path_.pop_back();
      if (!path_.empty()) low_[path_.back().first] = std::min(low_[path_.back().first], low_[done]);
      if (low_[done] == order_[done]) CloseComponent(done);
    }
  }

  void CloseComponent(int head) {
    size_t begin = stack_.size() - 1;
    while (stack_[begin] != head) --begin;
    const std::vector<int>& callees = callees_[head];
    const bool calls_itself = std::find(callees.begin(), callees.end(), head) != callees.end();
    const bool is_cycle = calls_itself || stack_.size() - begin > 1;
    for (size_t i = begin; i < stack_.size(); ++i) {
      on_stack_[stack_[i]] = false;
      if (is_cycle) recursive_.insert(names_[stack_[i]]);
    }
    stack_.resize(begin);
  }

  std::vector<std::string> names_;
  HashMap<std::string, int> index_of_;
  std::vector<std::vector<int>> callees_;
  std::vector<int> order_, low_;
  std::vector<bool> on_stack_;
  std::vector<int> stack_;  // visited functions whose component is still open
  std::vector<std::pair<int, size_t>>
      path_;  // functions being visited, and which callee comes next
  int next_order_ = 0;
  std::set<std::string> recursive_;
};

std::vector<DType> DTypes(const std::vector<NodeSignature::Slot>& slots, size_t begin) {
  std::vector<DType> types;
  for (size_t i = begin; i < slots.size(); ++i) types.push_back(slots[i].dtype);
  return types;
}

// `what` is "argument" or "result", `have` what the function says and `want` what the node does.
absl::Status TypesFit(const Callee& callee, const Function& function, absl::string_view what,
                      const std::vector<DType>& have, const std::vector<DType>& want) {
  if (have.size() != want.size()) {
    return absl::InvalidArgumentError(absl::StrCat(callee.attr, " ", function.name, " has ",
                                                   have.size(), " ", what, "s, but ", want.size(),
                                                   " are needed"));
  }
  for (size_t i = 0; i < have.size(); ++i) {
    if (have[i] == want[i] || have[i] == DType::kInvalid) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " ", i, " of ", callee.attr, " ",
                                                   function.name, " is ", DTypeName(have[i]),
                                                   ", but ", DTypeName(want[i]), " is needed"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Callee> CalleesOf(const Program& program, const Node& node) {
  std::vector<Callee> callees;
  if (node.op == nullptr) {
    if (program.FindFunction(node.op_name) != nullptr) {
      callees.push_back({"f",
                         CalleeKind::kFunction,
                         {node.op_name, std::make_shared<const AttrMap>(node.attrs)}});
    }
    return callees;
  }
  for (const Structure::Functions& functions : node.op->structure.functions) {
    if (const auto* one = node.attrs.Get<FunctionRef>(functions.attr)) {
      callees.push_back({functions.attr, functions.kind, *one});
    } else if (const auto* all = node.attrs.Get<std::vector<FunctionRef>>(functions.attr)) {
      for (const FunctionRef& each : *all)
        callees.push_back({functions.attr, functions.kind, each});
    }
  }
  return callees;
}

CalleeKind KindOfCallee(const Node& node, int number) {
  if (node.op == nullptr || node.op->structure.functions.empty()) return CalleeKind::kFunction;
  const auto& functions = node.op->structure.functions;
  // A list of functions is the last attribute.
  return functions[std::min<size_t>(number, functions.size() - 1)].kind;
}

namespace {

void AddNamed(const Node& node, std::vector<std::string>& names) {
  for (const auto& [name, value] : node.attrs) {
    if (const auto* one = std::get_if<FunctionRef>(&value)) {
      names.push_back(one->name);
    } else if (const auto* many = std::get_if<std::vector<FunctionRef>>(&value)) {
      for (const FunctionRef& ref : *many) names.push_back(ref.name);
    }
  }
  if (node.op == nullptr) names.push_back(node.op_name);
}

}  // namespace

std::vector<std::string> NamedFunctions(const Node& node) {
  std::vector<std::string> names;
  AddNamed(node, names);
  return names;
}

std::vector<std::string> NamedFunctions(const Function& function) {
  std::vector<std::string> names;
  for (const Node& node : function.nodes) AddNamed(node, names);
  return names;
}

Selector SelectorOf(const Node& node) {
  if (NumSelectorInputs(node) == 0) return Selector::kNone;
  if (NumCounterArgs(node) > 0) return Selector::kBounds;
  const std::vector<Structure::Functions>& functions = node.op->structure.functions;
  if (functions[0].kind != CalleeKind::kBranch) return Selector::kTarget;
  return functions.size() == 1 ? Selector::kIndex : Selector::kPredicate;
}

bool HasCondition(const Node& node) {
  return node.op != nullptr &&
         std::any_of(node.op->structure.functions.begin(), node.op->structure.functions.end(),
                     [](const Structure::Functions& functions) {
                       return functions.kind == CalleeKind::kCondition;
                     });
}

int NumSelectorInputs(const Node& node) {
  return node.op == nullptr ? 0 : node.op->structure.num_selectors;
}

int NumCounterArgs(const Node& node) {
  return node.op == nullptr ? 0 : node.op->structure.num_counters;
}

int ArgOfInput(const Node& node, int input) {
  const int selectors = NumSelectorInputs(node);
  return input < selectors ? -1 : input - selectors + NumCounterArgs(node);
}

int InputOfArg(const Node& node, int arg) {
  const int counters = NumCounterArgs(node);
  return arg < counters ? -1 : arg - counters + NumSelectorInputs(node);
}

bool HandsOn(const Node& node) { return node.op != nullptr && node.op->traits.hands_on; }

Node WithoutEffects(const OpLookup& ops, Node node) {
  if (node.op == nullptr || node.op->structure.stateless.empty()) return node;
  node.op = ops.Find(node.op->structure.stateless);
  node.op_name = node.op->name;
  return node;
}

absl::Status CheckArguments(const Node& node, const Callee& callee, const Function& function) {
  std::vector<DType> want(NumCounterArgs(node), DType::kInt32);
  for (const DType dtype : DTypes(node.signature.inputs, NumSelectorInputs(node)))
    want.push_back(dtype);
  std::vector<DType> have;
  for (const FunctionArg& arg : function.args) have.push_back(arg.dtype);
  return TypesFit(callee, function, "argument", have, want);
}

absl::Status CheckResults(const Node& node, const Callee& callee, const Function& function) {
  if (callee.is_condition()) {
    if (function.results.size() == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("Expected a single scalar return value from ",
                                                   node.op_name, " cond, got ",
                                                   function.results.size(), " tensors."));
  }
  std::vector<DType> have;
  for (const FunctionResult& result : function.results) have.push_back(result.dtype);
  return TypesFit(callee, function, "result", have, DTypes(node.signature.outputs, 0));
}

std::set<std::string> RecursiveFunctions(const Program& program) {
  return CallCycles(program).Find();
}

}  // namespace gyre
