#include "exec/sequential/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash_map.h"
#include "exec/sequential/loop.h"
#include "exec/sequential/native.h"
#include "ir/calls.h"

namespace gyre::sequential {
namespace {

// The nodes for which native code of the loop calls the interpreter, each once.
std::vector<std::string> InterpretedNodes(const RegisterLoop& loop, const NativeLoop& native) {
  std::vector<std::string> nodes;
  HashSet<const Node*> seen;
  const std::vector<compiled::Instruction>& region = native.region().instructions;
  for (size_t at = 0; at < region.size(); ++at) {
    const Instruction& op = loop.code[at];
    if (region[at].action == compiled::Action::kCall && op.action == Action::kRun &&
        seen.insert(op.node).second)
      nodes.push_back(absl::StrCat(op.told->name, " (", op.node->op_name, ")"));
  }
  return nodes;
}

std::string Explain(const RegisterLoop& loop) {
  const auto native = std::make_shared<NativeLoop>();
  if (!native->MakeRegion(loop))
    return absl::StrCat("registers, interpreted, since ",
                        loop.subroutines.empty()
                            ? "its condition is no scalar"
                            : "what its calls take, give or keep is not known to be small");
  const std::vector<std::string> interpreted = InterpretedNodes(loop, *native);
  std::string text = "native code once it is hot";
  if (!interpreted.empty())
    absl::StrAppend(&text, "; interpreted in it: ", absl::StrJoin(interpreted, ", "));
  return text;
}

// "p (Print) in @step has an effect" as "Print has an effect": the same for many loops.
std::string WithoutNames(const std::string& why) {
  const size_t begin = why.find(" ("), end = why.find(") in @");
  const size_t rest = end == why.npos ? end : why.find(' ', end + 6);
  if (begin == why.npos || rest == why.npos || begin > end) return why;
  return absl::StrCat(why.substr(begin + 2, end - begin - 2), why.substr(rest));
}

// A call of what may call itself, from outside of that.
bool StartsRecursion(const lower::ProgramFacts& facts, const Function& function, const Node& node) {
  return !facts.IsRecursive(function) && facts.CalledRecursively(node) != nullptr;
}

// The functions that `from` leads to, itself among them.
HashSet<const Function*> Reached(const Program& program, const Function& from) {
  HashSet<const Function*> reached;
  std::vector<const Function*> pending = {&from};
  while (!pending.empty()) {
    const Function* const function = pending.back();
    pending.pop_back();
    if (!reached.insert(function).second) continue;
    for (const Node& node : function->nodes) {
      for (const Callee& callee : CalleesOf(program, node)) {
        const Function* const called = program.FindFunction(callee.function.name);
        if (called != nullptr) pending.push_back(called);
      }
    }
  }
  return reached;
}

}  // namespace

void NativeShare::Add(const NativeShare& other) {
  loops += other.loops;
  native_loops += other.native_loops;
  conditionals += other.conditionals;
  native_conditionals += other.native_conditionals;
  for (const auto& [why, count] : other.why_no_loop) why_no_loop[why] += count;
  for (const auto& [why, count] : other.why_no_conditional) why_no_conditional[why] += count;
}

NativeShare CountNative(const Program& program) {
  lower::ProgramFacts facts(program);
  facts.InferMainShapes({});
  NativeShare share;
  HashSet<const Function*> native;  // functions that native code leads to
  struct Other {
    const Function* function;
    const Node* node;
    std::string why;
  };
  std::vector<Other> others;
  for (const Function* const function : Reached(program, program.main())) {
    for (const Node& node : function->nodes) {
      const bool is_call = StartsRecursion(facts, *function, node);
      if (!IsLoop(node.kind()) && !IsConditional(node.kind()) && !is_call) continue;
      if (!is_call) ++(IsLoop(node.kind()) ? share.loops : share.conditionals);
      std::string why;
      const std::shared_ptr<RegisterLoop> loop = CompileLoop(facts, *function, node, &why);
      if (loop == nullptr || !std::make_shared<NativeLoop>()->MakeRegion(*loop)) {
        if (is_call) continue;
        others.push_back({function, &node, loop == nullptr ? why : "its condition is no scalar"});
        continue;
      }
      for (const Callee& callee : CalleesOf(program, node)) {
        const Function* const called = program.FindFunction(callee.function.name);
        if (called == nullptr) continue;
        for (const Function* const reached : Reached(program, *called)) native.insert(reached);
      }
    }
  }
  share.native_loops = share.loops;
  share.native_conditionals = share.conditionals;
  for (const auto& [function, node, why] : others) {
    if (native.contains(function)) continue;  // it is within what is native
    const bool is_loop = IsLoop(node->kind());
    --(is_loop ? share.native_loops : share.native_conditionals);
    ++(is_loop ? share.why_no_loop : share.why_no_conditional)[WithoutNames(why)];
  }
  return share;
}

std::vector<std::string> ExplainLoops(const Program& program) {
  lower::ProgramFacts facts(program);
  facts.InferMainShapes({});
  HashSet<const Node*> within;
  std::vector<std::pair<const Node*, std::string>> lines;
  const auto look = [&](const Function& function) {
    for (const Node& node : function.nodes) {
      if (!IsLoop(node.kind()) && !StartsRecursion(facts, function, node)) continue;
      std::string why;
      const std::shared_ptr<RegisterLoop> loop = CompileLoop(facts, function, node, &why);
      if (loop == nullptr) {
        lines.emplace_back(&node, absl::StrCat(node.name, ": tokens, since ", why));
        continue;
      }
      std::vector<std::string> inner;
      for (size_t i = 1; i < loop->loops.size(); ++i) {
        if (loop->loops[i].node == &node) continue;  // a subroutine
        inner.push_back(loop->loops[i].node->name);
        within.insert(loop->loops[i].node);
      }
      lines.emplace_back(
          &node, absl::StrCat(node.name,
                              inner.empty() ? ""
                                            : absl::StrCat(" (and ", absl::StrJoin(inner, ", "),
                                                           " within it)"),
                              ": ", Explain(*loop)));
    }
  };
  look(program.main());
  for (const auto& [name, function] : program.functions()) look(*function);
  std::vector<std::string> explained;
  for (auto& [node, line] : lines)
    if (!within.contains(node)) explained.push_back(std::move(line));
  return explained;
}

}  // namespace gyre::sequential
