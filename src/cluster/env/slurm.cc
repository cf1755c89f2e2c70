// Slurm: tasks of a step. They meet on the first of its nodes, where task 0 runs.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cluster/env/cluster_env.h"

namespace gyre::cluster {
namespace {

// The first of a list such as "gpu[07-09,12],login".
absl::StatusOr<std::string> FirstNode(absl::string_view list) {
  const size_t comma = list.find(',');
  const size_t bracket = list.find('[');
  if (bracket == absl::string_view::npos || comma < bracket)
    return std::string(list.substr(0, comma));
  const size_t end = list.find(']', bracket);
  if (end == absl::string_view::npos)
    return absl::InvalidArgumentError(absl::StrCat("\"", list, "\" is no list of nodes"));
  const absl::string_view numbers = list.substr(bracket + 1, end - bracket - 1);
  absl::string_view rest = list.substr(end + 1);
  rest = rest.substr(0, rest.find(','));
  return absl::StrCat(list.substr(0, bracket), numbers.substr(0, numbers.find_first_of("-,")),
                      rest);
}

}  // namespace

absl::StatusOr<std::optional<ClusterEnv>> FromSlurm(const Environment& env) {
  if (!env("SLURM_PROCID") || !env("SLURM_JOB_ID")) return std::optional<ClusterEnv>();
  ClusterEnv found;
  found.launcher = "Slurm";
  GYRE_ASSIGN_OR_RETURN(found.rank, NumberOf(env, "SLURM_PROCID"));
  const char* const tasks = env("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  GYRE_ASSIGN_OR_RETURN(found.size, NumberOr(env, tasks, 1));
  GYRE_ASSIGN_OR_RETURN(found.local_rank, NumberOr(env, "SLURM_LOCALID", 0));
  // "4", or "4(x3),2" for three nodes of four and one of two.
  if (const auto per_node = env("SLURM_STEP_TASKS_PER_NODE")) {
    int first = 1;
    if (absl::SimpleAtoi(per_node->substr(0, per_node->find_first_of("(,")), &first))
      found.local_size = first;
  }
  const std::string step =
      absl::StrCat(*env("SLURM_JOB_ID"), ".", env("SLURM_STEP_ID").value_or("0"));
  found.incarnation = absl::StrCat(step, "/", env("SLURM_RESTART_COUNT").value_or("0"));
  const std::optional<std::string> nodes =
      env("SLURM_STEP_NODELIST") ? env("SLURM_STEP_NODELIST") : env("SLURM_JOB_NODELIST");
  if (!nodes) return found;
  GYRE_ASSIGN_OR_RETURN(const std::string first, FirstNode(*nodes));
  found.coordinator = AddressOf(first, PortOf(step));
  return found;
}

}  // namespace gyre::cluster
