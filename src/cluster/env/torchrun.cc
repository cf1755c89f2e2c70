// torchrun, and whatever else sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#include "base/status.h"
#include "cluster/env/cluster_env.h"

namespace gyre::cluster {

absl::StatusOr<std::optional<ClusterEnv>> FromTorchrun(const Environment& env) {
  if (!env("RANK") || !env("WORLD_SIZE") || !env("MASTER_ADDR")) return std::optional<ClusterEnv>();
  ClusterEnv found;
  found.launcher = "torchrun";
  GYRE_ASSIGN_OR_RETURN(found.rank, NumberOf(env, "RANK"));
  GYRE_ASSIGN_OR_RETURN(found.size, NumberOf(env, "WORLD_SIZE"));
  GYRE_ASSIGN_OR_RETURN(int port, NumberOf(env, "MASTER_PORT"));
  // The launcher's own store listens at that port, and the next one is free.
  const std::string uses_store = env("TORCHELASTIC_USE_AGENT_STORE").value_or("");
  if (uses_store == "True" || uses_store == "1") ++port;
  found.coordinator = AddressOf(*env("MASTER_ADDR"), port);
  found.incarnation = env("TORCHELASTIC_RUN_ID").value_or("") + "/" +
                      env("TORCHELASTIC_RESTART_COUNT").value_or("0");
  GYRE_ASSIGN_OR_RETURN(found.local_rank, NumberOr(env, "LOCAL_RANK", 0));
  GYRE_ASSIGN_OR_RETURN(found.local_size, NumberOr(env, "LOCAL_WORLD_SIZE", 1));
  return found;
}

}  // namespace gyre::cluster
