#include "analysis/call_graph.h"

#include <deque>
#include <utility>

#include "base/work.h"
#include "ir/calls.h"

namespace gyre {

CallGraph::CallGraph(const Program& program) : program_(program) {
  const auto look = [&](const std::string& name, const Function& function) {
    SpendWork(static_cast<int64_t>(function.nodes.size()));
    for (const std::string& callee : NamedFunctions(function)) {
      if (program.FindFunction(callee) == nullptr) continue;
      std::vector<std::string>& callers = callers_[callee];
      if (callers.empty() || callers.back() != name) callers.push_back(name);
    }
  };
  look("", program.main());
  for (const auto& [name, function] : program.functions()) look(name, *function);
}

const std::vector<std::string>& CallGraph::Callers(const std::string& function) const {
  static const auto* const none = new std::vector<std::string>();
  const auto found = callers_.find(function);
  return found == callers_.end() ? *none : found->second;
}

std::set<std::string> CallGraph::Reaching(const std::set<std::string>& functions) const {
  std::set<std::string> reaching = functions;
  std::vector<std::string> pending(functions.begin(), functions.end());
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    for (const std::string& caller : Callers(name)) {
      if (reaching.insert(caller).second) pending.push_back(caller);
    }
  }
  return reaching;
}

void CallGraph::UpdateUntilStable(absl::FunctionRef<bool(const std::string&)> update) const {
  std::deque<std::string> pending;
  std::set<std::string> is_pending;
  const auto add = [&](const std::string& name) {
    if (is_pending.insert(name).second) pending.push_back(name);
  };
  for (const std::string& name : CalleesFirst(program_)) add(name);
  for (const auto& [name, function] : program_.functions()) add(name);
  while (!pending.empty()) {
    const std::string name = std::move(pending.front());
    pending.pop_front();
    is_pending.erase(name);
    if (!update(name)) continue;
    for (const std::string& caller : Callers(name)) {
      if (!caller.empty()) add(caller);
    }
  }
}

std::vector<std::string> CalleesFirst(const Program& program) {
  return CalleesFirst(program, program.main(),
                      [&](absl::string_view name) { return program.FindFunction(name); });
}

// Depth first, without recursion.
std::vector<std::string> CalleesFirst(const Program& program, const Function& main,
                                      absl::FunctionRef<const Function*(absl::string_view)> find) {
  struct Visit {
    std::string name;
    std::vector<std::string> callees;
    size_t next = 0;
  };
  std::vector<std::string> order;
  std::set<std::string> seen;
  std::vector<Visit> path;
  const auto open = [&](std::string name, const Function& function) {
    Visit visit{std::move(name), NamedFunctions(function)};
    const auto gradient = program.gradient_functions().find(visit.name);
    if (gradient != program.gradient_functions().end()) visit.callees.push_back(gradient->second);
    path.push_back(std::move(visit));
  };
  open("", main);
  while (!path.empty()) {
    Visit& visit = path.back();
    if (visit.next == visit.callees.size()) {
      if (path.size() > 1) order.push_back(std::move(visit.name));
      path.pop_back();
      continue;
    }
    std::string callee = visit.callees[visit.next++];
    const Function* function = find(callee);
    if (function != nullptr && seen.insert(callee).second) open(std::move(callee), *function);
  }
  return order;
}

}  // namespace gyre
