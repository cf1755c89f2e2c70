#include "grad/stacks/to_lists.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "grad/stacks/handles.h"
#include "grad/stacks/rewrite.h"

namespace gyre::grad {
namespace {

PopOnTheWay FindAny(const Program& program, const std::vector<Asked>& asked) {
  for (const Asked& each : asked) {
    if (const PopOnTheWay pop = FindPopOnTheWay(program, each); pop.function != nullptr) return pop;
  }
  return {};
}

// Why the stack behind a pop is no list: what is in the way of those that hold the same type.
std::string WhyUnconnected(const Program& program, const StacksLeft& left, const PopOnTheWay& pop) {
  constexpr size_t kMost = 3;
  std::vector<std::string> reasons;
  size_t more = 0;
  for (const auto& [maker, why] : left) {
    const auto& [name, id] = maker;
    const Function& function = name.empty() ? program.main() : *program.FindFunction(name);
    const Node& node = function.node(id);
    const DType dtype = node.attrs.GetOr<DType>("elem_type", DType::kInvalid);
    if (why.empty() || dtype != pop.dtype) continue;
    if (reasons.size() == kMost) {
      ++more;
    } else {
      reasons.push_back(
          absl::StrCat("the stack of ", Described(function, node), " cannot become a list: ", why));
    }
  }
  if (reasons.empty()) return "its handle comes from outside of what is differentiated";
  return absl::StrCat(absl::StrJoin(reasons, "; "),
                      more > 0 ? absl::StrCat("; nor can ", more, " others") : "");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> StacksToLists(std::shared_ptr<const Program> program,
                                                             const std::vector<Asked>& asked) {
  if (!HasStacks(*program) || FindAny(*program, asked).function == nullptr) return program;
  const StackHandles handles(*program);
  StacksLeft left;
  std::shared_ptr<const Program> written;
  while (written == nullptr) {
    StackRewrite rewrite(*program, handles, left);
    GYRE_ASSIGN_OR_RETURN(written, rewrite.Run());
    left = rewrite.left();
  }
  const PopOnTheWay pop = FindAny(*written, asked);
  if (pop.function == nullptr) return written;
  return absl::UnimplementedError(
      absl::StrCat(Described(*pop.function, pop.function->node(pop.pop)),
                   " cannot be differentiated: it takes from a stack what the gradient is asked ",
                   "for, and ", WhyUnconnected(*program, left, pop)));
}

}  // namespace gyre::grad
