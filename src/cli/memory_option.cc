#include "cli/memory_option.h"

#include "absl/strings/str_cat.h"
#include "grad/memory_policy.h"

namespace gyre::cli {

absl::StatusOr<std::string> ReadMemoryPolicy(const Arguments& arguments) {
  std::string policy = arguments.Get("--memory").value_or("");
  const absl::Status status = grad::ParseMemoryPolicy(policy).status();
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("--memory ", status.message()));
  return policy;
}

}  // namespace gyre::cli
