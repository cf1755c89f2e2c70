#include "ir/text/summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/frames.h"

namespace gyre {
namespace {

std::string Count(size_t n, absl::string_view thing) {
  return absl::StrCat(n, " ", thing, n == 1 ? "" : "s");
}

std::vector<const Function*> AllFunctions(const Program& program) {
  std::vector<const Function*> functions = {&program.main()};
  for (const auto& [name, function] : program.functions()) functions.push_back(function.get());
  return functions;
}

std::string FunctionTitle(const Program& program, const Function& function) {
  return &function == &program.main() ? "graph" : absl::StrCat("@", function.name);
}

void AppendOps(const Program& program, const std::vector<const Function*>& functions,
               std::string& out) {
  std::map<std::string, size_t> counts;
  std::set<std::string> unregistered;
  for (const Function* function : functions) {
    SpendWork(static_cast<int64_t>(function->nodes.size()));
    for (const Node& node : function->nodes) {
      ++counts[node.op_name];
      if (node.op == nullptr && program.FindFunction(node.op_name) == nullptr)
        unregistered.insert(node.op_name);
    }
  }
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  absl::StrAppend(&out, "ops:\n");
  for (const auto& [op, n] : sorted) {
    absl::StrAppend(&out, "  ", n, " ", op, unregistered.contains(op) ? ", not registered" : "",
                    "\n");
  }
}

// The loops of one function that are made of primitives.
void AppendFrames(const Function& function, absl::string_view title, std::string& out) {
  const absl::StatusOr<FrameTable> table = AnalyzeFrames(function);
  if (!table.ok()) {
    absl::StrAppend(&out, "  ", title, ": ", table.status().message(), "\n");
    return;
  }
  std::vector<size_t> sizes(table->frames.size(), 0);
  for (const int frame : table->frame_of_node) ++sizes[frame];
  std::vector<std::vector<int>> children(table->frames.size());
  for (size_t i = 1; i < table->frames.size(); ++i)
    children[table->frames[i].parent].push_back(static_cast<int>(i));
  std::vector<std::pair<int, size_t>>
      pending;  // frame, depth; frames nest as deep as the file says
  const auto push_children = [&](int frame, size_t depth) {
    for (auto it = children[frame].rbegin(); it != children[frame].rend(); ++it)
      pending.emplace_back(*it, depth);
  };
  push_children(0, 1);
  while (!pending.empty()) {
    const auto [i, depth] = pending.back();
    pending.pop_back();
    const Frame& frame = table->frames[i];
    out.append(2 * std::min<size_t>(depth, 20), ' ');
    absl::StrAppend(&out, title, ": frame ", frame.name, ", ", Count(sizes[i], "node"), ", ",
                    Count(frame.next_iterations.size(), "variable"), ", window ",
                    frame.parallel_iterations, frame.loop_cond < 0 ? ", no LoopCond" : "", "\n");
    push_children(i, depth + 1);
  }
}

void AppendLoops(const Program& program, const std::vector<const Function*>& functions,
                 std::string& out) {
  std::string loops;
  for (const Function* function : functions) {
    const std::string title = FunctionTitle(program, *function);
    AppendFrames(*function, title, loops);
    for (const Node& node : function->nodes) {
      if (!IsLoop(node.kind())) continue;
      const std::vector<Callee> callees = CalleesOf(program, node);
      absl::StrAppend(&loops, "  ", title, ": ", node.op_name, " ", node.name, ", ",
                      Count(node.signature.outputs.size(), "variable"));
      for (const Callee& callee : callees)
        absl::StrAppend(&loops, ", ", callee.attr, " @", callee.function.name);
      loops += "\n";
    }
  }
  if (!loops.empty()) absl::StrAppend(&out, "loops:\n", loops);
}

void AppendFunctions(const Program& program, const std::vector<const Function*>& functions,
                     std::string& out) {
  if (program.functions().empty()) return;
  std::map<std::string, size_t> calls;
  for (const Function* function : functions) {
    for (const Node& node : function->nodes) {
      SpendWork();
      for (const Callee& callee : CalleesOf(program, node)) ++calls[callee.function.name];
    }
  }
  const std::set<std::string> recursive = RecursiveFunctions(program);
  absl::StrAppend(&out, "functions:\n");
  for (const auto& [name, function] : program.functions()) {
    const auto append_type = [](std::string* text, const auto& value) {
      absl::StrAppend(text, DTypeName(value.dtype));
    };
    absl::StrAppend(&out, "  @", name, "(", absl::StrJoin(function->args, ", ", append_type),
                    ") -> (", absl::StrJoin(function->results, ", ", append_type), "), ",
                    Count(function->nodes.size(), "node"), ", ", Count(calls[name], "caller"),
                    recursive.contains(name) ? ", recursive" : "", "\n");
  }
}

}  // namespace

std::string PrintSummary(const Program& program) {
  const std::vector<const Function*> functions = AllFunctions(program);
  size_t num_nodes = 0;
  for (const Function* function : functions) num_nodes += function->nodes.size();
  std::string out =
      absl::StrCat(Count(num_nodes, "node"), " (", program.main().nodes.size(),
                   " in the main graph), ", Count(program.functions().size(), "function"), "\n");
  AppendOps(program, functions, out);
  AppendLoops(program, functions, out);
  AppendFunctions(program, functions, out);
  return out;
}

}  // namespace gyre
