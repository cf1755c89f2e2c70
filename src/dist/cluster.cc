#include "dist/cluster.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/cancellation.h"
#include "base/status.h"
#include "dist/messages.h"
#include "dist/step_failure.h"
#include "graphdef/export.h"
#include "passes/staged.h"
#include "place/state_homes.h"

namespace gyre::dist {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
constexpr int kMostDevices = 1024;  // of a worker, as ParseDeviceSet

// One worker, as the client sees it. Guarded by the cluster's mutex.
struct Member {
  std::string name;
  std::shared_ptr<ControlLink> link;
  std::optional<proto::HelloReply> hello;
  std::optional<absl::Status> joined;
  absl::Status gone;  // why, once it is
  int64_t heard_nanos = 0;
};

// A program that is being compiled.
struct Compiling {
  std::vector<std::optional<proto::Compiled>> replies;
};

// A step under way.
struct Underway {
  std::vector<bool> takes_part, is_done;
  std::vector<absl::Status> statuses;
  std::vector<proto::Done> results;
  const std::function<void(absl::string_view, absl::string_view)>* print = nullptr;
  absl::Status first;      // the first error, which cancelled the rest
  int printing = 0;        // calls of `print` that have not returned
  std::mutex print_mutex;  // held during them; taken without the cluster's
};

// Where a worker is, and what its devices are called.
struct Place {
  std::string name;     // for people
  DeviceName device;    // of all its devices: job, replica, task
  std::string address;  // "host:port"
};

// "host:port", the `index`th of them, or "/job:ps/task:0=host:port".
absl::StatusOr<Place> ParsePlace(const std::string& text, int index) {
  if (!absl::StartsWith(text, "/")) {
    return Place{absl::StrCat("worker ", index, " (", text, ")"),
                 {.job = "worker", .replica = 0, .task = index},
                 text};
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  GYRE_ASSIGN_OR_RETURN(DeviceName device, DeviceName::Parse(parts.first));
  if (!device.job || !device.task || device.type || device.id || parts.second.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no worker: give HOST:PORT, or /job:NAME/task:N=HOST:PORT"));
  }
  device.replica = device.replica.value_or(0);
  return Place{absl::StrCat(parts.first, " (", parts.second, ")"), device, parts.second};
}

absl::StatusOr<std::vector<Place>> ParsePlaces(const std::vector<std::string>& addresses) {
  if (addresses.empty()) return absl::InvalidArgumentError("a cluster needs a worker");
  std::vector<Place> places;
  for (const std::string& address : addresses) {
    GYRE_ASSIGN_OR_RETURN(Place place, ParsePlace(address, static_cast<int>(places.size())));
    for (const Place& other : places) {
      if (place.device == other.device) {
        return absl::InvalidArgumentError(absl::StrCat("two workers are ", place.device.ToString(),
                                                       ": ", other.name, " and ", place.name));
      }
    }
    places.push_back(std::move(place));
  }
  return places;
}

struct State : std::enable_shared_from_this<State> {
  State(Host& h, const ClusterSettings& s) : host(h), settings(s), next_step(s.first_step) {}

  void OnMessage(int member, absl::string_view bytes);
  void OnClosed(int member, const absl::Status& why) { Lose(member, why); }
  void Lose(int member, const absl::Status& why);
  void Tick();
  absl::Status Connect(const LinkDialer& dial);
  // Waits until `is_so`, a worker is gone, or the failure time has passed. Requirement: lock is
  // held.
  template <typename F>
  absl::Status WaitFor(std::unique_lock<std::mutex>& lock, absl::string_view what, F is_so);
  absl::Status AnyGone() const;
  void Fail(uint64_t step, Underway& underway, const absl::Status& why);
  void Print(const proto::Printed& printed);
  void SendTo(int member, const proto::ToWorker& message) {
    members[member].link->Send(message.SerializeAsString());
  }

  Host& host;
  const ClusterSettings settings;
  std::vector<DeviceName> devices;
  std::vector<int> member_of_device;
  std::shared_ptr<void> ticker;

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::vector<Member> members;
  uint64_t next_program = 1;
  uint64_t next_step;
  uint64_t next_ping = 1;
  absl::flat_hash_map<uint64_t, Compiling> compiling;
  std::map<uint64_t, Underway*> steps;
};

class Handler final : public LinkHandler {
 public:
  Handler(std::weak_ptr<State> state, int member) : state_(std::move(state)), member_(member) {}
  void OnMessage(absl::string_view message) override {
    if (const auto state = state_.lock()) state->OnMessage(member_, message);
  }
  void OnClosed(const absl::Status& why) override {
    if (const auto state = state_.lock()) state->OnClosed(member_, why);
  }

 private:
  const std::weak_ptr<State> state_;
  const int member_;
};

void State::OnMessage(int m, absl::string_view bytes) {
  proto::FromWorker message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Lose(m, absl::DataLossError("it sent what is no message"));
  }
  if (message.what_case() == proto::FromWorker::kPrinted) Print(message.printed());
  const std::lock_guard lock(mutex);
  Member& member = members[m];
  member.heard_nanos = host.clock().NowNanos();
  switch (message.what_case()) {
    case proto::FromWorker::kHello:
      member.hello = message.hello();
      break;
    case proto::FromWorker::kJoined:
      member.joined = FromProto(message.joined().status());
      break;
    case proto::FromWorker::kCompiled: {
      const auto it = compiling.find(message.compiled().program());
      if (it != compiling.end()) it->second.replies[m] = message.compiled();
      break;
    }
    case proto::FromWorker::kDone: {
      const auto it = steps.find(message.done().step());
      if (it == steps.end() || it->second->is_done[m]) return;
      Underway& step = *it->second;
      step.is_done[m] = true;
      step.statuses[m] = FromProto(message.done().status());
      step.results[m] = std::move(*message.mutable_done());
      if (!step.statuses[m].ok()) Fail(it->first, step, step.statuses[m]);
      break;
    }
    case proto::FromWorker::kPrinted:
    case proto::FromWorker::kPong:
    case proto::FromWorker::WHAT_NOT_SET:
      return;
  }
  changed.notify_all();
}

// Without the mutex: who prints may cancel the run, or wait for who does.
void State::Print(const proto::Printed& printed) {
  Underway* step = nullptr;
  {
    const std::lock_guard lock(mutex);
    const auto it = steps.find(printed.step());
    if (it == steps.end()) return;
    step = it->second;
    ++step->printing;
  }
  {
    const std::lock_guard lock(step->print_mutex);
    (*step->print)(printed.stream(), printed.text());
  }
  const std::lock_guard lock(mutex);
  --step->printing;
  changed.notify_all();
}

// Tells everybody else to stop. Requirement: mutex is held.
void State::Fail(uint64_t id, Underway& step, const absl::Status& why) {
  if (!step.first.ok()) return;
  step.first = why;
  proto::ToWorker message;
  message.mutable_cancel()->set_step(id);
  ToProto(why, message.mutable_cancel()->mutable_status());
  for (size_t m = 0; m < members.size(); ++m) {
    if (step.takes_part[m] && !step.is_done[m]) SendTo(static_cast<int>(m), message);
  }
  changed.notify_all();
}

void State::Lose(int m, const absl::Status& why) {
  std::shared_ptr<ControlLink> link;
  {
    const std::lock_guard lock(mutex);
    Member& member = members[m];
    if (!member.gone.ok()) return;
    const bool is_refusal = absl::IsUnauthenticated(why) || absl::IsFailedPrecondition(why);
    member.gone = absl::Status(is_refusal ? why.code() : absl::StatusCode::kUnavailable,
                               absl::StrCat(member.name, " is gone: ", why.message()));
    for (auto& [id, step] : steps) {
      if (!step->takes_part[m] || step->is_done[m]) continue;
      step->is_done[m] = true;
      step->statuses[m] = member.gone;
      Fail(id, *step, member.gone);
    }
    link = member.link;
    changed.notify_all();
  }
  if (link != nullptr) link->Close();
}

void State::Tick() {
  std::vector<int> silent;
  const int64_t now = host.clock().NowNanos();
  {
    const std::lock_guard lock(mutex);
    proto::ToWorker ping;
    ping.mutable_ping()->set_number(next_ping++);
    for (size_t m = 0; m < members.size(); ++m) {
      if (!members[m].gone.ok() || members[m].link == nullptr) continue;
      const int64_t quiet = now - members[m].heard_nanos;
      if (quiet > settings.failure_nanos) silent.push_back(static_cast<int>(m));
      if (quiet > settings.failure_nanos / 8) SendTo(static_cast<int>(m), ping);
    }
  }
  for (const int m : silent) {
    Lose(m, absl::UnavailableError(absl::StrCat("nothing was heard of it for ",
                                                settings.failure_nanos / kNanosPerMs, " ms")));
  }
}

absl::Status State::AnyGone() const {
  for (const Member& member : members) GYRE_RETURN_IF_ERROR(member.gone);
  return absl::OkStatus();
}

template <typename F>
absl::Status State::WaitFor(std::unique_lock<std::mutex>& lock, absl::string_view what, F is_so) {
  const int64_t deadline = host.clock().NowNanos() + 2 * settings.failure_nanos;
  while (true) {
    GYRE_RETURN_IF_ERROR(AnyGone());
    if (is_so()) return absl::OkStatus();
    const int64_t left = deadline - host.clock().NowNanos();
    if (left <= 0)
      return absl::UnavailableError(absl::StrCat("the cluster has not ", what, " in time"));
    host.Wait(lock, changed, left);
  }
}

absl::Status State::Connect(const LinkDialer& dial) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Place> places, ParsePlaces(settings.addresses));
  {
    const std::lock_guard lock(mutex);
    members.resize(places.size());
    for (size_t m = 0; m < members.size(); ++m) {
      members[m].name = places[m].name;
      members[m].heard_nanos = host.clock().NowNanos();
    }
  }
  for (size_t m = 0; m < places.size(); ++m) {
    absl::StatusOr<std::shared_ptr<ControlLink>> link =
        dial(places[m].address, std::make_shared<Handler>(weak_from_this(), static_cast<int>(m)));
    if (!link.ok()) {
      return absl::Status(link.status().code(),
                          absl::StrCat(places[m].name, ": ", link.status().message()));
    }
    proto::ToWorker hello;
    hello.mutable_hello()->set_version(kControlVersion);
    hello.mutable_hello()->set_token(settings.token);
    const std::lock_guard lock(mutex);
    members[m].link = *std::move(link);
    SendTo(static_cast<int>(m), hello);
  }
  std::unique_lock lock(mutex);
  const auto have_greeted = [this] {
    return std::all_of(members.begin(), members.end(),
                       [](const Member& member) { return member.hello.has_value(); });
  };
  absl::Status status = WaitFor(lock, "answered", have_greeted);
  // Why a worker hangs up, it says before.
  proto::ToWorker message;
  proto::Join& join = *message.mutable_join();
  for (size_t m = 0; m < members.size(); ++m) {
    if (!members[m].hello) continue;
    const proto::HelloReply& hello = *members[m].hello;
    if (absl::Status refused = FromProto(hello.status()); !refused.ok()) {
      return absl::Status(refused.code(), absl::StrCat(members[m].name, ": ", refused.message()));
    }
    if (hello.num_devices() < 1 || hello.num_devices() > kMostDevices) {
      return absl::InternalError(
          absl::StrCat(members[m].name, " says that it has ", hello.num_devices(), " devices"));
    }
    for (size_t other = 0; other < m; ++other) {
      if (members[other].hello && members[other].hello->incarnation() == hello.incarnation()) {
        return absl::InvalidArgumentError(
            absl::StrCat(members[other].name, " and ", members[m].name, " are the same process"));
      }
    }
    for (int k = 0; k < hello.num_devices(); ++k) {
      DeviceName device = places[m].device;
      device.type = "CPU";
      device.id = k;
      devices.push_back(device);
      member_of_device.push_back(static_cast<int>(m));
    }
    proto::Join::Member& member = *join.add_members();
    member.set_name(members[m].name);
    member.set_incarnation(hello.incarnation());
    member.set_tcp(hello.tcp());
    member.set_memory(hello.memory());
    member.set_machine(hello.machine());
  }
  GYRE_RETURN_IF_ERROR(status);
  join.set_secret(settings.secret);
  join.set_transport(static_cast<int>(settings.transport));
  join.set_failure_ms(settings.failure_nanos / kNanosPerMs);
  for (size_t m = 0; m < members.size(); ++m) {
    join.set_self(static_cast<int>(m));
    SendTo(static_cast<int>(m), message);
  }
  GYRE_RETURN_IF_ERROR(WaitFor(lock, "found together", [this] {
    return std::all_of(members.begin(), members.end(),
                       [](const Member& member) { return member.joined.has_value(); });
  }));
  for (const Member& member : members) {
    if (member.joined->ok()) continue;
    return absl::Status(member.joined->code(),
                        absl::StrCat(member.name, ": ", member.joined->message()));
  }
  return absl::OkStatus();
}

class ClusterExecutable final : public Executable {
 public:
  ClusterExecutable(std::shared_ptr<State> state, uint64_t program, size_t num_fetches,
                    std::vector<proto::Compiled> parts)
      : state_(std::move(state)),
        program_(program),
        num_fetches_(num_fetches),
        parts_(std::move(parts)) {}

  ~ClusterExecutable() override {
    proto::ToWorker message;
    message.mutable_drop()->set_program(program_);
    const std::lock_guard lock(state_->mutex);
    for (size_t m = 0; m < parts_.size(); ++m) state_->SendTo(static_cast<int>(m), message);
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override;

 private:
  absl::Status Start(uint64_t step, absl::Span<const Tensor> feeds, const RunEnv& env) const;
  absl::StatusOr<std::vector<Tensor>> Results(const Underway& underway, const RunEnv& env) const;

  const std::shared_ptr<State> state_;
  const uint64_t program_;
  const size_t num_fetches_;
  const std::vector<proto::Compiled> parts_;  // by member
};

absl::Status ClusterExecutable::Start(uint64_t step, absl::Span<const Tensor> feeds,
                                      const RunEnv& env) const {
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
    run.set_look_out_nanos(state_->settings.look_out_nanos);
    for (const int feed : parts_[m].feeds())
      GYRE_RETURN_IF_ERROR(EncodeTensor(feeds[feed], *run.add_feeds()));
    messages[m] = message.SerializeAsString();
  }
  const std::lock_guard lock(state_->mutex);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (parts_[m].takes_part()) state_->members[m].link->Send(std::move(messages[m]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> ClusterExecutable::Run(absl::Span<const Tensor> feeds,
                                                           RunEnv& env,
                                                           const RunHooks& hooks) const {
  if (hooks.observer != nullptr || hooks.progress != nullptr) {
    return absl::UnimplementedError("runs on a cluster cannot be watched yet");
  }
  if (!env.sandbox.empty()) {
    return absl::UnimplementedError("a cluster's workers know no folder of this process");
  }
  Underway underway;
  uint64_t step = 0;
  {
    const std::lock_guard lock(state_->mutex);
    const size_t n = parts_.size();
    underway.statuses.resize(n);
    underway.results.resize(n);
    underway.print = &env.print;
    for (size_t m = 0; m < n; ++m) {
      underway.takes_part.push_back(parts_[m].takes_part());
      underway.is_done.push_back(!parts_[m].takes_part());
      if (parts_[m].takes_part()) GYRE_RETURN_IF_ERROR(state_->members[m].gone);
    }
    step = state_->next_step++;
    state_->steps.emplace(step, &underway);
  }
  const auto forget = [&] {
    const std::lock_guard lock(state_->mutex);
    state_->steps.erase(step);
  };
  if (absl::Status status = Start(step, feeds, env); !status.ok()) {
    forget();
    return status;
  }
  // Runs on whatever thread cancels; the state outlives it.
  const int64_t callback =
      env.cancellation->AddCallback([state = state_, step, cancellation = env.cancellation] {
        const absl::Status why = cancellation->status();
        const std::lock_guard lock(state->mutex);
        const auto it = state->steps.find(step);
        if (it != state->steps.end()) state->Fail(step, *it->second, why);
      });
  {
    std::unique_lock lock(state_->mutex);
    int64_t give_up = 0;  // when to wait no longer for those that were told to stop
    while (!std::all_of(underway.is_done.begin(), underway.is_done.end(),
                        [](bool is_done) { return is_done; })) {
      const int64_t now = state_->host.clock().NowNanos();
      int64_t left = std::numeric_limits<int64_t>::max();
      if (!underway.first.ok()) {
        if (give_up == 0) give_up = now + state_->settings.failure_nanos;
        left = give_up - now;
      } else if (env.cancellation->deadline_nanos() != Cancellation::kNoDeadline) {
        left = env.cancellation->deadline_nanos() - env.cancellation->clock().NowNanos();
      }
      if (left <= 0 && !underway.first.ok()) break;
      if (left > 0) state_->host.Wait(lock, state_->changed, left);
      lock.unlock();
      env.cancellation->Poll().IgnoreError();  // past the deadline, this cancels
      lock.lock();
    }
    state_->steps.erase(step);
    while (underway.printing > 0)
      state_->host.Wait(lock, state_->changed, std::numeric_limits<int64_t>::max());
  }
  env.cancellation->RemoveCallback(callback);
  return Results(underway, env);
}

absl::StatusOr<std::vector<Tensor>> ClusterExecutable::Results(const Underway& underway,
                                                               const RunEnv& env) const {
  if (!underway.first.ok()) {
    std::vector<MemberFailure> failures;
    for (size_t m = 0; m < parts_.size(); ++m) {
      if (underway.takes_part[m])
        failures.push_back({state_->members[m].name, underway.is_done[m], underway.statuses[m]});
    }
    return StepFailure(underway.first, failures);
  }
  std::vector<Tensor> results(num_fetches_);
  for (size_t m = 0; m < parts_.size(); ++m) {
    if (!underway.takes_part[m]) continue;
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                          FromProto(underway.results[m].fetches(), env.budget));
    if (static_cast<int>(values.size()) != parts_[m].fetches_size())
      return absl::InternalError(absl::StrCat(state_->members[m].name, " gave too few results"));
    for (size_t i = 0; i < values.size(); ++i)
      results[parts_[m].fetches(static_cast<int>(i))] = values[i];
  }
  return results;
}

class ClusterEngine final : public Engine {
 public:
  explicit ClusterEngine(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~ClusterEngine() override {
    state_->ticker.reset();
    std::vector<std::shared_ptr<ControlLink>> links;
    {
      const std::lock_guard lock(state_->mutex);
      for (const Member& member : state_->members) links.push_back(member.link);
    }
    for (const auto& link : links) {
      if (link != nullptr) link->Close();
    }
  }

  absl::string_view name() const override { return "cluster"; }
  std::vector<DeviceName> devices() const override { return state_->devices; }
  void EndState(uint64_t number) const override {
    proto::ToWorker message;
    message.mutable_drop()->set_state(number);
    const std::lock_guard lock(state_->mutex);
    for (size_t m = 0; m < state_->members.size(); ++m)
      state_->SendTo(static_cast<int>(m), message);
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override;

 private:
  const std::shared_ptr<State> state_;
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
  GYRE_ASSIGN_OR_RETURN(*compile.mutable_graph(), ExportGraphDef(*needed.program));
  for (const Endpoint& e : needed.signature.feeds) endpoint(e.node, e.slot, compile.add_feeds());
  for (const Endpoint& e : needed.signature.fetches)
    endpoint(e.node, e.slot, compile.add_fetches());
  for (const NodeId target : needed.signature.targets) endpoint(target, 0, compile.add_targets());
  for (size_t d = 0; d < state_->devices.size(); ++d) {
    proto::Compile::Device& device = *compile.add_devices();
    device.set_name(state_->devices[d].ToString());
    device.set_member(state_->member_of_device[d]);
  }
  for (const auto& [state, device] : homes) {
    proto::Compile::Home& home = *compile.add_homes();
    home.set_state(state);
    home.set_device(device);
  }
  compile.set_window(options.window);
  compile.set_soft_placement(options.place.soft);
  compile.set_spreads(options.place.spread_seed.has_value());
  compile.set_spread_seed(options.place.spread_seed.value_or(0));
  compile.set_shared_state(state_->settings.shared_state);
  compile.set_state(options.state);
  compile.set_has_schedule_seed(options.schedule_seed.has_value());
  compile.set_schedule_seed(options.schedule_seed.value_or(0));

  std::unique_lock lock(state_->mutex);
  GYRE_RETURN_IF_ERROR(state_->AnyGone());
  const uint64_t id = state_->next_program++;
  compile.set_program(id);
  const size_t n = state_->members.size();
  state_->compiling[id].replies.resize(n);
  for (size_t m = 0; m < n; ++m) state_->SendTo(static_cast<int>(m), message);
  // A large program takes its time; workers that are gone are noticed.
  absl::Status status;
  const auto has_all = [&] {
    const auto& replies = state_->compiling[id].replies;
    return std::all_of(replies.begin(), replies.end(), [](const auto& r) { return r.has_value(); });
  };
  while (status.ok() && !has_all()) {
    state_->host.Wait(lock, state_->changed, state_->settings.failure_nanos);
    status = state_->AnyGone();
  }
  std::vector<proto::Compiled> parts;
  for (std::optional<proto::Compiled>& reply : state_->compiling[id].replies) {
    if (!reply) continue;
    status.Update(FromProto(reply->status()));
    parts.push_back(*std::move(reply));
  }
  state_->compiling.erase(id);
  GYRE_RETURN_IF_ERROR(status);
  GYRE_RETURN_IF_ERROR(CheckParts(parts, signature));
  return std::unique_ptr<Executable>(
      std::make_unique<ClusterExecutable>(state_, id, signature.fetches.size(), std::move(parts)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Engine>> ConnectCluster(Host& host, const LinkDialer& dial,
                                                       const ClusterSettings& settings) {
  auto state = std::make_shared<State>(host, settings);
  auto engine = std::make_shared<ClusterEngine>(state);
  state->ticker = host.Every(settings.failure_nanos / 8, [weak = std::weak_ptr<State>(state)] {
    if (const auto locked = weak.lock()) locked->Tick();
  });
  GYRE_RETURN_IF_ERROR(state->Connect(dial));
  return std::shared_ptr<Engine>(std::move(engine));
}

}  // namespace gyre::dist
