#include "passes/edit/structured_edit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/calls.h"

namespace gyre::passes {
namespace {

// Larger functions are not copied.
constexpr size_t kMaxCopied = 200;

// The functions of `node` by other names, in the order of CalleesOf.
void Rename(const std::vector<Callee>& callees, const std::vector<std::string>& names, Node& node) {
  AttrMap attrs = node.attrs;
  size_t i = 0;
  while (i < callees.size()) {
    const std::string role(callees[i].attr);
    if (const auto* ref = node.attrs.Get<FunctionRef>(role)) {
      attrs.Set(role, FunctionRef{names[i++], ref->attrs});
      continue;
    }
    std::vector<FunctionRef> refs;
    for (; i < callees.size() && callees[i].attr == role; ++i)
      refs.push_back({names[i], callees[i].function.attrs});
    attrs.Set(role, std::move(refs));
  }
  node.attrs = std::move(attrs);
}

void CountNamesIn(const Function& function, NameCounts& counts) {
  for (const Node& node : function.nodes) {
    for (const std::string& name : NamedFunctions(node)) ++counts[name];
  }
}

}  // namespace

NameCounts CountNames(const StagedEdit& edit) {
  NameCounts counts;
  CountNamesIn(edit.main(), counts);
  // Those that nobody uses any more, too: they are to fit what they call as long as they are there.
  for (const auto& [name, function] : edit.program().functions()) CountNamesIn(*function, counts);
  for (const auto& [name, gradient] : edit.program().gradient_functions()) {
    ++counts[name];
    ++counts[gradient];
  }
  return counts;
}

bool StructuredEdit::CanChange(const StagedEdit& edit, const Effects& effects,
                               const NameCounts& counts, const Node& structured) {
  if (effects.Of(structured).Has(EffectSet::kUnclear)) return false;
  const std::vector<Callee> callees = CalleesOf(edit.program(), structured);
  return std::all_of(callees.begin(), callees.end(), [&](const Callee& callee) {
    const std::string& name = callee.function.name;
    const Function* function = edit.Find(name);
    const auto it = counts.find(name);
    const bool is_shared = it != counts.end() && it->second > 1;
    return function != nullptr && !IsOpaque(*function) && !effects.IsRecursive(name) &&
           (!is_shared || (function->nodes.size() <= kMaxCopied &&
                           !effects.OfFunction(name).Has(EffectSet::kByName)));
  });
}

StructuredEdit::StructuredEdit(StagedEdit& edit, NameCounts& counts, const Node& structured)
    : edit_(edit) {
  for (const Callee& callee : CalleesOf(edit.program(), structured)) {
    std::string name = callee.function.name;
    callees_.push_back(edit.Change(name));
    if (int& count = counts[name]; count > 1) {
      --count;
      name = edit.UniqueFunctionName(absl::StrCat(name, "/rest"));
      // Several copies of one function may be under way: each is put in its place at once.
      Function copy = callees_.back().function();
      copy.name = name;
      CountNamesIn(copy, counts);  // what it calls has one caller more
      edit.SetFunction(std::move(copy));
      callees_.back() = edit.Change(name);
    }
    names_.push_back(std::move(name));
  }
}

absl::Status StructuredEdit::Finish(const StructuredInterface& wanted, NodeId structured,
                                    Rewrite& caller) && {
  Rename(CalleesOf(edit_.program(), caller.node(structured)), names_, caller.Edit(structured));
  for (size_t i = 0; i < callees_.size(); ++i)
    GYRE_RETURN_IF_ERROR(edit_.Take(names_[i], std::move(callees_[i])));
  return ReplaceStructured(structured, wanted, {}, caller);
}

}  // namespace gyre::passes
