#include "cluster/env/cluster_env.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::cluster {

absl::StatusOr<int> NumberOf(const Environment& env, absl::string_view name) {
  const std::optional<std::string> text = env(name);
  if (!text) return absl::FailedPreconditionError(absl::StrCat("the environment lacks ", name));
  int number = 0;
  if (!absl::SimpleAtoi(*text, &number))
    return absl::InvalidArgumentError(absl::StrCat(name, " is \"", *text, "\", and no number"));
  return number;
}

absl::StatusOr<int> NumberOr(const Environment& env, absl::string_view name, int fallback) {
  if (!env(name)) return fallback;
  return NumberOf(env, name);
}

int PortOf(absl::string_view job) {
  constexpr int kFirst = 20'000, kPorts = 12'000;  // below those that systems hand out
  uint32_t hash = 2166136261;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return kFirst + static_cast<int>(hash % kPorts);
}

std::string AddressOf(absl::string_view host, int port) {
  const bool is_v6 = host.find(':') != absl::string_view::npos;
  return is_v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

}  // namespace gyre::cluster

namespace gyre {

absl::StatusOr<cluster::ClusterEnv> DetectClusterEnv() {
  return DetectClusterEnv([](absl::string_view name) -> std::optional<std::string> {
    const char* const value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  });
}

absl::StatusOr<cluster::ClusterEnv> DetectClusterEnv(const cluster::Environment& env) {
  constexpr std::array<cluster::Launcher, 5> kLaunchers = {
      cluster::FromHostList,  // what the user says comes first
      cluster::FromTorchrun,  // may itself have been started by Slurm or Kubernetes
      cluster::FromMpi,       // likewise
      cluster::FromSlurm,    cluster::FromKubernetes,
  };
  for (const cluster::Launcher launcher : kLaunchers) {
    GYRE_ASSIGN_OR_RETURN(std::optional<cluster::ClusterEnv> found, launcher(env));
    if (!found) continue;
    if (const auto coordinator = env("GYRE_COORDINATOR")) found->coordinator = *coordinator;
    if (found->size < 1 || found->rank < 0 || found->rank >= found->size) {
      return absl::InvalidArgumentError(absl::StrCat(found->launcher, " says that this is rank ",
                                                     found->rank, " of ", found->size));
    }
    if (found->size > 1 && found->coordinator.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(found->launcher,
                       " does not say where the ranks meet: set GYRE_COORDINATOR to HOST:PORT of "
                       "rank 0's machine, for all of them"));
    }
    return *std::move(found);
  }
  cluster::ClusterEnv alone;
  alone.launcher = "nobody";
  return alone;
}

}  // namespace gyre
