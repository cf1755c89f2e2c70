#include "analysis/refusals.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"

namespace gyre {
namespace {

std::string NodeText(const Node& node) {
  return absl::StrCat("node ", node.name, " (", node.op_name, ")");
}

absl::Status MissingOp(absl::string_view node, absl::string_view op) {
  return absl::NotFoundError(absl::StrCat(
      "node ", node, " needs the op ", op,
      ", which is not registered: load the plug-in that has it (--plugin FILE, load_plugin)"));
}

bool IsUnregistered(const Program& program, const Node& node) {
  return node.op == nullptr && program.FindFunction(node.op_name) == nullptr;
}

bool HasUnregistered(const Program& program) {
  const auto in = [&](const Function& function) {
    return absl::c_any_of(function.nodes, [&](const Node& node) {
      SpendWork();
      return IsUnregistered(program, node);
    });
  };
  return in(program.main()) ||
         absl::c_any_of(program.functions(), [&](const auto& named) { return in(*named.second); });
}

// An op that is not there, and nodes of it.
struct Missing {
  std::string op;
  std::vector<std::string> nodes;
};

class MissingOps {
 public:
  // In the order of the program, of what a run needs and of what that may call.
  static std::vector<Missing> OfRun(const Program& program, const RunSignature& signature);
  static std::vector<Missing> OfAll(const Program& program);

 private:
  void Add(const Node& node, const Function* function) {
    const auto [it, is_new] = number_of_.emplace(node.op_name, missing_.size());
    if (is_new) missing_.push_back({node.op_name, {}});
    missing_[it->second].nodes.push_back(
        function == nullptr ? node.name : absl::StrCat(node.name, " of function ", function->name));
  }
  std::vector<Missing> missing_;
  HashMap<std::string, size_t> number_of_;
};

std::vector<Missing> MissingOps::OfAll(const Program& program) {
  MissingOps found;
  const auto look = [&](const Function& function, bool is_main) {
    for (const Node& node : function.nodes) {
      if (IsUnregistered(program, node)) found.Add(node, is_main ? nullptr : &function);
    }
  };
  look(program.main(), true);
  for (const auto& [name, function] : program.functions()) look(*function, false);
  return std::move(found.missing_);
}

std::vector<Missing> MissingOps::OfRun(const Program& program, const RunSignature& signature) {
  MissingOps found;
  std::vector<const Function*> functions = {&program.main()};
  HashSet<std::string> seen;
  for (size_t f = 0; f < functions.size(); ++f) {
    const Function& function = *functions[f];
    RunSignature needs = f == 0 ? signature : CallSignature(function);
    if (f > 0) {
      for (const auto& [name, node] : function.control_results) needs.targets.push_back(node);
    }
    const std::vector<bool> needed = NeededNodes(function, needs);
    for (const Node& node : function.nodes) {
      if (!needed[node.id]) continue;
      SpendWork();
      for (const Callee& callee : CalleesOf(program, node)) {
        const Function* const called = program.FindFunction(callee.function.name);
        if (called != nullptr && seen.insert(called->name).second) functions.push_back(called);
      }
      if (IsUnregistered(program, node)) found.Add(node, f == 0 ? nullptr : &function);
    }
  }
  return std::move(found.missing_);
}

// "A, B and 7 more": at most so many are named.
std::string Some(const std::vector<std::string>& all, size_t most) {
  if (all.size() <= most) return absl::StrJoin(all, ", ");
  return absl::StrCat(absl::StrJoin(all.begin(), all.begin() + static_cast<ptrdiff_t>(most), ", "),
                      " and ", all.size() - most, " more");
}

absl::Status MissingError(const std::vector<Missing>& missing) {
  if (missing.empty()) return absl::OkStatus();
  if (missing.size() == 1 && missing[0].nodes.size() == 1)
    return MissingOp(missing[0].nodes[0], missing[0].op);
  constexpr size_t kMostOps = 50, kMostNodes = 3;
  size_t num_nodes = 0;
  std::vector<std::string> texts;
  for (const auto& [op, nodes] : missing) {
    num_nodes += nodes.size();
    texts.push_back(absl::StrCat(op, " (", Some(nodes, kMostNodes), ")"));
  }
  return absl::NotFoundError(
      absl::StrCat(num_nodes, " nodes need ", missing.size(), missing.size() == 1 ? " op" : " ops",
                   " that nobody has registered: ", Some(texts, kMostOps),
                   "; load the plug-ins that have them (--plugin FILE, load_plugin)"));
}

}  // namespace

absl::Status CheckOps(const Program& program, const RunSignature& signature) {
  if (!HasUnregistered(program)) return absl::OkStatus();
  return MissingError(MissingOps::OfRun(program, signature));
}

absl::Status CheckAllOps(const Program& program) {
  if (!HasUnregistered(program)) return absl::OkStatus();
  return MissingError(MissingOps::OfAll(program));
}

absl::Status UnregisteredOp(const Node& node) { return MissingOp(node.name, node.op_name); }

absl::Status CheckCallees(const Program& program, const Node& node) {
  const std::vector<Callee> callees = CalleesOf(program, node);
  if (IsConditional(node.kind()) && callees.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(NodeText(node), " has no branches"));
  }
  for (const Callee& callee : callees) {
    const Function* function = program.FindFunction(callee.function.name);
    if (function == nullptr) {
      return absl::NotFoundError(absl::StrCat(NodeText(node), ": function ", callee.function.name,
                                              " is not in the graph's library"));
    }
    GYRE_RETURN_IF_ERROR(Annotate(CheckArguments(node, callee, *function), NodeText(node)));
    GYRE_RETURN_IF_ERROR(Annotate(CheckResults(node, callee, *function), NodeText(node)));
  }
  return absl::OkStatus();
}

absl::Status FetchInLoop(absl::string_view fetch, absl::string_view frame) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot fetch ", fetch, ": it lives in loop frame \"", frame,
                   "\" and has a value per iteration. Fetch what an Exit hands out of the loop, or "
                   "watch what it "
                   "is in each iteration (gyre run --fetch-each, IterationValues)"));
}

}  // namespace gyre
