// What launchers say in the environment, and what becomes of it.
#include "cluster/env/cluster_env.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace gyre::cluster {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

absl::StatusOr<ClusterEnv> Detect(const Variables& variables) {
  return DetectClusterEnv([&](absl::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(std::string(name));
    return it == variables.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
}

ClusterEnv Found(const Variables& variables) {
  const absl::StatusOr<ClusterEnv> found = Detect(variables);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *found : ClusterEnv();
}

std::string ErrorOf(const Variables& variables) {
  return std::string(Detect(variables).status().message());
}

TEST(ClusterEnv, IsAloneWhereNobodySaysAnything) {
  const ClusterEnv env = Found({{"PATH", "/bin"}, {"RANK", "3"}});
  EXPECT_EQ(env.launcher, "nobody");
  EXPECT_EQ(env.rank, 0);
  EXPECT_EQ(env.size, 1);
}

TEST(ClusterEnv, OfTorchrun) {
  Variables variables = {{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "run"},
                         {"TORCHELASTIC_RESTART_COUNT", "2"}};
  const ClusterEnv env = Found(variables);
  EXPECT_EQ(env.launcher, "torchrun");
  EXPECT_EQ(env.rank, 5);
  EXPECT_EQ(env.size, 8);
  EXPECT_EQ(env.local_rank, 1);
  EXPECT_EQ(env.local_size, 4);
  EXPECT_EQ(env.coordinator, "node0:29500");
  EXPECT_EQ(env.incarnation, "run/2");
  // Its own store listens at the port.
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(Found(variables).coordinator, "node0:29501");
  variables["MASTER_ADDR"] = "fe80::1";
  EXPECT_EQ(Found(variables).coordinator, "[fe80::1]:29501");
  variables["GYRE_COORDINATOR"] = "elsewhere:7";
  EXPECT_EQ(Found(variables).coordinator, "elsewhere:7");
}

TEST(ClusterEnv, OfOpenMpi) {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "2"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                         {"PMIX_RANK", "2"},
                         {"PMIX_NAMESPACE", "3155361793"}};
  const ClusterEnv env = Found(variables);
  EXPECT_EQ(env.launcher, "mpirun (Open MPI)");
  EXPECT_EQ(env.rank, 2);
  EXPECT_EQ(env.size, 4);
  EXPECT_EQ(env.local_rank, 2);
  EXPECT_EQ(env.coordinator, absl::StrCat("127.0.0.1:", PortOf("3155361793")));
  EXPECT_NE(PortOf("3155361793"), PortOf("3155361794"));
  // On several machines: where mpirun runs.
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_THAT(ErrorOf(variables), HasSubstr("set GYRE_COORDINATOR"));
  variables["OMPI_MCA_orte_hnp_uri"] = "3155361792.0;tcp://10.1.2.3,192.168.0.1:41234";
  EXPECT_EQ(Found(variables).coordinator, absl::StrCat("10.1.2.3:", PortOf("3155361793")));
}

TEST(ClusterEnv, OfPmiAndPmix) {
  ClusterEnv env = Found({{"PMI_RANK", "1"},
                          {"PMI_SIZE", "2"},
                          {"MPI_LOCALRANKID", "1"},
                          {"MPI_LOCALNRANKS", "2"},
                          {"PMI_JOBID", "job"}});
  EXPECT_EQ(env.launcher, "mpirun (PMI)");
  EXPECT_EQ(env.rank, 1);
  EXPECT_EQ(env.size, 2);
  EXPECT_EQ(env.coordinator, absl::StrCat("127.0.0.1:", PortOf("job")));
  env = Found({{"PMIX_RANK", "3"},
               {"PMIX_SIZE", "4"},
               {"PMIX_NAMESPACE", "space"},
               {"GYRE_COORDINATOR", "head:4000"}});
  EXPECT_EQ(env.launcher, "PMIx");
  EXPECT_EQ(env.rank, 3);
  EXPECT_EQ(env.coordinator, "head:4000");
}

TEST(ClusterEnv, OfSlurm) {
  Variables variables = {{"SLURM_JOB_ID", "1234"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "9"},
                         {"SLURM_NTASKS", "99"},
                         {"SLURM_STEP_NUM_TASKS", "12"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_STEP_TASKS_PER_NODE", "4(x3)"}};
  EXPECT_THAT(ErrorOf(variables), HasSubstr("set GYRE_COORDINATOR"));
  const std::string port = absl::StrCat(":", PortOf("1234.0"));
  const std::vector<std::pair<std::string, std::string>> lists = {{"gpu[07-09,12],login", "gpu07"},
                                                                  {"gpu[3]", "gpu3"},
                                                                  {"one", "one"},
                                                                  {"one,two[1-3]", "one"},
                                                                  {"rack[1,2]-eth", "rack1-eth"}};
  for (const auto& [list, first] : lists) {
    variables["SLURM_STEP_NODELIST"] = list;
    EXPECT_EQ(Found(variables).coordinator, first + port) << list;
  }
  const ClusterEnv env = Found(variables);
  EXPECT_EQ(env.launcher, "Slurm");
  EXPECT_EQ(env.rank, 9);
  EXPECT_EQ(env.size, 12);
  EXPECT_EQ(env.local_rank, 1);
  EXPECT_EQ(env.local_size, 4);
  EXPECT_EQ(env.incarnation, "1234.0/0");
  variables["SLURM_STEP_NODELIST"] = "gpu[07-09";
  EXPECT_THAT(ErrorOf(variables), HasSubstr("is no list of nodes"));
}

TEST(ClusterEnv, OfKubernetes) {
  Variables variables = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                         {"JOB_COMPLETION_INDEX", "2"},
                         {"HOSTNAME", "train-2"},
                         {"GYRE_SERVICE", "ranks"}};
  EXPECT_THAT(ErrorOf(variables), HasSubstr("the environment lacks GYRE_SIZE"));
  variables["GYRE_SIZE"] = "3";
  const ClusterEnv env = Found(variables);
  EXPECT_EQ(env.launcher, "Kubernetes");
  EXPECT_EQ(env.rank, 2);
  EXPECT_EQ(env.size, 3);
  EXPECT_EQ(env.coordinator, "train-0.ranks:4000");
  EXPECT_EQ(env.incarnation, "train");
  variables.erase("GYRE_SERVICE");
  EXPECT_THAT(ErrorOf(variables), HasSubstr("set GYRE_COORDINATOR"));
}

TEST(ClusterEnv, OfPlainLists) {
  ClusterEnv env = Found({{"GYRE_HOSTS", "a:1,b:1,b:2"}, {"GYRE_RANK", "2"}, {"RANK", "0"}});
  EXPECT_EQ(env.rank, 2);
  EXPECT_EQ(env.size, 3);
  EXPECT_EQ(env.coordinator, "a:1");
  EXPECT_EQ(env.local_rank, 1);
  EXPECT_EQ(env.local_size, 2);
  env = Found({{"TF_CONFIG",
                R"({"cluster": {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1"]},
                    "task": {"type": "worker", "index": 1}})"}});
  EXPECT_EQ(env.launcher, "TF_CONFIG");
  EXPECT_EQ(env.rank, 2);
  EXPECT_EQ(env.size, 3);
  EXPECT_EQ(env.coordinator, "c:1");
}

TEST(ClusterEnv, RefusesWhatMakesNoSense) {
  EXPECT_THAT(ErrorOf({{"GYRE_HOSTS", "a:1,b:1"}}), HasSubstr("lacks GYRE_RANK"));
  EXPECT_THAT(ErrorOf({{"GYRE_HOSTS", "a:1,b:1"}, {"GYRE_RANK", "2"}}), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(ErrorOf({{"GYRE_HOSTS", "a:1"}, {"GYRE_RANK", "one"}}),
              HasSubstr("GYRE_RANK is \"one\", and no number"));
  EXPECT_THAT(
      ErrorOf({{"RANK", "-1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}),
      HasSubstr("rank -1 of 2"));
  for (const char* const config :
       {"", "[", "3", R"({"cluster": 3})", R"({"cluster": {"worker": 3}})",
        R"({"cluster": {"worker": [3]}})", R"({"cluster": {"worker": ["a:1"]}})",
        R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})",
        R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}})",
        R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}})",
        R"({"cluster": {"worker": ["a:1"]}, "task": {"type": 1, "index": 99999999999999}})"}) {
    EXPECT_THAT(ErrorOf({{"TF_CONFIG", config}}), HasSubstr("TF_CONFIG")) << config;
  }
}

}  // namespace
}  // namespace gyre::cluster
