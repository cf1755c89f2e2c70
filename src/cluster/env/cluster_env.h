// ClusterEnv: which rank this process is, of how many, and where they meet: what whoever has
// launched it says in the environment. One file for each kind of launcher.
//
// Launching, membership and restarts are the launcher's. Pure functions of the environment; any
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"

namespace gyre::cluster {

struct ClusterEnv {
  std::string launcher;  // "torchrun", …; for people
  int rank = 0;
  int size = 1;
  std::string coordinator;  // "HOST:PORT", where rank 0 listens while ranks join
  std::string incarnation;  // of the launch: another one after a restart
  int local_rank = 0;       // among the ranks of its machine, and how many they are
  int local_size = 1;
};

// The value of a variable; none where it is not set.
using Environment = std::function<std::optional<std::string>(absl::string_view name)>;

// One launcher: none where this process is not of its making. INVALID_ARGUMENT or
// FAILED_PRECONDITION, with the variable, where what it says makes no sense or is not enough.
using Launcher = absl::StatusOr<std::optional<ClusterEnv>> (*)(const Environment&);
absl::StatusOr<std::optional<ClusterEnv>> FromHostList(const Environment& env);
absl::StatusOr<std::optional<ClusterEnv>> FromTorchrun(const Environment& env);
absl::StatusOr<std::optional<ClusterEnv>> FromMpi(const Environment& env);
absl::StatusOr<std::optional<ClusterEnv>> FromSlurm(const Environment& env);
absl::StatusOr<std::optional<ClusterEnv>> FromKubernetes(const Environment& env);

// ---- For launchers

// A whole number. FAILED_PRECONDITION where it is not set, INVALID_ARGUMENT for other text.
absl::StatusOr<int> NumberOf(const Environment& env, absl::string_view name);
absl::StatusOr<int> NumberOr(const Environment& env, absl::string_view name, int fallback);
// A port that all ranks of a job agree on without a word: by its name.
int PortOf(absl::string_view job);
// "HOST:PORT", with brackets where the host is an IPv6 address.
std::string AddressOf(absl::string_view host, int port);

}  // namespace gyre::cluster

namespace gyre {

// The first that has made this process; alone if none has. GYRE_COORDINATOR, if it is set, is where
// ranks meet, whatever the launcher says.
GYRE_INTERNAL_EXPORT absl::StatusOr<cluster::ClusterEnv> DetectClusterEnv(
    const cluster::Environment& env);
// As this process's environment has it.
GYRE_INTERNAL_EXPORT absl::StatusOr<cluster::ClusterEnv> DetectClusterEnv();

}  // namespace gyre
