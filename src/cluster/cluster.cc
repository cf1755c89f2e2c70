#include "cluster/cluster.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/attention.h"
#include "base/env.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "cluster/membership.h"
#include "cluster/sources.h"
#include "cluster/step_failure.h"
#include "graphdef/export.h"
#include "gyre/core/options.h"
#include "passes/prune.h"
#include "passes/staged.h"
#include "place/state_homes.h"

namespace gyre::cluster {
namespace {

// For how long a client waits for compiled programs before it looks whether it may go on waiting.
constexpr int64_t kMostPatienceNanos = 10'000'000;
// A client's channels are looked after at least so often, whatever the failure time.
constexpr int64_t kMostTickNanos = 500'000'000;
// Of the failure time: how long a worker that was told to stop a step may say nothing.
constexpr int64_t kSilentPart = 16;
// Round trips beside the first, when a run is watched: the shortest tells most of a worker's clock.
constexpr int kMorePings = 3;

// Tells all workers that nobody runs a program any more, and that who still works at it may stop.
void DropProgram(Membership& membership, uint64_t program) {
  const std::lock_guard lock(membership.mutex);
  for (size_t m = 0; m < membership.members.size(); ++m) {
    // One that cannot be told keeps it until this client goes.
    (void)Again([&] {
      proto::ToWorker message;
      message.mutable_drop()->set_program(program);
      membership.SendTo(static_cast<int>(m), message);
    });
  }
}

class ClusterExecutable final : public Executable {
 public:
  ClusterExecutable(std::shared_ptr<Membership> membership, uint64_t program,
                    std::vector<std::string> feed_names, size_t num_fetches,
                    std::vector<proto::Compiled> parts)
      : membership_(std::move(membership)),
        program_(program),
        feed_names_(std::move(feed_names)),
        num_fetches_(num_fetches),
        parts_(std::move(parts)) {}

  ~ClusterExecutable() override { DropProgram(*membership_, program_); }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override;

 private:
  absl::Status StartAndAwait(uint64_t step, Underway& underway, absl::Span<const Tensor> feeds,
                             RunEnv& env) const;
  absl::Status Start(uint64_t step, Underway& underway, absl::Span<const Tensor> feeds,
                     const RunEnv& env) const;
  void AwaitEnd(uint64_t step, Underway& underway, RunEnv& env) const;
  void Ask(uint64_t step, const Underway& underway) const;
  void PingThoseLeft(const Underway& underway) const;
  bool HasAnyAnswered(int64_t nanos, const Underway& underway) const;
  absl::StatusOr<std::vector<Tensor>> Results(const Underway& underway, const RunEnv& env) const;

  const std::shared_ptr<Membership> membership_;
  const uint64_t program_;
  const std::vector<std::string> feed_names_;
  const size_t num_fetches_;
  const std::vector<proto::Compiled> parts_;  // by member
};

absl::Status ClusterExecutable::Start(uint64_t step, Underway& underway,
                                      absl::Span<const Tensor> feeds, const RunEnv& env) const {
  std::vector<std::string> messages(parts_.size());
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!parts_[m].takes_part()) continue;
    proto::ToWorker message;
    proto::Run& run = *message.mutable_run();
    run.set_step(step);
    run.set_program(program_);
    run.set_run_id(env.run_id);
    run.set_seed(env.seed);
    run.set_budget_bytes(env.budget == nullptr ? 0 : env.budget->limit());
    run.set_spin_nanos(membership_->settings.spin_nanos);
    if (underway.watched != nullptr) *run.mutable_watch() = underway.watched->Wishes();
    std::vector<Tensor> values;
    std::vector<std::string> names;
    for (const int feed : parts_[m].feeds()) {
      values.push_back(feeds[feed]);
      names.push_back(feed_names_[feed]);
    }
    GYRE_RETURN_IF_ERROR(ToProto(values, "feed", names, membership_->settings.most_payload_bytes,
                                 run.mutable_feeds()));
    messages[m] = message.SerializeAsString();
  }
  const std::lock_guard lock(membership_->mutex);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!parts_[m].takes_part()) continue;
    if (underway.watched != nullptr) {
      // All by the link, in order: the ping is answered before any firing is told of, and all of
      // these before the end.
      membership_->members[m].more_pings = kMorePings;
      membership_->Ping(static_cast<int>(m));
    } else if (messages[m].size() <= Channel::kMaxEagerBytes) {
      underway.parts[m].via = membership_->mesh.Find(membership_->members[m].hello->incarnation());
    }
    membership_->Tell(static_cast<int>(m), underway.parts[m], std::move(messages[m]));
    underway.parts[m].is_told = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> ClusterExecutable::Run(absl::Span<const Tensor> feeds,
                                                           RunEnv& env,
                                                           const RunHooks& hooks) const {
  if (!env.sandbox.empty()) {
    return absl::UnimplementedError("a cluster's workers know no folder of this process");
  }
  std::optional<WatchedRun> watched;
  if (hooks.observer != nullptr || hooks.progress != nullptr) {
    watched.emplace(hooks, static_cast<int>(parts_.size()), membership_->host.clock().NowNanos());
    GYRE_RETURN_IF_ERROR(watched->Check());
  }
  Underway underway;
  underway.parts.resize(parts_.size());
  underway.watched = watched ? &*watched : nullptr;
  uint64_t step = 0;
  {
    const std::lock_guard lock(membership_->mutex);
    for (size_t m = 0; m < parts_.size(); ++m) {
      underway.parts[m].takes_part = parts_[m].takes_part();
      if (!parts_[m].takes_part()) continue;
      GYRE_RETURN_IF_ERROR(membership_->members[m].gone);
      if (watched && !membership_->members[m].hello->can_be_watched()) {
        return absl::UnimplementedError(absl::StrCat(
            membership_->members[m].name, " is of an older Gyre, whose runs cannot be watched"));
      }
    }
    step = membership_->next_step++;
    membership_->steps.emplace(step, &underway);
  }
  const absl::Status status = StartAndAwait(step, underway, feeds, env);
  {
    std::unique_lock lock(membership_->mutex);
    membership_->steps.erase(step);
    while (underway.telling > 0)
      membership_->host.Wait(lock, membership_->changed, std::numeric_limits<int64_t>::max());
  }
  GYRE_RETURN_IF_ERROR(status);
  if (hooks.elsewhere != nullptr) {
    for (const Part& part : underway.parts)
      hooks.elsewhere->peak_bytes = std::max(hooks.elsewhere->peak_bytes, part.result.peak_bytes());
  }
  return Results(underway, env);
}

// An error of its own, for which no worker has been asked or which all have been told.
absl::Status ClusterExecutable::StartAndAwait(uint64_t step, Underway& underway,
                                              absl::Span<const Tensor> feeds, RunEnv& env) const {
  std::optional<int64_t> callback;
  const absl::Cleanup remove = [&] {
    if (callback) env.cancellation->RemoveCallback(*callback);
  };
  const absl::Status status = CatchOutOfMemory("this run", [&]() -> absl::Status {
    GYRE_RETURN_IF_ERROR(Start(step, underway, feeds, env));
    // Runs on whatever thread cancels; the membership outlives it.
    callback = env.cancellation->AddCallback(
        [membership = membership_, step, cancellation = env.cancellation] {
          const absl::Status why = cancellation->status();
          {
            const std::lock_guard lock(membership->mutex);
            const auto it = membership->steps.find(step);
            if (it != membership->steps.end()) membership->Fail(step, *it->second, why);
          }
          membership->Stir();
        });
    AwaitEnd(step, underway, env);
    return absl::OkStatus();
  });
  if (status.ok()) return status;
  {
    const std::lock_guard lock(membership_->mutex);
    // Who has not heard of the step does not say that it has ended either.
    for (Part& part : underway.parts) part.is_done = part.is_done || !part.is_told;
    membership_->Fail(step, underway, status);
  }
  (void)Again([&] { AwaitEnd(step, underway, env); });
  return status;
}

// Puts a question of who watches to the workers, if there is one.
void ClusterExecutable::Ask(uint64_t step, const Underway& underway) const {
  std::vector<bool> has_ended;
  {
    const std::lock_guard lock(membership_->mutex);
    for (const Part& part : underway.parts) has_ended.push_back(part.HasEnded());
  }
  const uint64_t question = underway.watched->Question(has_ended);
  if (question == 0) return;
  proto::ToWorker message;
  message.mutable_ask()->set_step(step);
  message.mutable_ask()->set_question(question);
  const std::lock_guard lock(membership_->mutex);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.parts[m].HasEnded()) membership_->SendTo(static_cast<int>(m), message);
  }
}

// Requirement: the membership's mutex is held.
void ClusterExecutable::PingThoseLeft(const Underway& underway) const {
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.parts[m].HasEnded()) membership_->Ping(static_cast<int>(m));
  }
}

// Whether a worker whose part has not ended has answered a ping of then, or later: what else comes
// of it may have been on its way. Requirement: the membership's mutex is held.
bool ClusterExecutable::HasAnyAnswered(int64_t nanos, const Underway& underway) const {
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.parts[m].HasEnded() && membership_->members[m].answered_nanos >= nanos)
      return true;
  }
  return false;
}

// Polls and sleeps on the client's channels until all parts have ended or, told to stop, have had
// time enough: that is the failure time for those that answer, and less for those that are silent.
// Prints meanwhile.
void ClusterExecutable::AwaitEnd(uint64_t step, Underway& underway, RunEnv& env) const {
  const bool asks = underway.watched != nullptr && underway.watched->asks();
  const Clock& clock = membership_->host.clock();
  std::optional<int64_t> told;  // when they were told to stop
  while (true) {
    const uint64_t seen = membership_->mesh.wakes();
    std::deque<proto::Printed> printed;
    int64_t left = std::numeric_limits<int64_t>::max();
    {
      const std::lock_guard lock(membership_->mutex);
      printed.swap(underway.printed);
      if (printed.empty()) {
        if (underway.HasEnded()) return;
        if (!underway.first.ok()) {
          const int64_t now = clock.NowNanos(), patience = membership_->settings.failure_nanos;
          if (!told) {
            told = now;
            PingThoseLeft(underway);
          }
          left = *told + patience / kSilentPart - now;
          if (left <= 0 && HasAnyAnswered(*told, underway)) left = *told + patience - now;
          if (left <= 0) return;
        } else if (env.cancellation->deadline_nanos() != Cancellation::kNoDeadline) {
          left = env.cancellation->deadline_nanos() - env.cancellation->clock().NowNanos();
        }
      }
    }
    for (const proto::Printed& text : printed) env.print(text.stream(), text.text());
    if (asks) left = std::min(left, WatchedRun::kAskNanos);
    left = std::min(left, Attention::Patience());
    if (printed.empty() && left > 0) membership_->mesh.Wait(seen, left);
    if (asks) Ask(step, underway);
    Attention::Attend();
    env.cancellation->Poll().IgnoreError();  // past the deadline, this cancels
  }
}

absl::StatusOr<std::vector<Tensor>> ClusterExecutable::Results(const Underway& underway,
                                                               const RunEnv& env) const {
  if (!underway.first.ok()) {
    std::vector<MemberFailure> failures;
    for (size_t m = 0; m < parts_.size(); ++m) {
      const Part& part = underway.parts[m];
      if (part.takes_part)
        failures.push_back({membership_->members[m].name, part.is_done, part.status});
    }
    return StepFailure(underway.first, failures);
  }
  std::vector<Tensor> results(num_fetches_);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.parts[m].takes_part) continue;
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                          FromProto(underway.parts[m].result.fetches(), env.budget));
    if (static_cast<int>(values.size()) != parts_[m].fetches_size())
      return absl::InternalError(
          absl::StrCat(membership_->members[m].name, " gave too few results"));
    for (size_t i = 0; i < values.size(); ++i)
      results[parts_[m].fetches(static_cast<int>(i))] = values[i];
  }
  return results;
}

class ClusterEngine final : public Engine {
 public:
  explicit ClusterEngine(std::shared_ptr<Membership> membership)
      : membership_(std::move(membership)) {}
  ~ClusterEngine() override {
    membership_->ticker.reset();
    // Nobody adds a link any more.
    for (const Member& member : membership_->members) {
      if (member.link != nullptr) member.link->Close();
    }
    membership_->calls->End(membership_->host);
  }

  absl::string_view name() const override { return "cluster"; }
  std::vector<DeviceName> devices() const override { return membership_->devices; }
  void EndState(uint64_t number) const override {
    const std::lock_guard lock(membership_->mutex);
    for (size_t m = 0; m < membership_->members.size(); ++m) {
      // One that cannot be told keeps it until this client goes.
      (void)Again([&] {
        proto::ToWorker message;
        message.mutable_drop()->set_state(number);
        membership_->SendTo(static_cast<int>(m), message);
      });
    }
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override;

 private:
  const std::shared_ptr<Membership> membership_;
};

// Whether the workers take feeds that there are, and give every fetch.
absl::Status CheckParts(const std::vector<proto::Compiled>& parts, const RunSignature& signature) {
  const auto feeds = static_cast<int>(signature.feeds.size());
  std::vector<bool> is_given(signature.fetches.size());
  const auto fetches = static_cast<int>(is_given.size());
  for (const proto::Compiled& part : parts) {
    const auto is_feed = [&](int i) { return i >= 0 && i < feeds; };
    const auto is_fetch = [&](int i) { return i >= 0 && i < fetches; };
    if (!std::all_of(part.feeds().begin(), part.feeds().end(), is_feed) ||
        !std::all_of(part.fetches().begin(), part.fetches().end(), is_fetch)) {
      return absl::InternalError("a worker takes or gives what the program does not have");
    }
    if (!part.takes_part()) continue;
    for (const int fetch : part.fetches()) is_given[fetch] = true;
  }
  if (!std::all_of(is_given.begin(), is_given.end(), [](bool is) { return is; }))
    return absl::InternalError("no worker gives one of the results");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Executable>> ClusterEngine::Compile(
    std::shared_ptr<const Program> program, const RunSignature& signature,
    const EngineOptions& options) const {
  const auto homes = place::HomesOfState(*program);
  GYRE_ASSIGN_OR_RETURN(const Staged needed, PrunePass(MakeStaged(std::move(program), signature)));
  const Function& main = needed.program->main();
  const auto endpoint = [&](NodeId node, int slot, proto::Compile::Endpoint* out) {
    out->set_node(main.node(node).name);
    out->set_slot(slot);
    out->set_index(node);
  };
  proto::ToWorker message;
  proto::Compile& compile = *message.mutable_compile();
  GYRE_ASSIGN_OR_RETURN(*compile.mutable_graph(),
                        ExportGraphDef(*WithSourcesAmongAttributes(*needed.program)));
  const auto bytes = static_cast<int64_t>(compile.graph().size());
  if (const int64_t most = membership_->settings.most_payload_bytes; bytes > most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the program holds ", bytes, " bytes with its constants; ", most,
        " are the most that a worker can be sent: feed large values, or assign them to variables"));
  }
  std::vector<std::string> feed_names;
  for (const Endpoint& e : needed.signature.feeds) {
    endpoint(e.node, e.slot, compile.add_feeds());
    feed_names.push_back(absl::StrCat(main.node(e.node).name, ":", e.slot));
  }
  for (const Endpoint& e : needed.signature.fetches)
    endpoint(e.node, e.slot, compile.add_fetches());
  for (const NodeId target : needed.signature.targets) endpoint(target, 0, compile.add_targets());
  for (size_t d = 0; d < membership_->devices.size(); ++d) {
    proto::Compile::Device& device = *compile.add_devices();
    device.set_name(membership_->devices[d].ToString());
    device.set_member(membership_->member_of_device[d]);
  }
  for (const auto& [state, device] : homes) {
    proto::Compile::Home& home = *compile.add_homes();
    home.set_state(state);
    home.set_device(device);
  }
  compile.set_window(options.parallel.window);
  compile.set_soft_placement(options.place.soft);
  compile.set_spread_seed(options.place.spread_seed);
  compile.set_shared_state(membership_->settings.shared_state);
  compile.set_state(options.state);
  compile.set_schedule_seed(options.testing.schedule_seed);

  std::unique_lock lock(membership_->mutex);
  GYRE_RETURN_IF_ERROR(membership_->AnyGone());
  const uint64_t id = membership_->next_program++;
  compile.set_program(id);
  const size_t n = membership_->members.size();
  Compiling asked;
  asked.replies.resize(n);
  membership_->compiling.emplace(id, std::move(asked));
  absl::Cleanup give_up = [&] {
    if (!lock.owns_lock()) lock.lock();
    membership_->compiling.erase(id);
    lock.unlock();
    DropProgram(*membership_, id);
  };
  for (size_t m = 0; m < n; ++m) membership_->SendTo(static_cast<int>(m), message);
  // A large program takes its time; workers that are gone are noticed.
  absl::Status status;
  const auto has_all = [&] {
    const auto& replies = membership_->compiling[id].replies;
    return std::all_of(replies.begin(), replies.end(), [](const auto& r) { return r.has_value(); });
  };
  while (status.ok() && !has_all()) {
    membership_->host.Wait(lock, membership_->changed,
                           std::min(kMostPatienceNanos, membership_->settings.failure_nanos));
    status = membership_->AnyGone();
    status.Update(WorkLimit::Check());
  }
  std::vector<proto::Compiled> parts;
  for (std::optional<proto::Compiled>& reply : membership_->compiling[id].replies) {
    if (!reply) continue;
    status.Update(FromProto(reply->status()));
    parts.push_back(*std::move(reply));
  }
  GYRE_RETURN_IF_ERROR(status);
  GYRE_RETURN_IF_ERROR(CheckParts(parts, signature));
  auto executable = std::make_unique<ClusterExecutable>(membership_, id, std::move(feed_names),
                                                        signature.fetches.size(), std::move(parts));
  membership_->compiling.erase(id);
  std::move(give_up).Cancel();
  return executable;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Engine>> ConnectCluster(Host& host, const LinkDialer& dial,
                                                       const ClusterSettings& settings) {
  auto membership = std::make_shared<Membership>(host, settings);
  auto engine = std::make_shared<ClusterEngine>(membership);
  const int64_t tick = std::min(settings.failure_nanos / 8, kMostTickNanos);
  membership->ticker = host.Every(tick, [weak = std::weak_ptr<Membership>(membership)] {
    if (const auto locked = weak.lock()) locked->Tick();
  });
  GYRE_RETURN_IF_ERROR(membership->Connect(dial));
  return std::shared_ptr<Engine>(std::move(engine));
}

}  // namespace gyre::cluster
