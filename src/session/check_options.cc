#include "session/check_options.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/device_set.h"
#include "session/form.h"

namespace gyre {
namespace {

// More only cost memory.
constexpr int kMostThreads = 1024;

template <typename E, size_t n>
absl::Status CheckKind(E value, const std::array<E, n>& kinds, absl::string_view what) {
  if (absl::c_linear_search(kinds, value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(static_cast<int>(value), " is no ", what, " that there is"));
}

}  // namespace

absl::Status CheckSessionOptions(const SessionOptions& options) {
  GYRE_RETURN_IF_ERROR(CheckKind(options.engine, kEngineKinds, "kind of engine"));
  if (options.form) GYRE_RETURN_IF_ERROR(CheckKind(*options.form, kProgramForms, "form"));
  GYRE_RETURN_IF_ERROR(CheckKind(options.compile, kCompileModes, "way of compiling"));
  if (options.cluster != nullptr &&
      (options.engine != EngineKind::kDataflow || !options.devices.empty())) {
    return absl::InvalidArgumentError(
        "a session on a cluster has the cluster's engine and devices, and no others");
  }
  if (options.parallel.window < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window must be at least 1, not ", options.parallel.window));
  }
  if (options.parallel.threads < 0 || options.parallel.threads > kMostThreads) {
    return absl::InvalidArgumentError(absl::StrCat("a session has 1 to ", kMostThreads,
                                                   " threads (0: one per core), not ",
                                                   options.parallel.threads));
  }
  GYRE_RETURN_IF_ERROR(CheckForm(options));
  if (!options.devices.empty()) GYRE_RETURN_IF_ERROR(ParseDeviceSet(options.devices).status());
  return absl::OkStatus();
}

absl::Status CheckRunOptions(const RunOptions& options) {
  if (options.timeout_ms < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a timeout must be at least 1 ms (0: none), not ", options.timeout_ms));
  }
  if (options.budget_bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a budget must be at least 1 byte (0: what the machine has), not ", options.budget_bytes));
  }
  return absl::OkStatus();
}

}  // namespace gyre
