#include "cluster/worker_client.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "analysis/refusals.h"
#include "base/env.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "cluster/secret.h"
#include "cluster/sources.h"
#include "graphdef/import.h"
#include "gyre/core/options.h"
#include "ir/verifier.h"
#include "ops/registry.h"

namespace gyre::cluster {
namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
// How often a worker that joins looks whether the others have answered.
constexpr int64_t kJoinLookNanos = 20 * kNanosPerMs;
// Steps that were cancelled before they came, or after they had ended.
constexpr size_t kCancelledKept = 256;
// What a client may ask for at most.
constexpr int64_t kMostFailureMs = 3'600'000;
constexpr int64_t kMostSpinNanos = 1'000 * kNanosPerMs;

// The node that the client calls so.
absl::StatusOr<NodeId> FindNode(const Function& main, const proto::Compile::Endpoint& endpoint) {
  const auto n = static_cast<int>(main.nodes.size());
  if (endpoint.index() >= 0 && endpoint.index() < n &&
      main.nodes[endpoint.index()].name == endpoint.node()) {
    return static_cast<NodeId>(endpoint.index());
  }
  for (const Node& node : main.nodes) {
    if (node.name == endpoint.node()) return node.id;
  }
  return absl::NotFoundError(absl::StrCat("the graph has no node ", endpoint.node()));
}

absl::StatusOr<Endpoint> FindEndpoint(const Function& main,
                                      const proto::Compile::Endpoint& endpoint) {
  GYRE_ASSIGN_OR_RETURN(const NodeId node, FindNode(main, endpoint));
  const auto outputs = static_cast<int>(main.node(node).signature.outputs.size());
  if (endpoint.slot() < 0 || endpoint.slot() >= outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat(endpoint.node(), " has no output ", endpoint.slot()));
  }
  return Endpoint{node, endpoint.slot()};
}

absl::StatusOr<RunSignature> SignatureOf(const Function& main, const proto::Compile& compile) {
  RunSignature signature;
  for (const auto& feed : compile.feeds()) {
    GYRE_ASSIGN_OR_RETURN(signature.feeds.emplace_back(), FindEndpoint(main, feed));
  }
  for (const auto& fetch : compile.fetches()) {
    GYRE_ASSIGN_OR_RETURN(signature.fetches.emplace_back(), FindEndpoint(main, fetch));
  }
  for (const auto& target : compile.targets()) {
    GYRE_ASSIGN_OR_RETURN(signature.targets.emplace_back(), FindNode(main, target));
  }
  return signature;
}

// A message of this kind. Where there is no memory for what it is to hold, protobuf leaves a
// message that says that it holds it: then there is none.
template <typename T>
std::unique_ptr<proto::FromWorker> NewReply(T* (proto::FromWorker::*kind)()) {
  auto made = std::make_unique<proto::FromWorker>();
  (void)((*made).*kind)();
  return made;
}

}  // namespace

void Worker::Client::OnMessage(absl::string_view bytes) {
  Answer([&] { Take(bytes); });
}

void Worker::Client::Take(absl::string_view bytes) {
  proto::ToWorker message;
  if (has_ended_) return;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return link_->Close();
  if (!is_known_ && message.what_case() != proto::ToWorker::kHello) return link_->Close();
  switch (message.what_case()) {
    case proto::ToWorker::kHello:
      return Greet(message.hello());
    case proto::ToWorker::kJoin:
      return state_->Spawn(state_, false, [self = shared_from_this(), join = message.join()] {
        const absl::Status status =
            CatchOutOfMemory("joining a cluster", [&] { return self->Join(join); });
        self->Answer([&] {
          proto::FromWorker reply;
          ToProto(status, reply.mutable_joined()->mutable_status());
          self->Reply(reply);
        });
      });
    case proto::ToWorker::kCompile:
      return StartCompile(std::make_shared<proto::Compile>(std::move(*message.mutable_compile())));
    case proto::ToWorker::kDrop:
      return Drop(message.drop());
    case proto::ToWorker::kRun:
      return StartRun(std::make_shared<proto::Run>(std::move(*message.mutable_run())), nullptr);
    case proto::ToWorker::kCancel:
      return Cancel(message.cancel());
    case proto::ToWorker::kSeen:
      if (const auto reporter = ReporterOf(message.seen().step())) reporter->OnSeen();
      return;
    case proto::ToWorker::kAsk:
      if (const auto reporter = ReporterOf(message.ask().step()))
        reporter->OnAsk(message.ask().question());
      return;
    case proto::ToWorker::kPing: {
      proto::FromWorker reply;
      reply.mutable_pong()->set_number(message.ping().number());
      reply.mutable_pong()->set_nanos(state_->host.clock().NowNanos());
      return Reply(reply);
    }
    case proto::ToWorker::WHAT_NOT_SET:
      return;  // of a later version
  }
}

void Worker::Client::OnMessageOfStep(const Peer& from, absl::string_view bytes) {
  Answer([&] {
    proto::ToWorker message;
    if (has_ended_ || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (message.has_run()) {
      // Lost meanwhile, it tells the client so itself.
      if (PeerPtr via = state_->mesh.Find(from.incarnation); via.get() == &from)
        StartRun(std::make_shared<proto::Run>(std::move(*message.mutable_run())), std::move(via));
    } else if (message.has_cancel()) {
      Cancel(message.cancel());
    }
  });
}

void Worker::Client::OnClosed(const absl::Status& why) {
  CancelAll(CatchOutOfMemory("the end of a client", [&] {
    return absl::CancelledError(absl::StrCat("the client is gone: ", why.message()));
  }));
  uint64_t caller = 0;
  {
    const std::lock_guard lock(mutex_);
    state_->mesh.Withdraw(secret_);
    caller = caller_;
    programs_.clear();
    own_state_.clear();
  }
  const std::lock_guard lock(state_->mutex);
  state_->callers.erase(caller);
}

void Worker::Client::Report(const PeerPtr& via, const proto::FromWorker& message) {
  if (has_ended_) return;  // who learns that by the link
  std::string bytes = message.SerializeAsString();
  if (via != nullptr && bytes.size() <= Channel::kMaxEagerBytes) {
    state_->mesh.Tell(*via, std::move(bytes));
  } else {
    link_->Send(std::move(bytes));
  }
}

void Worker::Client::TellLost(const Peer& peer, const absl::Status& why) {
  if (has_ended_) return;
  Answer([&] {
    proto::FromWorker message;
    message.mutable_lost()->set_incarnation(peer.incarnation.load(std::memory_order_relaxed));
    ToProto(why, message.mutable_lost()->mutable_why());
    Reply(message);
  });
}

void Worker::Client::Greet(const proto::Hello& hello) {
  proto::FromWorker message;
  proto::HelloReply& reply = *message.mutable_hello();
  reply.set_version(kControlVersion);
  absl::Status status;
  if (hello.version() != kControlVersion) {
    status = absl::FailedPreconditionError(
        absl::StrCat("this worker speaks version ", kControlVersion,
                     " of the control protocol, the client version ", hello.version(),
                     ": both must be of the same Gyre"));
  } else if (!IsSameSecret(hello.token(), state_->options.token)) {
    status = absl::UnauthenticatedError("the token is not this worker's");
  } else {
    is_known_ = true;
    const ChannelAddress address = state_->host.channel_address();
    reply.set_incarnation(state_->options.incarnation);
    reply.set_num_devices(state_->options.num_devices);
    reply.set_tcp(address.tcp);
    reply.set_memory(address.memory);
    reply.set_machine(address.machine);
    reply.set_can_be_watched(true);
  }
  ToProto(status, reply.mutable_status());
  Reply(message);
  if (!status.ok()) link_->Close();
}

absl::Status Worker::Client::Join(const proto::Join& join) {
  if (join.self() < 0 || join.self() >= join.members_size())
    return absl::InvalidArgumentError("the cluster does not have this worker");
  const uint64_t own = state_->options.incarnation;
  if (join.members(join.self()).incarnation() != own)
    return absl::FailedPreconditionError("this worker has been started anew");
  const auto transport = static_cast<Transport>(std::clamp(join.transport(), 0, 2));
  const Clock& clock = state_->host.clock();
  const int64_t failure_ms = std::clamp<int64_t>(join.failure_ms(), 0, kMostFailureMs);
  const int64_t deadline = clock.NowNanos() + failure_ms * kNanosPerMs;
  Mesh& mesh = state_->mesh;
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_ || !secret_.empty() || join.secret().empty())
      return absl::FailedPreconditionError("a client lets its workers join once, with a secret");
    secret_ = join.secret();
    caller_ = join.client();
  }
  if (join.client() != 0) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->callers[join.client()] = weak_from_this();
    }
    GYRE_RETURN_IF_ERROR(
        mesh.Expect(join.client(), "the client", {}, transport, join.secret(), false));
  }
  mesh.Tick();  // finds out which channels are lost
  bool is_first = true;
  while (true) {
    const uint64_t seen = mesh.wakes();
    const proto::Join::Member* missing = nullptr;
    absl::Status status;
    for (const proto::Join::Member& member : join.members()) {
      const uint64_t other = member.incarnation();
      if (other == own) continue;
      if (mesh.Find(other) == nullptr) {
        missing = &member;
      } else if (!is_first) {
        continue;
      }
      // The later one calls; again, if the other did not know yet that it would, or has a channel
      // that is lost.
      status.Update(mesh.Expect(other, member.name(),
                                {member.tcp(), member.memory(), member.machine()}, transport,
                                join.secret(), own > other));
    }
    is_first = false;
    if (missing == nullptr) break;
    if (has_ended_) {
      mesh.Withdraw(join.secret());
      return absl::CancelledError("the client is gone");
    }
    if (absl::IsInvalidArgument(status)) return status;
    if (clock.NowNanos() > deadline) {
      return absl::UnavailableError(absl::StrCat("no tensor channel to ", missing->name(),
                                                 " within ", failure_ms, " ms",
                                                 status.ok() ? "" : ": ", status.message()));
    }
    mesh.Wait(seen, kJoinLookNanos);
  }
  const std::lock_guard lock(mutex_);
  members_.clear();
  for (const proto::Join::Member& member : join.members())
    members_.push_back({member.name(), member.incarnation()});
  self_ = join.self();
  return absl::OkStatus();
}

void Worker::Client::StartCompile(std::shared_ptr<const proto::Compile> compile) {
  auto cancellation =
      std::make_shared<Cancellation>(Cancellation::kNoDeadline, state_->host.clock());
  {
    const std::lock_guard lock(mutex_);
    if (!compiling_.emplace(compile->program(), cancellation).second) return link_->Close();
  }
  const uint64_t program = compile->program();
  absl::Cleanup forget = [&] {
    const std::lock_guard lock(mutex_);
    compiling_.erase(program);
  };
  // CancelAll may have looked before.
  if (has_ended_) return;
  state_->Spawn(state_, false,
                [self = shared_from_this(), compile = std::move(compile),
                 cancellation = std::move(cancellation)] {
                  self->CompileAndAnswer(*compile, *cancellation);
                });
  std::move(forget).Cancel();
}

void Worker::Client::CompileAndAnswer(const proto::Compile& compile, Cancellation& cancellation) {
  std::unique_ptr<proto::FromWorker> reply;
  const absl::Status status = CatchOutOfMemory("the program on this worker", [&] {
    reply = NewReply(&proto::FromWorker::mutable_compiled);
    return Compile(compile, cancellation, reply->mutable_compiled());
  });
  {
    const std::lock_guard lock(mutex_);
    compiling_.erase(compile.program());
  }
  if (!status.ok()) reply = nullptr;  // what it holds may be half of something
  Answer([&] {
    if (reply == nullptr) reply = NewReply(&proto::FromWorker::mutable_compiled);
    reply->mutable_compiled()->set_program(compile.program());
    ToProto(status, reply->mutable_compiled()->mutable_status());
    Reply(*reply);
  });
}

void Worker::Client::Drop(const proto::Drop& drop) {
  std::shared_ptr<Cancellation> cancellation;
  {
    const std::lock_guard lock(mutex_);
    if (drop.has_state()) {
      own_state_.erase(drop.state());
      return;
    }
    programs_.erase(drop.program());
    const auto it = compiling_.find(drop.program());
    if (it == compiling_.end()) return;
    cancellation = it->second;
  }
  cancellation->Cancel(absl::CancelledError("the client has dropped the program"));
}

absl::Status Worker::Client::Compile(const proto::Compile& compile, Cancellation& cancellation,
                                     proto::Compiled* reply) {
  const WorkLimit limit(&cancellation, PhysicalMemoryBytes() / 4 * 3);
  GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        ImportGraphDef(compile.graph(), Ops(), {.format = GraphFormat::kBinary}));
  program = WithSourcesOfAttributes(*program);
  GYRE_RETURN_IF_ERROR(Verify(*program, Dialect::kAny));
  GYRE_ASSIGN_OR_RETURN(const RunSignature signature, SignatureOf(program->main(), compile));
  GYRE_RETURN_IF_ERROR(CheckOps(*program, signature));
  EngineOptions options;
  options.parallel.window = compile.window();
  options.parallel.threads =
      state_->options.threads > 0 ? state_->options.threads : NumProcessors();
  options.place.soft = compile.soft_placement();
  options.place.spread_seed = compile.spread_seed();
  options.testing.schedule_seed = compile.schedule_seed();
  for (const proto::Compile::Home& home : compile.homes())
    options.place.homes.emplace(home.state(), home.device());
  auto made = std::make_shared<CompiledProgram>();
  std::vector<bool> here;
  {
    const std::lock_guard lock(mutex_);
    for (const proto::Compile::Device& device : compile.devices()) {
      if (device.member() < 0 || device.member() >= static_cast<int>(members_.size()))
        return absl::InvalidArgumentError("a device belongs to no worker of the cluster");
      GYRE_ASSIGN_OR_RETURN(options.devices.emplace_back(), DeviceName::Parse(device.name()));
      here.push_back(device.member() == self_);
      made->devices.emplace_back(device.name(),
                                 here.back() ? 0 : members_[device.member()].incarnation);
    }
  }
  if (options.devices.empty()) return absl::InvalidArgumentError("there are no devices");
  GYRE_ASSIGN_OR_RETURN(made->parts,
                        dataflow::CompileParts(std::move(program), signature, options, here));
  made->resources = ResourcesOf(compile);
  reply->mutable_feeds()->Add(made->parts.feeds.begin(), made->parts.feeds.end());
  reply->mutable_fetches()->Add(made->parts.fetches.begin(), made->parts.fetches.end());
  for (const int fetch : made->parts.fetches) {
    const proto::Compile::Endpoint& endpoint = compile.fetches(fetch);
    made->fetches.push_back(absl::StrCat(endpoint.node(), ":", endpoint.slot()));
  }
  reply->set_takes_part(made->parts.executable != nullptr);
  const std::lock_guard lock(mutex_);
  GYRE_RETURN_IF_ERROR(cancellation.Poll());
  programs_[compile.program()] = std::move(made);
  return absl::OkStatus();
}

std::shared_ptr<ResourceStore> Worker::Client::ResourcesOf(const proto::Compile& compile) {
  const bool is_shared = !compile.shared_state().empty();
  const std::lock_guard lock(is_shared ? state_->mutex : mutex_);
  std::shared_ptr<ResourceStore>& resources =
      is_shared ? state_->shared[compile.shared_state()] : own_state_[compile.state()];
  if (resources == nullptr) resources = std::make_shared<ResourceStore>();
  return resources;
}

std::shared_ptr<RunReporter> Worker::Client::ReporterOf(uint64_t step) {
  const std::lock_guard lock(mutex_);
  const auto it = steps_.find(step);
  return it == steps_.end() ? nullptr : it->second.reporter;
}

void Worker::Client::StartRun(std::shared_ptr<const proto::Run> run, PeerPtr via) {
  const uint64_t number = run->step();
  Step step;
  step.cancellation =
      std::make_shared<Cancellation>(Cancellation::kNoDeadline, state_->host.clock());
  if (run->has_watch()) {
    step.reporter = std::make_shared<RunReporter>(
        state_->host, run->watch(), number, step.cancellation,
        [link = link_](const auto& message) { link->Send(message.SerializeAsString()); });
  }
  absl::Status cancelled;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = steps_.emplace(number, step).second;
    for (const auto& [early, why] : cancelled_) {
      if (early == number) cancelled = why;
    }
  }
  if (!is_new) return link_->Close();
  if (!cancelled.ok()) step.cancellation->Cancel(cancelled);
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->running;
  }
  absl::Cleanup forget = [&] { ForgetStep(number); };
  const bool is_polled = via != nullptr;
  state_->Spawn(state_, is_polled,
                [self = shared_from_this(), run = std::move(run), via = std::move(via), step] {
                  self->RunAndAnswer(*run, via, step);
                });
  std::move(forget).Cancel();
}

void Worker::Client::RunAndAnswer(const proto::Run& run, const PeerPtr& via, const Step& step) {
  std::unique_ptr<proto::FromWorker> reply;
  const absl::Status status = CatchOutOfMemory("its part of a run", [&] {
    reply = NewReply(&proto::FromWorker::mutable_done);
    return Run(run, via, step, reply->mutable_done());
  });
  state_->mesh.End(run.step());
  ForgetStep(run.step());
  if (step.reporter != nullptr) Answer([&] { step.reporter->End(); });
  if (!status.ok()) reply = nullptr;  // what it holds may be half of something
  Answer([&] {
    if (reply == nullptr) reply = NewReply(&proto::FromWorker::mutable_done);
    reply->mutable_done()->set_step(run.step());
    ToProto(status, reply->mutable_done()->mutable_status());
    Report(via, *reply);
  });
}

void Worker::Client::ForgetStep(uint64_t step) {
  {
    const std::lock_guard lock(mutex_);
    steps_.erase(step);
  }
  const std::lock_guard lock(state_->mutex);
  --state_->running;
}

void Worker::Client::Cancel(const proto::Cancel& cancel) {
  absl::Status why = FromProto(cancel.status());
  if (why.ok()) why = absl::CancelledError("the client has cancelled");
  Step step;
  {
    const std::lock_guard lock(mutex_);
    const auto it = steps_.find(cancel.step());
    if (it == steps_.end()) {
      // It has ended, or is on its way still.
      cancelled_.emplace_back(cancel.step(), std::move(why));
      if (cancelled_.size() > kCancelledKept) cancelled_.pop_front();
      return;
    }
    step = it->second;
  }
  step.cancellation->Cancel(why);
}

absl::StatusOr<std::shared_ptr<const Routes>> Worker::Client::RoutesOf(CompiledProgram& program) {
  const std::lock_guard lock(program.mutex);
  bool is_same = program.routes != nullptr;
  auto routes = std::make_shared<Routes>();
  for (const auto& [device, incarnation] : program.devices) {
    PeerPtr peer;
    if (incarnation != 0) {
      peer = state_->mesh.Find(incarnation);
      if (peer == nullptr)
        return absl::UnavailableError(
            absl::StrCat("there is no connection to the worker of ", device));
    }
    is_same = is_same && program.routes->at(device) == peer;
    routes->emplace(device, std::move(peer));
  }
  if (!is_same) program.routes = std::move(routes);
  return program.routes;
}

absl::Status Worker::Client::Run(const proto::Run& run, const PeerPtr& via, const Step& step,
                                 proto::Done* reply) {
  Cancellation& cancellation = *step.cancellation;
  std::shared_ptr<CompiledProgram> program;
  {
    const std::lock_guard lock(mutex_);
    const auto it = programs_.find(run.program());
    if (it == programs_.end() || it->second->parts.executable == nullptr)
      return absl::NotFoundError(absl::StrCat("this worker has no program ", run.program()));
    program = it->second;
  }
  const auto budget = MakeRef<MemoryBudget>(run.budget_bytes() > 0 ? run.budget_bytes()
                                                                   : PhysicalMemoryBytes() / 4 * 3);
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> feeds, FromProto(run.feeds(), budget.get()));
  if (feeds.size() != program->parts.feeds.size())
    return absl::InvalidArgumentError("the wrong number of feeds");
  GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Routes> routes, RoutesOf(*program));
  state_->mesh.set_spin_nanos(std::clamp<int64_t>(run.spin_nanos(), 0, kMostSpinNanos));
  GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<StepRendezvous> rendezvous,
                        state_->mesh.Begin(run.step(), std::move(routes), budget));
  cancellation.AddCallback(
      [rendezvous, &cancellation] { rendezvous->Abort(cancellation.status()); });
  RunEnv env;
  env.cancellation = &cancellation;
  env.budget = budget.get();
  env.resources = program->resources.get();
  env.rendezvous = rendezvous.get();
  env.run_id = run.run_id();
  env.seed = run.seed();
  std::atomic<int64_t> printed = 0;
  env.print = [&](absl::string_view stream, absl::string_view text) {
    printed.fetch_add(1, std::memory_order_relaxed);
    proto::FromWorker message;
    message.mutable_printed()->set_step(run.step());
    message.mutable_printed()->set_stream(std::string(stream));
    // What is longer than a message tells where it was cut.
    const auto most = static_cast<size_t>(state_->options.most_payload_bytes);
    message.mutable_printed()->set_text(
        text.size() <= most ? std::string(text)
                            : absl::StrCat(text.substr(0, most), "… (", text.size() - most,
                                           " more bytes cannot leave the worker)\n"));
    Report(via, message);
  };
  absl::StatusOr<std::vector<Tensor>> results = program->parts.executable->Run(
      feeds, env, step.reporter == nullptr ? RunHooks() : step.reporter->hooks());
  reply->set_printed(printed.load(std::memory_order_relaxed));
  GYRE_RETURN_IF_ERROR(results.status());
  GYRE_RETURN_IF_ERROR(rendezvous->Drain());
  reply->set_peak_bytes(budget->peak());
  return ToProto(*results, "fetch", program->fetches, state_->options.most_payload_bytes,
                 reply->mutable_fetches());
}

void Worker::Client::CancelAll(const absl::Status& why) {
  has_ended_ = true;
  state_->mesh.Wake();
  while (const std::shared_ptr<Cancellation> next = NextUnderway()) next->Cancel(why);
}

std::shared_ptr<Cancellation> Worker::Client::NextUnderway() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, step] : steps_) {
    if (!step.cancellation->IsCancelled()) return step.cancellation;
  }
  for (const auto& [id, cancellation] : compiling_) {
    if (!cancellation->IsCancelled()) return cancellation;
  }
  return nullptr;
}

}  // namespace gyre::cluster
