// Group: the ranks of a launch, with a channel between any two, and the runs that they meet in.
//
//   a kernel ── Start ──► Exchange ─► StepRendezvous of the run ─► Mesh ─► the other ranks
//                            │
//   Tick, now and then: asks the other ranks where they are when nothing comes (Survey)
//
// A run is a step of the mesh, whose number is how many runs with collectives there were before it.
// Who waits in a run moves what comes; while runs compute instead, a thread of the group's does, so
// that the others get what they ask for. Thread-safe.
//
// Locks: the group's own, `mutex_`, is never held while an exchange or a run's callback is called.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "cluster/group/exchange.h"
#include "cluster/group/survey.h"
#include "cluster/host.h"
#include "cluster/mesh.h"
#include "ops/collective/group.h"

namespace gyre::cluster {

struct GroupMember {
  uint64_t incarnation = 0;
  ChannelAddress address;
};

struct GroupSettings {
  int rank = 0;
  uint64_t epoch = 1;
  std::vector<GroupMember> members;  // by rank
  std::string secret;                // of the channels
  Transport transport = Transport::kAuto;
  int64_t failure_nanos = 5'000'000'000;
  int64_t spin_nanos = 0;  // for how long who waits looks out before it sleeps
};

class Group final : public CollectiveGroup {
 public:
  // `host` must outlive it. Connect comes next.
  Group(Host& host, const GroupSettings& settings);
  // Waits for what others are still to take, for the failure timeout at most, and tells them that
  // this rank leaves.
  ~Group() override;

  // Opens a channel to each other rank. UNAVAILABLE, with its name, if there is none by
  // `deadline_nanos`, as the host's clock has it.
  absl::Status Connect(int64_t deadline_nanos);
  // Waits until all others are connected, too: who leaves at once is not missed then. Run 1 of all.
  absl::Status Meet(int64_t deadline_nanos);
  // To be called several times a second.
  void Tick();
  // What moves values while runs compute. To be called once at most, and its result run on a thread
  // of its own; it ends with Leave.
  std::function<void()> Mover();

  int rank() const override { return settings_.rank; }
  int size() const override { return static_cast<int>(settings_.members.size()); }
  uint64_t epoch() const override { return settings_.epoch; }
  std::string Lost() const override;
  // The destructor does so, too.
  void Leave(const std::string& why) override;
  absl::StatusOr<std::unique_ptr<CollectiveRun>> Begin(RunEnv& env, ProgressProbe* others) override;
  void Start(KernelContext& ctx, Collective collective, Done done) override;

 private:
  class Run;
  struct RunState;
  using RunPtr = std::shared_ptr<RunState>;

  absl::StatusOr<RunPtr> BeginRun(RunEnv& env, bool is_single);
  void EndRun(const RunPtr& run, const absl::Status& outcome);
  void StartAlone(KernelContext& ctx, Collective collective, Done done);
  std::shared_ptr<Exchange> StartIn(const RunPtr& run, KernelContext& ctx, Collective collective,
                                    Done done);
  absl::StatusOr<std::shared_ptr<const Routes>> CurrentRoutes();  // holds mutex_
  bool HasToMove();                                               // holds mutex_
  void EndDrained();
  void EndOverdue();
  void AskAround();
  void AnswerOverdue();
  void OnMessage(const Peer& from, absl::string_view message);
  void OnInquiry(int from, const proto::Inquiry& inquiry);
  void Diverge(RunState& run, Exchange& exchange, const std::string& how);
  std::string DivergedAt(const RunState& run) const;
  void OnWhereabouts(int from, const proto::Whereabouts& answer);
  void OnLeave(int rank, const std::string& why);
  void EndForlorn();
  void OnProgress(const RunPtr& run, const RunProgress& progress);
  void Tell(int rank, const proto::ToRank& message);
  int RankOf(uint64_t incarnation) const;
  std::string NameOf(int rank) const { return ways_.names[static_cast<size_t>(rank)]; }
  absl::Status GoneError(int rank) const;  // holds mutex_

  Host& host_;
  const GroupSettings settings_;
  const RankWays ways_;
  Mesh mesh_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ends_ = false;
  bool has_mover_ = false;
  bool has_left_ = false;  // and told the others
  uint64_t last_run_ = 0;
  std::map<uint64_t, RunPtr> runs_;              // that have begun and not ended, by number
  HashMap<const Cancellation*, RunPtr> run_of_;  // by who cancels it; but for single ones
  std::map<uint64_t, absl::Status> ended_;       // outcomes of the last runs
  std::vector<RunPtr> draining_;                 // ended; others still take what they sent
  std::shared_ptr<const Routes> routes_;
  std::vector<std::string> gone_;  // by rank: why; empty: it is there
  int underway_ = 0;               // exchanges that have begun and not ended
};

}  // namespace gyre::cluster
