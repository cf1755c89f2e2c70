// Kubernetes: an Indexed Job with a headless service. Pod I is rank I; they meet at pod 0.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/env/cluster_env.h"

namespace gyre::cluster {
namespace {

constexpr int kPort = 4000;

}  // namespace

absl::StatusOr<std::optional<ClusterEnv>> FromKubernetes(const Environment& env) {
  if (!env("JOB_COMPLETION_INDEX") || !env("KUBERNETES_SERVICE_HOST"))
    return std::optional<ClusterEnv>();
  ClusterEnv found;
  found.launcher = "Kubernetes";
  GYRE_ASSIGN_OR_RETURN(found.rank, NumberOf(env, "JOB_COMPLETION_INDEX"));
  // Of the job's completions, which a pod is not told: the manifest says it once more.
  GYRE_ASSIGN_OR_RETURN(found.size, NumberOf(env, "GYRE_SIZE"));
  const std::string pod = env("HOSTNAME").value_or("");
  const std::string end = absl::StrCat("-", found.rank);
  const std::optional<std::string> service = env("GYRE_SERVICE");
  GYRE_ASSIGN_OR_RETURN(const int port, NumberOr(env, "GYRE_PORT", kPort));
  if (service && absl::EndsWith(pod, end)) {
    const std::string job = pod.substr(0, pod.size() - end.size());
    found.coordinator = AddressOf(absl::StrCat(job, "-0.", *service), port);
    found.incarnation = job;
  }
  return found;
}

}  // namespace gyre::cluster
