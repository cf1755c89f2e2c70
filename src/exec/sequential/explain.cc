#include "exec/sequential/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash_map.h"
#include "exec/sequential/loop.h"
#include "exec/sequential/native.h"

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
  if (!native->MakeRegion(loop)) return "registers, interpreted, since its condition is no scalar";
  const std::vector<std::string> interpreted = InterpretedNodes(loop, *native);
  std::string text = "native code once it is hot";
  if (!interpreted.empty())
    absl::StrAppend(&text, "; interpreted in it: ", absl::StrJoin(interpreted, ", "));
  return text;
}

}  // namespace

std::vector<std::string> ExplainLoops(const Program& program) {
  lower::ProgramFacts facts(program);
  facts.InferMainShapes({});
  HashSet<const Node*> within;
  std::vector<std::pair<const Node*, std::string>> lines;
  const auto look = [&](const Function& function) {
    for (const Node& node : function.nodes) {
      if (!IsLoop(node.kind())) continue;
      std::string why;
      const std::shared_ptr<RegisterLoop> loop = CompileLoop(facts, node, &why);
      if (loop == nullptr) {
        lines.emplace_back(&node, absl::StrCat(node.name, ": tokens, since ", why));
        continue;
      }
      std::vector<std::string> inner;
      for (size_t i = 1; i < loop->loops.size(); ++i) {
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
