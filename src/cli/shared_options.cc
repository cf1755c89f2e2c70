#include "cli/shared_options.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::cli {

absl::StatusOr<MemoryPolicy> ReadMemoryPolicy(const Arguments& arguments) {
  absl::StatusOr<MemoryPolicy> policy =
      ParseMemoryPolicy(arguments.Get("--memory").value_or("save"));
  if (policy.ok()) return policy;
  return absl::InvalidArgumentError(absl::StrCat("--memory ", policy.status().message()));
}

absl::StatusOr<RunOptions> ReadLimits(const Arguments& arguments) {
  RunOptions options;
  GYRE_ASSIGN_OR_RETURN(options.timeout_ms,
                        arguments.Int("--timeout", 1, INT32_MAX, 0, "milliseconds"));
  GYRE_ASSIGN_OR_RETURN(options.budget_bytes, arguments.Bytes("--budget", 0));
  return options;
}

absl::StatusOr<std::unique_ptr<PreparationLimit>> HoldToLimits(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const RunOptions limits, ReadLimits(arguments));
  return std::make_unique<PreparationLimit>(limits);
}

absl::Status RefuseIdle(const Arguments& arguments, const std::vector<Idle>& cases) {
  for (const Idle& idle : cases) {
    for (const absl::string_view option : idle.options) {
      if (!idle.is_case || !arguments.Has(option)) continue;
      return absl::InvalidArgumentError(absl::StrCat(option, " has no effect ", idle.why));
    }
  }
  return absl::OkStatus();
}

}  // namespace gyre::cli
