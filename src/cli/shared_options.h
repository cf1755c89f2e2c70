// Options that several commands have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "gyre/core/session.h"

namespace gyre::cli {

// "save" when --memory was not given. INVALID_ARGUMENT, naming the option and what it takes, for
// what is no memory policy.
absl::StatusOr<MemoryPolicy> ReadMemoryPolicy(const Arguments& arguments);

// For commands that read and transform graphs, but run none.
inline constexpr Option kPreparationTimeout = {"--timeout", "MS",
                                               "fail after so many milliseconds"};
inline constexpr Option kPreparationBudget = {
    "--budget", "BYTES",
    "fail when what is made of the graph holds more (64 MiB are\nthere in any case): 80M, 2G"};

// Holds this thread to the two options above, as long as the result lives. INVALID_ARGUMENT for
// values that are none.
absl::StatusOr<std::unique_ptr<PreparationLimit>> HoldToLimits(const Arguments& arguments);

// The options as a run's.
absl::StatusOr<RunOptions> ReadLimits(const Arguments& arguments);

// Options that have nothing to do in a case.
struct Idle {
  bool is_case = false;
  std::vector<absl::string_view> options;
  absl::string_view why;  // "with --list, which runs nothing"
};
// INVALID_ARGUMENT, naming it and why, for the first option that was given all the same.
absl::Status RefuseIdle(const Arguments& arguments, const std::vector<Idle>& cases);

}  // namespace gyre::cli
