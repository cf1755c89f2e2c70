#include "passes/raise/structure.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/calls.h"

namespace gyre::testing {
namespace {

constexpr char kConstant[] = "";

class Reader {
 public:
  Reader(const Program& program, bool with_bounds) : program_(program), with_bounds_(with_bounds) {}

  std::string Read(const Function& function, const std::vector<bool>& needed,
                   const std::vector<std::string>& args) {
    std::vector<std::string> parts;
    for (const Node& node : function.nodes) {
      if (!needed[node.id]) continue;
      std::string part = ReadNode(function, node, args);
      if (!part.empty()) parts.push_back(std::move(part));
    }
    std::sort(parts.begin(), parts.end());
    return absl::StrJoin(parts, "");
  }

 private:
  std::string ReadBody(const Function& function, const std::vector<std::string>& args) {
    return Read(function, NeededNodes(function, CallSignature(function)), args);
  }

  // Where a value comes from.
  std::string OriginOf(const Function& function, Endpoint e, const std::vector<std::string>& args) {
    while (true) {
      const Node& node = function.node(e.node);
      if (node.kind() == OpKind::kArg)
        return args[static_cast<size_t>(*node.attrs.Get<int64_t>("index"))];
      if (node.op_name == "Const") return kConstant;
      if (node.kind() == OpKind::kPlaceholder) return node.name;
      if (IsHandle(node)) return kConstant;
      if (absl::StartsWith(node.op_name, "TensorArray") ||
          absl::StartsWith(node.op_name, "TensorList"))
        return "array";
      if (node.op_name != "Identity" && node.op_name != "EnsureShape")
        return absl::StrReplaceAll(node.op_name, {{"Stateless", ""}, {"Stateful", ""}});
      e = node.inputs[0];
    }
  }

  // Of an array or a stack: one dialect has a handle where the other has a list that changes.
  static bool IsHandle(const Node& node) {
    return node.op_name == "TensorArrayV3" || node.op_name == "StackV2";
  }

  // Per argument: something but a result of the same position reads it.
  static std::vector<bool> UsedArgs(const Function& function, bool is_loop) {
    std::vector<bool> used(function.args.size(), false);
    const std::vector<bool> needed = NeededNodes(function, CallSignature(function));
    const auto use = [&](Endpoint e) {
      const Node& node = function.node(PastIdentities(function, e).node);
      if (node.kind() == OpKind::kArg)
        used[static_cast<size_t>(*node.attrs.Get<int64_t>("index"))] = true;
    };
    for (const Node& node : function.nodes) {
      for (const Endpoint& e : node.inputs) {
        if (needed[node.id] && node.op_name != "Identity") use(e);
      }
    }
    for (size_t i = 0; i < function.results.size(); ++i) {
      const Endpoint value = PastIdentities(function, function.results[i].value);
      const bool passes =
          is_loop && i < function.args.size() && value.node == function.arg_nodes[i];
      if (!passes) use(value);
    }
    return used;
  }

  static Endpoint PastIdentities(const Function& function, Endpoint e) {
    while (function.node(e.node).op_name == "Identity") e = function.node(e.node).inputs[0];
    return e;
  }

  std::string ReadNode(const Function& function, const Node& node,
                       const std::vector<std::string>& args) {
    const std::vector<Callee> callees = CalleesOf(program_, node);
    if (callees.empty()) return "";
    const size_t first = static_cast<size_t>(NumSelectorInputs(node));
    std::vector<std::string> inner, origins;
    for (size_t i = first; i < node.inputs.size(); ++i)
      origins.push_back(OriginOf(function, node.inputs[i], args));
    inner = origins;
    std::vector<const Function*> functions;
    for (const Callee& callee : callees)
      functions.push_back(program_.FindFunction(callee.function.name));
    if (node.kind() == OpKind::kCall) return depth_++ > 50 ? "" : ReadBody(*functions[0], inner);
    std::vector<bool> changes(origins.size(), false), used(origins.size(), false);
    if (node.kind() == OpKind::kWhile) {
      for (size_t i = 0; i < origins.size(); ++i) {
        const Endpoint result = PastIdentities(*functions[1], functions[1]->results[i].value);
        changes[i] = result.node != functions[1]->arg_nodes[i];
        if (changes[i]) inner[i] = "variable";
      }
    }
    for (const Function* each : functions) {
      const bool is_condition = node.kind() == OpKind::kWhile && each == functions[0];
      if (is_condition && !with_bounds_) continue;
      const std::vector<bool> more = UsedArgs(*each, node.kind() == OpKind::kWhile);
      for (size_t i = 0; i < used.size() && i < more.size(); ++i) used[i] = used[i] || more[i];
    }
    std::vector<std::string> captures;
    for (size_t i = 0; i < origins.size(); ++i) {
      if (used[i] && !changes[i] && origins[i] != kConstant) captures.push_back(origins[i]);
    }
    std::sort(captures.begin(), captures.end());
    captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
    std::string text = absl::StrCat(absl::StrReplaceAll(node.op_name, {{"Stateless", ""}}), " (",
                                    absl::StrJoin(captures, ", "), ")\n");
    for (size_t i = 0; i < callees.size(); ++i) {
      const std::string body = ReadBody(*functions[i], inner);
      if (body.empty()) continue;
      const std::string role = absl::StrCat("  ", callees[i].attr, ":\n");
      absl::StrAppend(&text, role, "    ", absl::StrReplaceAll(body, {{"\n", "\n    "}}));
      while (text.back() == ' ') text.pop_back();
    }
    return text;
  }

  const Program& program_;
  const bool with_bounds_;
  int depth_ = 0;
};

}  // namespace

std::string StructureOf(const Staged& staged, bool with_bounds) {
  const Function& main = staged.program->main();
  return Reader(*staged.program, with_bounds).Read(main, NeededNodes(main, staged.signature), {});
}

}  // namespace gyre::testing
