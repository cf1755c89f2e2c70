// The call graph of a program: which functions name which others, called or not.
//
// Functions go by their names; "" is the main graph. Names that no function has are left out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

// Immutable; the program must outlive it.
class CallGraph {
 public:
  explicit CallGraph(const Program& program);

  // Those that name `function`, each once.
  const std::vector<std::string>& Callers(const std::string& function) const;
  // `functions`, and all that lead to one of them.
  std::set<std::string> Reaching(const std::set<std::string>& functions) const;
  // Calls `update` with each function but the main graph, callees first where they don't call back,
  // and again with the callers of those for which it says that something has changed, until nothing
  // does.
  void UpdateUntilStable(absl::FunctionRef<bool(const std::string&)> update) const;

 private:
  const Program& program_;
  std::map<std::string, std::vector<std::string>> callers_;
};

// The functions that the main graph uses, gradient functions among them, callees before callers as
// far as they don't call themselves.
std::vector<std::string> CalleesFirst(const Program& program);
// The same, while `main` and what `find` gives for a name stand in place of the program's own.
std::vector<std::string> CalleesFirst(const Program& program, const Function& main,
                                      absl::FunctionRef<const Function*(absl::string_view)> find);

}  // namespace gyre
