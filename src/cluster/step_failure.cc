#include "cluster/step_failure.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gyre::cluster {

absl::Status StepFailure(const absl::Status& first, const std::vector<MemberFailure>& members) {
  std::string text(first.message());
  for (const MemberFailure& member : members) {
    if (!member.has_ended) {
      absl::StrAppend(&text, "\n  ", member.name, " has not stopped in time");
    } else if (member.status == first) {
      absl::StrAppend(&text, "\n  on ", member.name);
    } else if (!member.status.ok()) {
      // What was cancelled says where it was, behind why, which may be told in other words than
      // those of the first.
      const absl::string_view message = member.status.message();
      const size_t why = absl::StartsWith(message, first.message()) ? first.message().size() : 0;
      const size_t where = message.find("\n  ", why);
      if (where != message.npos)
        absl::StrAppend(&text, "\n  ", member.name, " was at:", message.substr(where));
    }
  }
  return absl::Status(first.code(), text);
}

}  // namespace gyre::cluster
