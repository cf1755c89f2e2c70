#include "exec/where.h"

#include "absl/strings/str_cat.h"

namespace gyre {

std::string NodeText(const Node& node) {
  std::string text = absl::StrCat("\n  at node ", node.name, " (", node.op_name, ")");
  if (!node.source.empty()) absl::StrAppend(&text, ", written at ", node.source);
  return text;
}

std::string CallText(const Node& site, int callee, const Function& function, int64_t trip) {
  const std::string name = absl::StrCat(" (function ", function.name, ")");
  const std::string of = absl::StrCat(" of ", site.op_name, " node ", site.name);
  switch (site.kind()) {
    case OpKind::kIf:
      return absl::StrCat("\n  in the ", callee == 0 ? "then" : "else", " branch", name, of);
    case OpKind::kCase:
      return absl::StrCat("\n  in branch ", callee, name, of);
    case OpKind::kWhile:
      return absl::StrCat("\n  in iteration ", trip, " of the ", callee == 0 ? "condition" : "body",
                          name, of);
    case OpKind::kFor:
      return absl::StrCat("\n  in iteration ", trip, " of the body", name, of);
    default:
      return absl::StrCat("\n  in function ", function.name, ", called by node ", site.name);
  }
}

}  // namespace gyre
