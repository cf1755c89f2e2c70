// Plain lists: GYRE_HOSTS=a:4000,b:4000 with GYRE_RANK; and TF_CONFIG, as TensorFlow's programs
// have it. Rank 0's entry is where they meet.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cluster/env/cluster_env.h"

namespace gyre::cluster {
namespace {

ClusterEnv OfHosts(const char* launcher, const std::vector<std::string>& hosts, int rank) {
  ClusterEnv found;
  found.launcher = launcher;
  found.rank = rank;
  found.size = static_cast<int>(hosts.size());
  found.coordinator = hosts.empty() ? "" : hosts[0];
  const auto machine_of = [](const std::string& host) { return host.substr(0, host.rfind(':')); };
  found.local_size = 0;
  for (size_t other = 0; other < hosts.size(); ++other) {
    const bool is_near = rank >= 0 && rank < found.size &&
                         machine_of(hosts[other]) == machine_of(hosts[static_cast<size_t>(rank)]);
    found.local_size += is_near ? 1 : 0;
    found.local_rank += is_near && static_cast<int>(other) < rank ? 1 : 0;
  }
  return found;
}

// The chief, if there is one, is rank 0; workers follow. Others (ps, evaluator) are no ranks.
absl::StatusOr<std::optional<ClusterEnv>> FromTfConfig(const std::string& text) {
  const auto config = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("TF_CONFIG ", what, ": ", text));
  };
  if (!config.is_object()) return wrong("is no JSON object");
  if (!config.contains("cluster")) return std::optional<ClusterEnv>();
  const nlohmann::json& cluster = config["cluster"];
  if (!cluster.is_object()) return wrong("has a cluster that is no object");
  std::vector<std::string> hosts;
  size_t chiefs = 0;
  for (const char* job : {"chief", "worker"}) {
    if (!cluster.contains(job)) continue;
    if (!cluster[job].is_array()) return wrong("has a job that is no list");
    for (const nlohmann::json& host : cluster[job]) {
      if (!host.is_string()) return wrong("has an address that is no text");
      hosts.push_back(host.get<std::string>());
    }
    if (std::string(job) == "chief") chiefs = hosts.size();
  }
  if (!config.contains("task") || !config["task"].is_object()) return wrong("has no task");
  const nlohmann::json& task = config["task"];
  const std::string type = task.contains("type") && task["type"].is_string()
                               ? task["type"].get<std::string>()
                               : std::string();
  const bool has_index = task.contains("index") && task["index"].is_number_integer();
  if (!has_index || (type != "chief" && type != "worker"))
    return wrong("has a task that is neither the chief nor a worker, with its index");
  const auto index =
      task["index"].get<int64_t>() + (type == "worker" ? static_cast<int64_t>(chiefs) : int64_t{0});
  if (index < 0 || index >= static_cast<int64_t>(hosts.size()))
    return wrong("has a task that the cluster lacks");
  return OfHosts("TF_CONFIG", hosts, static_cast<int>(index));
}

}  // namespace

absl::StatusOr<std::optional<ClusterEnv>> FromHostList(const Environment& env) {
  if (const std::optional<std::string> list = env("GYRE_HOSTS")) {
    const std::vector<std::string> hosts = absl::StrSplit(*list, ',', absl::SkipWhitespace());
    GYRE_ASSIGN_OR_RETURN(const int rank, NumberOf(env, "GYRE_RANK"));
    return OfHosts("GYRE_HOSTS", hosts, rank);
  }
  if (const std::optional<std::string> config = env("TF_CONFIG")) return FromTfConfig(*config);
  return std::optional<ClusterEnv>();
}

}  // namespace gyre::cluster
