// Groups of ranks, for Python. All with the GIL.
#include <memory>
#include <string>
#include <utility>

#include "cluster/env/cluster_env.h"
#include "cluster/group/join.h"
#include "ops/collective/group.h"
#include "python/python.h"
#include "python/signals/interrupt.h"

namespace gyre::python {
namespace {

// What the last attempt to join was told. With the GIL.
uint64_t told_epoch = 0;

void Join(int rank, int size, nb::handle coordinator, nb::handle token, nb::handle launch,
          nb::handle transport, int64_t join_timeout_ms, int64_t failure_timeout_ms,
          int64_t spin_us, uint64_t epoch, bool tries_again) {
  cluster::JoinOptions options;
  options.rank = rank;
  options.size = size;
  options.coordinator = std::string(TextOf(coordinator, "a coordinator"));
  options.token = std::string(TextOf(token, "a token"));
  options.launch = std::string(TextOf(launch, "a launch"));
  options.transport = ValueOf(ParseTransport(TextOf(transport, "a transport")));
  options.join_timeout_ms = join_timeout_ms;
  options.failure_timeout_ms = failure_timeout_ms;
  options.spin_us = spin_us;
  options.epoch = epoch;
  options.tries_again = tries_again;
  absl::StatusOr<std::shared_ptr<CollectiveGroup>> group = absl::UnknownError("not joined");
  uint64_t told = 0;
  Cancellation cancellation;
  options.cancellation = &cancellation;
  {
    const Interruptible interruptible(cancellation);
    const nb::gil_scoped_release release;
    group = JoinGroup(options, &told);
    if (group.ok()) SetCollectiveGroup(*group);
  }
  told_epoch = told;
  if (!group.ok()) ThrowIfInterrupted();
  ValueOf(std::move(group));
}

// Others may still take what this rank has sent: without the GIL.
void Leave(nb::handle why) {
  const std::string text(TextOf(why, "a reason"));
  const nb::gil_scoped_release release;
  if (const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup()) group->Leave(text);
  SetCollectiveGroup(nullptr);
}

nb::object LostRank() {
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  return ToStr(group == nullptr ? "" : group->Lost());
}

nb::tuple RankAndSize() {
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  return group == nullptr ? nb::make_tuple(0, 1) : nb::make_tuple(group->rank(), group->size());
}

uint64_t Epoch() {
  const std::shared_ptr<CollectiveGroup> group = TheCollectiveGroup();
  return group == nullptr ? 0 : group->epoch();
}

nb::tuple Detect() {
  const cluster::ClusterEnv env = ValueOf(DetectClusterEnv());
  return nb::make_tuple(ToStr(env.launcher), env.rank, env.size, ToStr(env.coordinator),
                        ToStr(env.incarnation), env.local_rank, env.local_size);
}

}  // namespace

void BindRanks(nb::module_& m) {
  m.def("join_group", &Join, nb::arg("rank"), nb::arg("size"), nb::arg("coordinator"),
        nb::kw_only(), nb::arg("token") = "", nb::arg("launch") = "", nb::arg("transport") = "auto",
        nb::arg("join_timeout_ms") = 300'000, nb::arg("failure_timeout_ms") = 5'000,
        nb::arg("spin_us") = -1, nb::arg("epoch") = 0, nb::arg("tries_again") = false,
        "Becomes a rank of a group, once all are there.");
  m.def(
      "told_epoch", [] { return told_epoch; },
      "Of the last group that join_group was told of, also where that came to nothing.");
  m.def("leave_group", &Leave, nb::arg("why") = "",
        "Ends what this process is in its group; the others are told why.");
  m.def("group_epoch", &Epoch, "Of the group of ranks; 0: there is none.");
  m.def("lost_rank", &LostRank, "Which rank of the group is gone, and why; \"\": none is.");
  m.def("rank_and_size", &RankAndSize, "This process's rank, and of how many: (0, 1) if alone.");
  m.def("detect_cluster_env", &Detect, "The fields of a ClusterEnv.");
}

}  // namespace gyre::python
