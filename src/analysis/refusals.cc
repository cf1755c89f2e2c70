#include "analysis/refusals.h"

#include "absl/strings/str_cat.h"

namespace gyre {

absl::Status UnregisteredOp(const Node& node) {
  return absl::NotFoundError(absl::StrCat(
      "node ", node.name, " needs the op ", node.op_name,
      ", which is not registered: load the plug-in that has it (--plugin FILE, load_plugin)"));
}

absl::Status FetchInLoop(absl::string_view fetch, absl::string_view frame) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot fetch ", fetch, ": it lives in loop frame \"", frame,
                   "\" and has a value per iteration. Fetch what an Exit hands out of the loop, or "
                   "watch what it "
                   "is in each iteration (gyre run --fetch-each, IterationValues)"));
}

}  // namespace gyre
