#include "dist/step_failure.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gyre::dist {

absl::Status StepFailure(const absl::Status& first, const std::vector<MemberFailure>& members) {
  std::string text(first.message());
  for (const MemberFailure& member : members) {
    if (!member.has_ended) {
      absl::StrAppend(&text, "\n  ", member.name, " has not stopped in time");
    } else if (member.status == first) {
      absl::StrAppend(&text, "\n  on ", member.name);
    } else if (!member.status.ok()) {
      // What was cancelled says where it was, behind why.
      absl::string_view where = member.status.message();
      if (absl::StartsWith(where, first.message())) where.remove_prefix(first.message().size());
      if (absl::StartsWith(where, "\n")) where.remove_prefix(1);
      if (!where.empty()) absl::StrAppend(&text, "\n  ", member.name, " was at:\n", where);
    }
  }
  return absl::Status(first.code(), text);
}

}  // namespace gyre::dist
