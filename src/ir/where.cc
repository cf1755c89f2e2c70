#include "ir/where.h"

#include "absl/strings/str_cat.h"
#include "ir/calls.h"

namespace gyre {

std::string NodeText(const Node& node) {
  std::string text = absl::StrCat("\n  at node ", node.name, " (", node.op_name, ")");
  if (!node.source.empty()) absl::StrAppend(&text, ", written at ", node.source);
  return text;
}

std::string CallText(const Node& structured, int callee, const Function& function,
                     int64_t iteration) {
  const std::string of = absl::StrCat(" (function ", function.name, ") of ", structured.op_name,
                                      " node ", structured.name);
  switch (KindOfCallee(structured, callee)) {
    case CalleeKind::kBranch:
      if (SelectorOf(structured) == Selector::kIndex)
        return absl::StrCat("\n  in branch ", callee, of);
      return absl::StrCat("\n  in the ", callee == 0 ? "then" : "else", " branch", of);
    case CalleeKind::kCondition:
      return absl::StrCat("\n  in iteration ", iteration, " of the condition", of);
    case CalleeKind::kBody:
      return absl::StrCat("\n  in iteration ", iteration, " of the body", of);
    case CalleeKind::kFunction:
      break;
  }
  return absl::StrCat("\n  in function ", function.name, ", called by node ", structured.name);
}

}  // namespace gyre
