#include "cluster/group/group.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/attention.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "cluster/messages.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
// Nothing has come for so long: where are the others?
constexpr int64_t kQuietNanos = 100'000'000;
// A run that has not said where it is by then computes.
constexpr int64_t kAnswerNanos = 300'000'000;
// How long runs are left to move values themselves.
constexpr int64_t kPatienceNanos = 1'000'000;
constexpr int64_t kMoveNanos = 20'000'000;
// How often who waits outside of a run looks whether it is to stop.
constexpr int64_t kLookNanos = 5'000'000;
constexpr size_t kEndedKept = 1024;
constexpr size_t kMostText = 2000;  // of what others are told

std::vector<std::string> NamesOf(const GroupSettings& settings) {
  std::vector<std::string> names;
  for (size_t rank = 0; rank < settings.members.size(); ++rank)
    names.push_back(absl::StrCat("rank ", rank, " (", settings.members[rank].address.tcp, ")"));
  return names;
}

// Of what one rank sends unasked, the mesh keeps what credit allows, until the run begins here.
Mesh::Options MeshOptions(const GroupSettings& settings) {
  Mesh::Options options;
  options.incarnation = settings.members[static_cast<size_t>(settings.rank)].incarnation;
  options.spin_nanos = settings.spin_nanos;
  options.failure_nanos = settings.failure_nanos;
  options.unbegun_nanos = kForever;
  return options;
}

}  // namespace

// Guarded by the group's mutex_, but for what never changes.
struct Group::RunState {
  struct Question {
    int from = 0;
    uint64_t number = 0;
    int64_t asked_nanos = 0;
  };
  RunState(uint64_t n, int num_ranks, bool single)
      : number(n), is_single(single), survey(num_ranks) {}

  const uint64_t number;
  const bool is_single;  // one collective, which its caller waits for
  std::shared_ptr<StepRendezvous> step;
  Cancellation* cancellation = nullptr;
  int64_t callback_id = 0;
  ProgressProbe* probe = nullptr;   // null: there is none, or the run has ended
  ProgressProbe* others = nullptr;  // whose questions it answers, too
  uint64_t serials = 0;
  uint64_t activity = 0;
  int64_t active_nanos = 0;  // when it last changed
  std::vector<std::shared_ptr<Exchange>> underway;
  Survey survey;
  std::vector<Question> questions;
  std::string diverged_at;  // a node's name

  proto::ToRank AnswerTo(const Question& question, proto::Whereabouts::State state,
                         const std::string& place) const {
    proto::ToRank message;
    proto::Whereabouts& answer = *message.mutable_whereabouts();
    answer.set_number(question.number);
    answer.set_run(number);
    answer.set_state(state);
    answer.set_activity(activity);
    answer.set_place(place.substr(0, kMostText));
    return message;
  }
};

// A run's part, and the rendezvous that its kernels have: what waits there polls the group's
// channels.
class Group::Run final : public CollectiveRun, public Rendezvous {
 public:
  Run(Group& group, RunPtr run, Rendezvous& inner)
      : group_(group),
        run_(std::move(run)),
        inner_(inner),
        probe_([this](const RunProgress& progress) { group_.OnProgress(run_, progress); }) {}
  ~Run() override { End(absl::AbortedError("the run was given up")); }

  Rendezvous* rendezvous() override { return this; }
  ProgressProbe* probe() override { return &probe_; }
  void End(const absl::Status& outcome) override {
    if (!std::exchange(has_ended_, true)) group_.EndRun(run_, outcome);
  }
  std::string DivergedAt() const override { return group_.DivergedAt(*run_); }

  absl::Status Send(const TransferEdge& edge, Tag tag, Item item) override {
    return inner_.Send(edge, tag, std::move(item));
  }
  void RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) override {
    inner_.RecvAsync(edge, tag, std::move(done));
  }
  bool TryRecv(const TransferEdge& edge, Tag tag, Item* item) override {
    return inner_.TryRecv(edge, tag, item);
  }
  void Abort(const absl::Status& why) override { inner_.Abort(why); }
  Outbox* outbox() override { return &group_.mesh_; }

 private:
  Group& group_;
  const RunPtr run_;
  Rendezvous& inner_;
  ProgressProbe probe_;
  bool has_ended_ = false;
};

Group::Group(Host& host, const GroupSettings& settings)
    : host_(host),
      settings_(settings),
      ways_(settings.rank, NamesOf(settings)),
      mesh_(host, MeshOptions(settings),
            {.on_lost =
                 [this](const Peer& peer, const absl::Status& why) {
                   const int rank = RankOf(peer.incarnation.load(std::memory_order_relaxed));
                   const std::lock_guard lock(mutex_);
                   if (rank >= 0 && gone_[static_cast<size_t>(rank)].empty())
                     gone_[static_cast<size_t>(rank)] = std::string(why.message());
                 },
             .on_message = [this](const Peer& from,
                                  absl::string_view message) { OnMessage(from, message); }}),
      gone_(settings.members.size()) {}

Group::~Group() { Leave(""); }

int Group::RankOf(uint64_t incarnation) const {
  for (size_t rank = 0; rank < settings_.members.size(); ++rank) {
    if (settings_.members[rank].incarnation == incarnation) return static_cast<int>(rank);
  }
  return -1;
}

absl::Status Group::Connect(int64_t deadline_nanos) {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == settings_.rank) continue;
    const GroupMember& member = settings_.members[static_cast<size_t>(rank)];
    GYRE_RETURN_IF_ERROR(mesh_.Expect(member.incarnation, NameOf(rank), member.address,
                                      settings_.transport, settings_.secret,
                                      rank < settings_.rank));
  }
  for (int rank = 0; rank < size();) {
    const uint64_t seen = mesh_.wakes();
    if (rank == settings_.rank ||
        mesh_.Find(settings_.members[static_cast<size_t>(rank)].incarnation) != nullptr) {
      ++rank;
      continue;
    }
    if (host_.clock().NowNanos() >= deadline_nanos) {
      return absl::UnavailableError(
          absl::StrCat("there is no channel to ", NameOf(rank), ", which has joined the group"));
    }
    mesh_.Wait(seen, kMoveNanos);
  }
  return absl::OkStatus();
}

absl::Status Group::Meet(int64_t deadline_nanos) {
  Cancellation cancellation(deadline_nanos, host_.clock());
  RunEnv env;
  env.cancellation = &cancellation;
  Node node;
  node.name = "joining";
  KernelContext ctx(node, env, Tag(), {}, {});
  absl::Status status;
  Start(ctx, {.kind = Collective::Kind::kBarrier},
        [&](const absl::StatusOr<Tensor>& result) { status = result.status(); });
  return status;
}

// ---- Runs

absl::Status Group::GoneError(int rank) const {
  const std::string& why = gone_[static_cast<size_t>(rank)];
  return absl::UnavailableError(
      absl::StrCat(NameOf(rank), " is gone", why.empty() ? "" : ": ", why));
}

std::string Group::Lost() const {
  const std::lock_guard lock(mutex_);
  for (int rank = 0; rank < size(); ++rank) {
    if (!gone_[static_cast<size_t>(rank)].empty()) return std::string(GoneError(rank).message());
  }
  return "";
}

absl::StatusOr<std::shared_ptr<const Routes>> Group::CurrentRoutes() {
  bool is_same = routes_ != nullptr;
  auto routes = std::make_shared<Routes>();
  for (int rank = 0; rank < size(); ++rank) {
    PeerPtr peer;
    if (rank != settings_.rank) {
      peer = mesh_.Find(settings_.members[static_cast<size_t>(rank)].incarnation);
      if (peer == nullptr) return GoneError(rank);
    }
    const std::string device = RankWays::DeviceOf(rank);
    is_same = is_same && routes_->at(device) == peer;
    routes->emplace(device, std::move(peer));
  }
  if (!is_same) routes_ = std::move(routes);
  return routes_;
}

absl::StatusOr<Group::RunPtr> Group::BeginRun(RunEnv& env, bool is_single) {
  RunPtr run;
  {
    const std::lock_guard lock(mutex_);
    if (ends_) return absl::FailedPreconditionError("this process has left its group");
    run = std::make_shared<RunState>(++last_run_, size(), is_single);
    absl::StatusOr<std::shared_ptr<const Routes>> routes = CurrentRoutes();
    absl::StatusOr<std::shared_ptr<StepRendezvous>> step =
        routes.ok()
            ? mesh_.Begin(run->number, *std::move(routes), RefPtr<MemoryBudget>::Share(env.budget))
            : routes.status();
    if (!step.ok()) {
      ended_.emplace(run->number, step.status());
      return step.status();
    }
    run->step = *std::move(step);
    run->cancellation = env.cancellation;
    run->active_nanos = host_.clock().NowNanos();
    runs_.emplace(run->number, run);
    if (!is_single) run_of_.emplace(env.cancellation, run);
  }
  if (env.cancellation != nullptr) {
    run->callback_id =
        env.cancellation->AddCallback([step = run->step, cancellation = env.cancellation] {
          step->Abort(cancellation->status());
        });
  }
  return run;
}

absl::StatusOr<std::unique_ptr<CollectiveRun>> Group::Begin(RunEnv& env, ProgressProbe* others) {
  GYRE_ASSIGN_OR_RETURN(RunPtr run, BeginRun(env, false));
  auto part = std::make_unique<Run>(*this, run, *env.rendezvous);
  const std::lock_guard lock(mutex_);
  run->probe = part->probe();
  run->others = others;
  return part;
}

void Group::EndRun(const RunPtr& run, const absl::Status& outcome) {
  std::vector<RunState::Question> questions;
  proto::ToRank answer;
  {
    const std::lock_guard lock(mutex_);
    runs_.erase(run->number);
    if (!run->is_single) run_of_.erase(run->cancellation);
    ended_.emplace(run->number, outcome);
    if (ended_.size() > kEndedKept) ended_.erase(ended_.begin());
    run->probe = run->others = nullptr;
    questions.swap(run->questions);
    answer = run->AnswerTo({}, proto::Whereabouts::ENDED, "");
    const absl::string_view text = outcome.message();
    ToProto(absl::Status(outcome.code(), text.substr(0, kMostText)),
            answer.mutable_whereabouts()->mutable_outcome());
  }
  if (run->cancellation != nullptr) run->cancellation->RemoveCallback(run->callback_id);
  if (!outcome.ok()) run->step->Abort(outcome);
  for (const RunState::Question& question : questions) {
    if (question.from == settings_.rank) continue;
    answer.mutable_whereabouts()->set_number(question.number);
    Tell(question.from, answer);
  }
  // Why a run has failed, the others hear unasked: before this program ends, if it does so now.
  answer.mutable_whereabouts()->set_number(0);
  for (int rank = 0; !outcome.ok() && rank < size(); ++rank) {
    if (rank != settings_.rank) Tell(rank, answer);
  }
  const bool has_drained = run->step->HasDrained();
  if (has_drained) mesh_.End(run->number);
  const std::lock_guard lock(mutex_);
  if (!has_drained) draining_.push_back(run);
  if (HasToMove()) changed_.notify_all();
}

bool Group::HasToMove() { return underway_ > 0 || !draining_.empty() || mesh_.HasUnsent(); }

// ---- Collectives

void Group::Start(KernelContext& ctx, Collective collective, Done done) {
  RunPtr run;
  {
    const std::lock_guard lock(mutex_);
    const auto it = run_of_.find(ctx.env().cancellation);
    if (it != run_of_.end()) run = it->second;
  }
  if (run == nullptr) return StartAlone(ctx, std::move(collective), std::move(done));
  const std::shared_ptr<Exchange> exchange =
      StartIn(run, ctx, std::move(collective), std::move(done));
  if (settings_.spin_nanos > 0 && exchange->is_small()) {
    const Clock& clock = host_.clock();
    const int64_t until = clock.NowNanos() + settings_.spin_nanos;
    while (!exchange->has_ended() && clock.NowNanos() < until) mesh_.Poll();
  }
  if (exchange->has_ended()) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();  // the mover
}

std::shared_ptr<Exchange> Group::StartIn(const RunPtr& run, KernelContext& ctx,
                                         Collective collective, Done done) {
  Exchange::Settings settings;
  settings.ways = &ways_;
  settings.step = run->step;
  settings.started_nanos = host_.clock().NowNanos();
  settings.on_ended = [this, run](const Exchange& exchange) {
    {
      const std::lock_guard lock(mutex_);
      const auto erased =
          std::erase_if(run->underway, [&](const auto& each) { return each.get() == &exchange; });
      underway_ -= static_cast<int>(erased);
      ++run->activity;
      run->active_nanos = host_.clock().NowNanos();
    }
    if (run->is_single) mesh_.Wake();
  };
  std::shared_ptr<Exchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    settings.serial = run->serials++;
    exchange = std::make_shared<Exchange>(std::move(settings), ctx, std::move(collective),
                                          std::move(done));
    run->underway.push_back(exchange);
    ++underway_;
    ++run->activity;
    run->active_nanos = exchange->started_nanos();
  }
  const absl::Status status = CatchOutOfMemory("a collective", [&] {
    exchange->Start();
    return absl::OkStatus();
  });
  if (!status.ok()) exchange->Fail(status);
  return exchange;
}

// Its caller waits for it in any case: here, where it moves what comes.
void Group::StartAlone(KernelContext& ctx, Collective collective, Done done) {
  const absl::StatusOr<RunPtr> run = BeginRun(ctx.env(), true);
  if (!run.ok()) return done(run.status());
  absl::Status outcome;
  Cancellation* const cancellation = ctx.env().cancellation;
  const auto end = [&](absl::StatusOr<Tensor> result) {
    outcome = result.status();
    done(std::move(result));
  };
  const std::shared_ptr<Exchange> exchange = StartIn(*run, ctx, std::move(collective), end);
  const Clock& clock = host_.clock();
  const int64_t spin_until = clock.NowNanos() + settings_.spin_nanos;
  while (!exchange->has_ended()) {
    const uint64_t seen = mesh_.wakes();
    mesh_.Poll();
    if (exchange->has_ended()) break;
    if (settings_.spin_nanos > 0 && clock.NowNanos() < spin_until) continue;
    mesh_.Wait(seen, kLookNanos);
    Attention::Attend();
    if (cancellation != nullptr) cancellation->Poll().IgnoreError();
  }
  exchange->AwaitEnd();
  EndRun(*run, outcome);
}

// ---- Moving values

std::function<void()> Group::Mover() {
  {
    const std::lock_guard lock(mutex_);
    has_mover_ = true;
  }
  return [this] {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (!HasToMove()) {
        host_.Wait(lock, changed_, kForever);
        continue;
      }
      host_.Wait(lock, changed_, kPatienceNanos);
      while (!ends_ && HasToMove() && !mesh_.IsWaitedOn()) {
        const uint64_t seen = mesh_.wakes();
        lock.unlock();
        mesh_.WaitMeanwhile(seen, kMoveNanos);
        EndDrained();
        lock.lock();
      }
    }
    has_mover_ = false;
    changed_.notify_all();
  };
}

void Group::EndDrained() {
  std::vector<RunPtr> ended;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(draining_, [&](const RunPtr& run) {
      if (!run->step->HasDrained()) return false;
      ended.push_back(run);
      return true;
    });
  }
  for (const RunPtr& run : ended) mesh_.End(run->number);
}

void Group::Leave(const std::string& why) {
  const absl::Status left = absl::CancelledError("this process leaves its group");
  std::vector<std::shared_ptr<Exchange>> underway;
  {
    std::unique_lock lock(mutex_);
    if (!std::exchange(ends_, true)) {
      for (const auto& [number, run] : runs_)
        underway.insert(underway.end(), run->underway.begin(), run->underway.end());
    }
    changed_.notify_all();
  }
  for (const auto& exchange : underway) exchange->Fail(left);
  mesh_.Wake();
  {
    std::unique_lock lock(mutex_);
    while (has_mover_) host_.Wait(lock, changed_, kForever);
  }
  const int64_t deadline = host_.clock().NowNanos() + settings_.failure_nanos;
  while (true) {
    const uint64_t seen = mesh_.wakes();
    bool tells = false;
    mesh_.Poll();
    EndDrained();
    {
      const std::lock_guard lock(mutex_);
      const bool is_done = draining_.empty() && !mesh_.HasUnsent();
      if (is_done && has_left_) break;
      if (is_done && !has_left_) has_left_ = tells = true;
      if (host_.clock().NowNanos() >= deadline) break;
    }
    proto::ToRank message;
    message.set_leaves(true);
    message.set_why(why.substr(0, kMostText));
    for (int rank = 0; tells && rank < size(); ++rank) {
      if (rank != settings_.rank) Tell(rank, message);
    }
    if (!tells) mesh_.Wait(seen, kMoveNanos);
  }
}

// ---- Where everybody is

void Group::Tell(int rank, const proto::ToRank& message) {
  const PeerPtr peer = mesh_.Find(settings_.members[static_cast<size_t>(rank)].incarnation);
  if (peer != nullptr) mesh_.Tell(*peer, message.SerializeAsString());
}

void Group::Tick() {
  mesh_.Tick();
  EndDrained();
  EndOverdue();
  EndForlorn();
  AnswerOverdue();
  AskAround();
  const std::lock_guard lock(mutex_);
  if (HasToMove()) changed_.notify_all();
}

void Group::EndOverdue() {
  const int64_t now = host_.clock().NowNanos();
  std::vector<std::shared_ptr<Exchange>> overdue;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, run] : runs_) {
      for (const auto& exchange : run->underway) {
        if (exchange->timeout_nanos() > 0 &&
            now - exchange->started_nanos() >= exchange->timeout_nanos())
          overdue.push_back(exchange);
      }
    }
  }
  for (const auto& exchange : overdue) {
    std::vector<std::string> missing;
    for (const int rank : exchange->Missing()) missing.push_back(NameOf(rank));
    exchange->Fail(absl::DeadlineExceededError(
        absl::StrCat(exchange->Place(), " has waited for as long as its timeout_seconds say for ",
                     missing.empty() ? "what the others send" : absl::StrJoin(missing, ", "))));
  }
}

void Group::AskAround() {
  const int64_t now = host_.clock().NowNanos();
  std::vector<proto::Inquiry> inquiries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, run] : runs_) {
      if (run->others != nullptr && run->others->IsAsked()) run->probe->Ask();
      if (run->underway.empty() || now - run->active_nanos < kQuietNanos || !run->survey.IsDue(now))
        continue;
      proto::Inquiry inquiry;
      inquiry.set_run(number);
      inquiry.set_number(run->survey.Ask(now));
      inquiries.push_back(std::move(inquiry));
    }
  }
  for (const proto::Inquiry& inquiry : inquiries) {
    proto::ToRank message;
    *message.mutable_inquiry() = inquiry;
    for (int rank = 0; rank < size(); ++rank) {
      if (rank != settings_.rank) Tell(rank, message);
    }
    OnInquiry(settings_.rank, inquiry);
  }
}

void Group::AnswerOverdue() {
  const int64_t now = host_.clock().NowNanos();
  std::vector<std::pair<int, proto::ToRank>> answers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, run] : runs_) {
      std::erase_if(run->questions, [&](const RunState::Question& question) {
        if (now - question.asked_nanos < kAnswerNanos) return false;
        answers.emplace_back(question.from, run->AnswerTo(question, proto::Whereabouts::BUSY, ""));
        return true;
      });
    }
  }
  for (const auto& [to, answer] : answers) {
    if (to == settings_.rank) {
      OnWhereabouts(to, answer.whereabouts());
    } else {
      Tell(to, answer);
    }
  }
}

void Group::OnMessage(const Peer& from, absl::string_view bytes) {
  const int rank = RankOf(from.incarnation.load(std::memory_order_relaxed));
  proto::ToRank message;
  if (rank < 0 || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  switch (message.what_case()) {
    case proto::ToRank::kInquiry:
      return OnInquiry(rank, message.inquiry());
    case proto::ToRank::kWhereabouts:
      return OnWhereabouts(rank, message.whereabouts());
    case proto::ToRank::kLeaves:
      return OnLeave(rank, message.why());
    case proto::ToRank::WHAT_NOT_SET:
      return;
  }
}

// What it owed has come before.
void Group::OnLeave(int rank, const std::string& why) {
  const PeerPtr peer = mesh_.Find(settings_.members[static_cast<size_t>(rank)].incarnation);
  if (peer != nullptr) peer->leaves.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    gone_[static_cast<size_t>(rank)] = why.empty() ? "its program has ended" : why;
  }
  EndForlorn();
}

// What waits for who has left, and would wait for ever.
void Group::EndForlorn() {
  std::vector<std::pair<std::shared_ptr<Exchange>, absl::Status>> forlorn;
  {
    const std::lock_guard lock(mutex_);
    for (int rank = 0; rank < size(); ++rank) {
      if (gone_[static_cast<size_t>(rank)].empty()) continue;
      for (const auto& [number, run] : runs_) {
        for (const auto& exchange : run->underway) {
          if (exchange->IsOwedBy(rank)) forlorn.emplace_back(exchange, GoneError(rank));
        }
      }
    }
  }
  for (const auto& [exchange, why] : forlorn) {
    exchange->Fail(absl::Status(
        why.code(), absl::StrCat(why.message(), ", without coming to ", exchange->Place())));
  }
}

void Group::OnInquiry(int from, const proto::Inquiry& inquiry) {
  const RunState::Question question{from, inquiry.number(), host_.clock().NowNanos()};
  proto::ToRank message;
  {
    const std::lock_guard lock(mutex_);
    const auto it = runs_.find(inquiry.run());
    if (it != runs_.end()) {
      RunState& run = *it->second;
      if (run.probe != nullptr) {
        run.questions.push_back(question);
        return run.probe->Ask();
      }
      const bool waits = run.is_single && !run.underway.empty();
      message = run.AnswerTo(question, waits ? proto::Whereabouts::IDLE : proto::Whereabouts::BUSY,
                             waits ? run.underway.front()->Place() : "");
    } else {
      proto::Whereabouts& answer = *message.mutable_whereabouts();
      answer.set_number(inquiry.number());
      answer.set_run(inquiry.run());
      answer.set_state(inquiry.run() > last_run_ ? proto::Whereabouts::NOT_BEGUN
                                                 : proto::Whereabouts::ENDED);
      const auto ended = ended_.find(inquiry.run());
      if (ended != ended_.end()) {
        const absl::string_view text = ended->second.message();
        ToProto(absl::Status(ended->second.code(), text.substr(0, kMostText)),
                answer.mutable_outcome());
      }
    }
  }
  if (from == settings_.rank) {
    OnWhereabouts(from, message.whereabouts());
  } else {
    Tell(from, message);
  }
}

// On a thread of the run.
void Group::OnProgress(const RunPtr& run, const RunProgress& progress) {
  std::vector<std::pair<std::string, int64_t>> loops;
  for (const RunProgress::Loop& loop : progress.loops)
    loops.emplace_back(loop.name, loop.iteration);
  const std::string place = PlaceText(progress.node, loops);
  std::vector<std::pair<int, proto::ToRank>> answers;
  ProgressProbe* others = nullptr;
  {
    const std::lock_guard lock(mutex_);
    others = run->others;
    // What waits for something else may go on whenever that comes.
    const bool waits = progress.is_waiting && !run->underway.empty();
    for (const RunState::Question& question : std::exchange(run->questions, {})) {
      answers.emplace_back(
          question.from,
          run->AnswerTo(question, waits ? proto::Whereabouts::IDLE : proto::Whereabouts::BUSY,
                        place));
    }
  }
  for (const auto& [to, answer] : answers) {
    if (to == settings_.rank) {
      OnWhereabouts(to, answer.whereabouts());
    } else {
      Tell(to, answer);
    }
  }
  if (others != nullptr) others->Answer(progress);
}

void Group::Diverge(RunState& run, Exchange& exchange, const std::string& how) {
  {
    const std::lock_guard lock(mutex_);
    if (run.diverged_at.empty()) run.diverged_at = exchange.node();
  }
  exchange.Fail(absl::FailedPreconditionError(absl::StrCat("the ranks have diverged", how)));
}

std::string Group::DivergedAt(const RunState& run) const {
  const std::lock_guard lock(mutex_);
  return run.diverged_at;
}

void Group::OnWhereabouts(int from, const proto::Whereabouts& answer) {
  std::vector<std::shared_ptr<Exchange>> failed;
  std::vector<std::string> places;
  RunPtr of;
  {
    const std::lock_guard lock(mutex_);
    const auto it = runs_.find(answer.run());
    if (it == runs_.end()) return;
    of = it->second;
    RunState& run = *of;
    const bool is_unasked = answer.number() == 0 && answer.state() == proto::Whereabouts::ENDED;
    if (!is_unasked && !run.survey.Note(from, answer, host_.clock().NowNanos())) return;
    const bool is_stalled = run.survey.stalled_nanos() >= settings_.failure_nanos / 2;
    if (answer.state() != proto::Whereabouts::ENDED && !is_stalled) return;
    failed = run.underway;
    for (int rank = 0; is_stalled && rank < size(); ++rank) {
      const proto::Whereabouts* const told = run.survey.answer(rank);
      places.push_back(
          absl::StrCat(NameOf(rank), " is at ", told == nullptr ? "?" : told->place()));
    }
  }
  const absl::Status outcome = FromProto(answer.outcome());
  for (const auto& exchange : failed) {
    if (!places.empty()) {
      Diverge(*of, *exchange,
              absl::StrCat(", and wait for each other: ", absl::StrJoin(places, "; ")));
    } else if (!outcome.ok()) {
      exchange->Fail(absl::AbortedError(
          absl::StrCat(NameOf(from), " has given up this run: ", outcome.message())));
    } else if (absl::c_linear_search(exchange->Missing(), from)) {
      Diverge(*of, *exchange,
              absl::StrCat(": ", NameOf(from), " has ended this run without coming to ",
                           exchange->Place()));
    }
  }
}

}  // namespace gyre::cluster
