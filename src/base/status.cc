#include "base/status.h"

namespace gyre {

absl::Status BugError(absl::string_view invariant) {
  return absl::InternalError(absl::StrCat("this is a bug in Gyre: ", invariant));
}

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

bool IsDerivedError(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsAborted(status);
}

}  // namespace gyre
