// mpirun and its kin: Open MPI (OMPI_*), MPICH, Intel MPI and Hydra (PMI_*), PMIx.
//
// They say who a process is, and not where the ranks could meet: on one machine at a port that
// follows from the job's name; on several, at the address of mpirun's machine, where Open MPI puts
// rank 0.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cluster/env/cluster_env.h"

namespace gyre::cluster {
namespace {

// Of "jobid;tcp://10.0.0.1,192.168.0.1:34567", 10.0.0.1; "" of other text.
std::string HostOfUri(absl::string_view uri) {
  constexpr absl::string_view kScheme = "tcp://";
  const size_t at = uri.find(kScheme);
  if (at == absl::string_view::npos) return "";
  const absl::string_view hosts = uri.substr(at + kScheme.size());
  return std::string(hosts.substr(0, hosts.find_first_of(",:")));
}

}  // namespace

absl::StatusOr<std::optional<ClusterEnv>> FromMpi(const Environment& env) {
  ClusterEnv found;
  std::string job;
  if (env("OMPI_COMM_WORLD_SIZE")) {
    found.launcher = "mpirun (Open MPI)";
    GYRE_ASSIGN_OR_RETURN(found.rank, NumberOf(env, "OMPI_COMM_WORLD_RANK"));
    GYRE_ASSIGN_OR_RETURN(found.size, NumberOf(env, "OMPI_COMM_WORLD_SIZE"));
    GYRE_ASSIGN_OR_RETURN(found.local_rank, NumberOr(env, "OMPI_COMM_WORLD_LOCAL_RANK", 0));
    GYRE_ASSIGN_OR_RETURN(found.local_size, NumberOr(env, "OMPI_COMM_WORLD_LOCAL_SIZE", 1));
    job = env("PMIX_NAMESPACE").value_or(env("OMPI_MCA_ess_base_jobid").value_or(""));
  } else if (env("PMI_RANK") && env("PMI_SIZE")) {
    found.launcher = "mpirun (PMI)";
    GYRE_ASSIGN_OR_RETURN(found.rank, NumberOf(env, "PMI_RANK"));
    GYRE_ASSIGN_OR_RETURN(found.size, NumberOf(env, "PMI_SIZE"));
    GYRE_ASSIGN_OR_RETURN(found.local_rank, NumberOr(env, "MPI_LOCALRANKID", 0));
    GYRE_ASSIGN_OR_RETURN(found.local_size, NumberOr(env, "MPI_LOCALNRANKS", 1));
    job = env("PMI_JOBID").value_or(env("HYDRA_JOBID").value_or(env("PMI_PORT").value_or("")));
  } else if (env("PMIX_RANK") && env("PMIX_SIZE")) {
    found.launcher = "PMIx";
    GYRE_ASSIGN_OR_RETURN(found.rank, NumberOf(env, "PMIX_RANK"));
    GYRE_ASSIGN_OR_RETURN(found.size, NumberOf(env, "PMIX_SIZE"));
    GYRE_ASSIGN_OR_RETURN(found.local_rank, NumberOr(env, "PMIX_LOCAL_RANK", 0));
    GYRE_ASSIGN_OR_RETURN(found.local_size, NumberOr(env, "PMIX_LOCAL_SIZE", 1));
    job = env("PMIX_NAMESPACE").value_or("");
  } else {
    return std::optional<ClusterEnv>();
  }
  found.incarnation = job;
  if (found.local_size == found.size) {
    found.coordinator = AddressOf("127.0.0.1", PortOf(job));
  } else if (const std::string host = HostOfUri(env("OMPI_MCA_orte_hnp_uri").value_or(""));
             !host.empty()) {
    found.coordinator = AddressOf(host, PortOf(job));
  }
  return found;
}

}  // namespace gyre::cluster
