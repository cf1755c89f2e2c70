// The options that put a session on a cluster, which several commands have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/streams.h"
#include "gyre/core/session.h"

namespace gyre::cli {

inline constexpr Option kClusterOption = {
    "--cluster", "ADDRESSES",
    "run on the workers at HOST:PORT,HOST:PORT,…, or on N\nworkers of this machine that are "
    "started for it: local:N"};
inline constexpr Option kTransportOption = {
    "--transport", "NAME", "how these workers' values travel: auto, tcp or memory"};
inline constexpr Option kTokenOption = {"--token-file", "FILE",
                                        "the workers' token; default: what GYRE_TOKEN holds"};
inline constexpr Option kSpinOption = {"--spin", "MICROSECONDS",
                                       "how long a worker that waits polls before it sleeps"};

// The token that the options or the environment name; empty: neither does. NOT_FOUND where there is
// no such file.
absl::StatusOr<std::string> ReadToken(const Arguments& arguments);

// Workers that were started for this command, and end with it.
class LocalWorkers {
 public:
  virtual ~LocalWorkers() = default;
  virtual const std::vector<std::string>& addresses() const = 0;
  virtual const std::string& token() const = 0;
};
// `count` processes of this program, which `restart` starts (see Streams), with these options of
// `gyre worker`. UNAVAILABLE where one does not start.
absl::StatusOr<std::unique_ptr<LocalWorkers>> StartWorkers(
    int count, const std::vector<std::string>& options = {},
    const std::vector<std::string>& restart = {});

struct AskedCluster {
  std::unique_ptr<LocalWorkers> workers;  // outlives the engine
  std::shared_ptr<const Engine> engine;
};
// Who is asked for, and what with; no worker and no `local`: nobody.
struct ClusterRequest {
  int local = 0;  // workers to be started
  ClusterOptions options;
};
// What the options ask for; errors are mistakes of the command line.
absl::StatusOr<ClusterRequest> ReadCluster(const Arguments& arguments);

// Starts and calls those workers, in `timeout_ms` (0: no limit of its own); no engine: none were
// asked for. As ConnectCluster and StartWorkers.
absl::StatusOr<AskedCluster> Connect(ClusterRequest request, int64_t timeout_ms,
                                     const Streams& streams);
// Reports why Connect failed: a Misuse if what is asked for makes no sense, else a Failure.
int NotConnected(const Command& command, const Streams& streams, const absl::Status& status);

}  // namespace gyre::cli
