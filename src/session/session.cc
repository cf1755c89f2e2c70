#include "gyre/core/session.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <random>
#include <unordered_map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/collectives.h"
#include "analysis/effects.h"
#include "analysis/refusals.h"
#include "base/env.h"
#include "base/fork.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/work.h"
#include "devices/device_set.h"
#include "exec/engine.h"
#include "ir/verifier.h"
#include "ops/collective/group.h"
#include "ops/registry.h"
#include "session/check_options.h"
#include "session/form.h"
#include "session/hot_program.h"
#include "session/literal.h"
#include "session/names.h"
#include "session/program_file.h"
#include "session/remote_variables.h"
#include "session/variables.h"

namespace gyre {
namespace {

// Without a limit, a run may use this share of the machine's memory: enough for work, not enough to
// be killed for.
int64_t DefaultBudget() { return PhysicalMemoryBytes() / 4 * 3; }

void PrintToStandardStreams(absl::string_view stream, absl::string_view text) {
  std::FILE* file = stream == "stdout" ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

uint64_t RandomSeed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// An error that ended a run, with how long the run took: the end of its account of where it was.
absl::Status RanFor(const absl::Status& status, int64_t nanos) {
  char millis[32];  // absl::StrFormat ends the process where there is no memory
  std::snprintf(millis, sizeof(millis), "%.1f", static_cast<double>(nanos) / 1e6);
  return absl::Status(status.code(), absl::StrCat(status.message(), "\n  after ", millis, " ms"));
}

// What errors say there is no memory for.
constexpr absl::string_view kThisProgram = "this program";
constexpr absl::string_view kTheseVariables = "these variables";

// What bounds one run, from the moment it is asked for: what is prepared for it is part of it.
class RunLimits {
 public:
  explicit RunLimits(const RunOptions& options)
      : RunLimits(options, options.timeout_ms > 0 ? SystemClock().NowNanos() : 0) {}
  // Of a run that is another's second try: it ends when that one would have had to.
  RunLimits(const RunOptions& options, const RunLimits& first) : RunLimits(options, first.start_) {}
  ~RunLimits() {
    if (user_ != nullptr) user_->RemoveCallback(callback_);
  }
  RunLimits(const RunLimits&) = delete;
  RunLimits& operator=(const RunLimits&) = delete;

  // Shared with callbacks: one may still be on its way, on the canceller's thread, when the run has
  // ended.
  const std::shared_ptr<Cancellation>& cancellation() const { return cancellation_; }
  int64_t budget_bytes() const { return budget_bytes_; }
  // An error that ended the run; of one that ran out of time, with how long it took.
  absl::Status Ended(const absl::Status& status) const {
    if (start_ == 0 || !absl::IsDeadlineExceeded(status)) return status;
    return RanFor(status, SystemClock().NowNanos() - start_);
  }

 private:
  RunLimits(const RunOptions& options, int64_t start)
      : user_(options.cancellation),
        budget_bytes_(options.budget_bytes > 0 ? options.budget_bytes : DefaultBudget()),
        start_(start),
        cancellation_(std::make_shared<Cancellation>(DeadlineOf(options.timeout_ms, start_))) {
    if (user_ == nullptr) return;
    callback_ =
        user_->AddCallback([run = cancellation_, user = user_] { run->Cancel(user->status()); });
  }

  static int64_t DeadlineOf(int64_t timeout_ms, int64_t start) {
    constexpr int64_t kNanosPerMs = 1'000'000;
    // What lies beyond the end of the clock is no deadline.
    if (timeout_ms <= 0 || timeout_ms >= (Cancellation::kNoDeadline - start) / kNanosPerMs)
      return Cancellation::kNoDeadline;
    return start + timeout_ms * kNanosPerMs;
  }

  Cancellation* const user_;
  const int64_t budget_bytes_;
  const int64_t start_;
  const std::shared_ptr<Cancellation> cancellation_;
  int64_t callback_ = 0;
};

// Signatures kept ready; a caller with more of them is making them up as it goes.
constexpr size_t kMaxPrepared = 1024;

// A signature with what is needed to check feeds.
struct Prepared {
  RunSignature signature;
  std::vector<std::string> feed_names;
  std::vector<DType> feed_types;  // what each takes; kInvalid: anything
  std::unique_ptr<Executable> executable;
  const HotProgram* hot = nullptr;              // that one, if it may change its form
  bool meets_ranks = false;                     // it holds collectives
  std::map<std::string, std::string> deciders;  // of these: see DecidersOfCollectives
};

// A program is hot when its runs have taken so many times as long as preparing it took.
constexpr int64_t kHotAfter = 20;
constexpr int64_t kHotAfterAtLeastNanos = 10'000'000;

// Whether `program` computes its results, and does nothing else that is there after a run.
bool OnlyComputes(const Staged& staged) {
  const Effects effects(*staged.program);
  const Function& main = staged.program->main();
  const std::vector<bool> needed = NeededNodes(main, staged.signature);
  return absl::c_all_of(main.nodes, [&](const Node& node) {
    return !needed[node.id] || IsPrimitive(node.kind()) || effects.Of(node).MayDrop();
  });
}

// What is fed, numbers written in C++ as elements of the types that are wanted.
absl::StatusOr<std::vector<Tensor>> ValuesOf(const Feeds& feeds, const Prepared& prepared) {
  std::vector<Tensor> values;
  values.reserve(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    const auto& [name, value] = feeds[i];
    const DType wanted = prepared.feed_types[i];
    values.push_back(value.tensor());
    if (!value.is_literal() || wanted == DType::kInvalid || wanted == value.tensor().dtype())
      continue;
    absl::StatusOr<Tensor> converted = internal::ConvertLiteral(value.tensor(), wanted);
    if (!converted.ok()) return Annotate(converted.status(), name);
    values.back() = *std::move(converted);
  }
  return values;
}

}  // namespace

// What a cluster keeps: variables and queues, under a number. No cluster: it keeps none.
struct Session::RemoteState {
  explicit RemoteState(std::shared_ptr<const Engine> c) : cluster(std::move(c)) {}
  ~RemoteState() {
    if (cluster != nullptr) cluster->EndState(number);
  }
  const std::shared_ptr<const Engine> cluster;
  const uint64_t number = RandomSeed();
};

struct Session::State {
  // What outlives a program: sessions for snapshots of one program share it.
  struct SharedState {
    // Also of sessions with other options:
    std::shared_ptr<ResourceStore> resources;
    std::shared_ptr<const RemoteState> remote;
    std::atomic<uint64_t> runs{0};
  };

  std::shared_ptr<const Program> program;
  SessionOptions options;
  const Engine* engine = nullptr;
  uint64_t seed = 0;
  std::shared_ptr<SharedState> shared;
  std::optional<MainNames> names;
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Prepared>> prepared;  // guarded by mutex

  absl::StatusOr<std::shared_ptr<const Prepared>> Prepare(const std::vector<std::string>& feeds,
                                                          const std::vector<std::string>& fetches,
                                                          const std::vector<std::string>& targets);
  absl::StatusOr<std::shared_ptr<const Prepared>> Compile(
      const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
      const std::vector<std::string>& targets) const;
  absl::StatusOr<EngineOptions> MakeEngineOptions() const;
  bool MayChangeForm() const;
  void OptimizeOnceHot(int64_t prepare_nanos, EngineOptions engine_options,
                       Prepared& prepared) const;
  absl::StatusOr<DType> FeedType(Endpoint endpoint, absl::string_view name) const;
  absl::Status CheckFeed(const Prepared& prepared, size_t i, const Tensor& value) const;
  absl::StatusOr<std::vector<Tensor>> Run(const Prepared& prepared, absl::Span<const Tensor> feeds,
                                          const RunOptions& run_options, const RunLimits& limits);
  absl::StatusOr<std::vector<Tensor>> RunOnce(const Executable& executable,
                                              const Prepared& prepared,
                                              absl::Span<const Tensor> feeds,
                                              const RunOptions& run_options,
                                              const RunLimits& limits);
};

struct PreparationLimit::State {
  explicit State(const RunOptions& options)
      : limits(options), work(limits.cancellation().get(), limits.budget_bytes()) {}
  const RunLimits limits;
  const WorkLimit work;
};

PreparationLimit::PreparationLimit(const RunOptions& limits)
    : state_(std::make_unique<State>(limits)) {}
PreparationLimit::~PreparationLimit() = default;

struct Session::Callable::State {
  std::shared_ptr<Session::State> session;
  std::shared_ptr<const Prepared> prepared;
};

absl::StatusOr<std::shared_ptr<const Prepared>> Session::State::Compile(
    const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
    const std::vector<std::string>& targets) const {
  auto result = std::make_shared<Prepared>();
  result->feed_names = feeds;
  HashSet<Endpoint> seen;
  for (const std::string& name : feeds) {
    GYRE_ASSIGN_OR_RETURN(const Endpoint endpoint, names->FindEndpoint(name));
    if (!seen.insert(endpoint).second)
      return absl::InvalidArgumentError(absl::StrCat(name, " is fed twice"));
    result->signature.feeds.push_back(endpoint);
    GYRE_ASSIGN_OR_RETURN(const DType type, FeedType(endpoint, name));
    result->feed_types.push_back(type);
  }
  for (const std::string& name : fetches) {
    GYRE_ASSIGN_OR_RETURN(const Endpoint endpoint, names->FindEndpoint(name));
    result->signature.fetches.push_back(endpoint);
  }
  for (const std::string& name : targets) {
    GYRE_ASSIGN_OR_RETURN(const NodeId node, names->FindTarget(name));
    result->signature.targets.push_back(node);
  }
  GYRE_ASSIGN_OR_RETURN(const EngineOptions engine_options, MakeEngineOptions());
  GYRE_ASSIGN_OR_RETURN(const std::optional<ProgramForm> form, FormOf(options));
  SessionOptions in_form = options;
  in_form.form = form;
  return RunStage("compiling", [&]() -> absl::StatusOr<std::shared_ptr<const Prepared>> {
    const int64_t start = SystemClock().NowNanos();
    // On a cluster, its workers know which ops they have.
    if (options.cluster == nullptr) GYRE_RETURN_IF_ERROR(CheckOps(*program, result->signature));
    GYRE_ASSIGN_OR_RETURN(Staged staged, ToForm(MakeStaged(program, result->signature), in_form));
    // On a cluster, kernels run elsewhere.
    result->meets_ranks =
        options.cluster == nullptr && HoldsCollectives(*staged.program, staged.signature);
    if (result->meets_ranks) result->deciders = DecidersOfCollectives(*staged.program);
    GYRE_ASSIGN_OR_RETURN(result->executable, engine->Compile(std::move(staged.program),
                                                              staged.signature, engine_options));
    if (!form && !result->meets_ranks && MayChangeForm())
      OptimizeOnceHot(SystemClock().NowNanos() - start, engine_options, *result);
    return std::shared_ptr<const Prepared>(std::move(result));
  });
}

absl::StatusOr<EngineOptions> Session::State::MakeEngineOptions() const {
  EngineOptions engine_options;
  engine_options.parallel = options.parallel;
  if (options.parallel.threads == 0) engine_options.parallel.threads = NumProcessors();
  GYRE_ASSIGN_OR_RETURN(engine_options.compile, CompileWhenOf(options.compile));
  engine_options.testing = options.testing;
  engine_options.state = shared->remote->number;
  engine_options.devices = engine->devices();
  if (!options.devices.empty()) {
    GYRE_ASSIGN_OR_RETURN(engine_options.devices, ParseDeviceSet(options.devices));
  }
  engine_options.place.soft = options.soft_placement;
  engine_options.place.spread_seed = options.testing.spread_seed;
  return engine_options;
}

// Who has said how nodes are to run, or where, means the program's own.
bool Session::State::MayChangeForm() const {
  return options.engine != EngineKind::kReference && options.cluster == nullptr &&
         options.devices.empty() && options.parallel.window == 0 &&
         options.testing.schedule_seed == 0;
}

void Session::State::OptimizeOnceHot(int64_t prepare_nanos, EngineOptions engine_options,
                                     Prepared& prepared) const {
  SessionOptions as_optimized = options;
  as_optimized.form = ProgramForm::kOptimized;
  auto optimize = [program = program, signature = prepared.signature, engine = engine,
                   as_optimized = std::move(as_optimized),
                   engine_options =
                       std::move(engine_options)]() -> absl::StatusOr<HotProgram::Optimized> {
    GYRE_ASSIGN_OR_RETURN(const Staged staged,
                          ToForm(MakeStaged(program, signature), as_optimized));
    HotProgram::Optimized made = {.may_repeat = OnlyComputes(staged)};
    // It takes over from a program whose loops are native by now.
    EngineOptions at_once = engine_options;
    CompileMode& mode = at_once.compile.mode;
    if (mode == CompileMode::kAuto) mode = CompileMode::kAlways;
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        engine->Compile(staged.program, staged.signature, at_once);
    if (absl::IsFailedPrecondition(executable.status()))  // there is no compiler
      executable = engine->Compile(staged.program, staged.signature, engine_options);
    GYRE_ASSIGN_OR_RETURN(made.executable, std::move(executable));
    return made;
  };
  auto hot = std::make_unique<HotProgram>(
      std::move(prepared.executable), std::max(kHotAfter * prepare_nanos, kHotAfterAtLeastNanos),
      std::move(optimize));
  prepared.hot = hot.get();
  prepared.executable = std::move(hot);
}

absl::StatusOr<std::shared_ptr<const Prepared>> Session::State::Prepare(
    const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
    const std::vector<std::string>& targets) {
  const std::string key =
      absl::StrCat(absl::StrJoin(feeds, "\n"), "\n\n", absl::StrJoin(fetches, "\n"), "\n\n",
                   absl::StrJoin(targets, "\n"));
  {
    const NoFork no_fork;
    const std::lock_guard lock(mutex);
    if (const auto it = prepared.find(key); it != prepared.end()) return it->second;
  }
  GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Prepared> made, Compile(feeds, fetches, targets));
  const NoFork no_fork;
  const std::lock_guard lock(mutex);
  if (prepared.size() >= kMaxPrepared) prepared.clear();
  return prepared.emplace(key, std::move(made)).first->second;
}

// The type that an output has or, if its op is unknown, that all its readers want.
absl::StatusOr<DType> Session::State::FeedType(Endpoint endpoint, absl::string_view name) const {
  const Node& fed = program->main().node(endpoint.node);
  if (fed.op != nullptr) return fed.signature.outputs[endpoint.slot].dtype;
  DType type = DType::kInvalid;
  for (const Node& node : program->main().nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op == nullptr || node.inputs[i] != endpoint) continue;
      const DType wanted = node.signature.inputs[i].dtype;
      if (type != DType::kInvalid && wanted != type) {
        return absl::InvalidArgumentError(absl::StrCat(
            "cannot feed ", name, ": op ", fed.op_name, " is unknown, and one reader wants ",
            DTypeName(type), ", but ", node.name, " wants ", DTypeName(wanted)));
      }
      type = wanted;
    }
  }
  return type;
}

absl::Status Session::State::CheckFeed(const Prepared& prep, size_t i, const Tensor& value) const {
  const Endpoint endpoint = prep.signature.feeds[i];
  const Node& node = program->main().node(endpoint.node);
  if (!value.has_value())
    return absl::InvalidArgumentError(absl::StrCat("the feed ", prep.feed_names[i], " is empty"));
  const DType want = prep.feed_types[i];
  if (value.dtype() != want && want != DType::kInvalid) {
    return absl::InvalidArgumentError(absl::StrCat(prep.feed_names[i], " takes ", DTypeName(want),
                                                   ", but is fed ", DTypeName(value.dtype())));
  }
  const PartialShape* shape =
      node.kind() == OpKind::kPlaceholder ? node.attrs.Get<PartialShape>("shape") : nullptr;
  if (shape != nullptr && !shape->Allows(value.shape())) {
    return absl::InvalidArgumentError(absl::StrCat(prep.feed_names[i], " takes shape ",
                                                   shape->ToString(), ", but is fed ",
                                                   value.shape().ToString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Session::State::Run(const Prepared& prep,
                                                        absl::Span<const Tensor> feeds,
                                                        const RunOptions& run_options,
                                                        const RunLimits& limits) {
  if (feeds.size() != prep.signature.feeds.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this callable takes ", prep.signature.feeds.size(), " feeds, not ", feeds.size()));
  }
  for (size_t i = 0; i < feeds.size(); ++i) GYRE_RETURN_IF_ERROR(CheckFeed(prep, i, feeds[i]));
  absl::StatusOr<std::vector<Tensor>> results =
      RunOnce(*prep.executable, prep, feeds, run_options, limits);
  if (results.ok() || prep.hot == nullptr || !prep.hot->RepeatsToTell(results.status()))
    return results;
  absl::StatusOr<std::vector<Tensor>> again =
      RunOnce(prep.hot->imported(), prep, feeds, run_options, RunLimits(run_options, limits));
  // It was to say more of this error, not to end for want of time or memory.
  return again.ok() || prep.hot->RepeatsToTell(again.status()) ? again : results;
}

absl::StatusOr<std::vector<Tensor>> Session::State::RunOnce(const Executable& executable,
                                                            const Prepared& prep,
                                                            absl::Span<const Tensor> feeds,
                                                            const RunOptions& run_options,
                                                            const RunLimits& limits) {
  const std::shared_ptr<Cancellation>& cancellation = limits.cancellation();
  const auto budget = MakeRef<MemoryBudget>(limits.budget_bytes());
  const auto rendezvous = std::make_shared<LocalRendezvous>(budget);
  cancellation->AddCallback(
      [rendezvous, run = cancellation.get()] { rendezvous->Abort(run->status()); });
  RunEnv env;
  env.cancellation = cancellation.get();
  env.budget = budget.get();
  env.resources = shared->resources.get();
  env.rendezvous = rendezvous.get();
  env.run_id = shared->runs.fetch_add(1, std::memory_order_relaxed);
  env.seed = seed;
  env.sandbox = run_options.sandbox;
  env.print = options.print ? options.print : PrintToStandardStreams;
  RunTotals elsewhere;
  RunHooks hooks = {
      .observer = run_options.observer, .progress = run_options.progress, .elsewhere = &elsewhere};
  const std::shared_ptr<CollectiveGroup> group = prep.meets_ranks ? TheCollectiveGroup() : nullptr;
  std::unique_ptr<CollectiveRun> part;  // in the group
  if (group != nullptr) {
    absl::StatusOr<std::unique_ptr<CollectiveRun>> begun = group->Begin(env, hooks.progress);
    if (!begun.ok()) return limits.Ended(begun.status());
    part = *std::move(begun);
    env.rendezvous = part->rendezvous();
    hooks.progress = part->probe();
  }
  absl::StatusOr<std::vector<Tensor>> results = executable.Run(feeds, env, hooks);
  if (part != nullptr) {
    const auto deciders = prep.deciders.find(part->DivergedAt());
    if (absl::IsFailedPrecondition(results.status()) && deciders != prep.deciders.end()) {
      results =
          absl::FailedPreconditionError(absl::StrCat(results.status().message(), deciders->second));
    }
    part->End(results.status());
  }
  // What is ready behind the deadline comes too late, though nobody has looked at the clock.
  if (results.ok() && !cancellation->IsCancelled()) {
    if (absl::Status late = cancellation->Poll(); !late.ok()) results = std::move(late);
  }
  if (run_options.observer != nullptr) {
    run_options.observer->OnEnded({.peak_bytes = std::max(budget->peak(), elsewhere.peak_bytes)});
  }
  if (!results.ok()) return limits.Ended(results.status());
  return results;
}

Session::Session(std::shared_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

absl::StatusOr<std::unique_ptr<Session>> Session::Load(const std::string& path,
                                                       const SessionOptions& options) {
  return CatchOutOfMemory(kThisProgram, [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, LoadProgramFile(path));
    return Create(std::move(program), options);
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::LoadFromMemory(absl::string_view graph,
                                                                 const SessionOptions& options) {
  return CatchOutOfMemory(kThisProgram, [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, LoadProgramBytes(graph));
    return Create(std::move(program), options);
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Program> program,
                                                         const SessionOptions& options) {
  return CatchOutOfMemory(kThisProgram, [&] {
    return Create(std::move(program), options, std::make_shared<ResourceStore>(), nullptr);
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::WithOptions(
    std::shared_ptr<const Program> program, const SessionOptions& options) const {
  const State::SharedState& shared = *state_->shared;
  const bool is_there = shared.remote->cluster == options.cluster;
  return CatchOutOfMemory(kThisProgram, [&] {
    return Create(std::move(program), options, shared.resources,
                  is_there ? shared.remote : nullptr);
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    std::shared_ptr<const Program> program, const SessionOptions& options,
    std::shared_ptr<ResourceStore> resources, std::shared_ptr<const RemoteState> remote) {
  GYRE_RETURN_IF_ERROR(CheckSessionOptions(options));
  auto state = std::make_shared<State>();
  state->engine = options.cluster != nullptr ? options.cluster.get() : &EngineOf(options.engine);
  state->options = options;
  state->seed = options.seed != 0 ? options.seed : RandomSeed();
  state->shared = std::make_shared<State::SharedState>();
  state->shared->resources = std::move(resources);
  if (remote == nullptr) remote = std::make_shared<const RemoteState>(options.cluster);
  state->shared->remote = std::move(remote);
  return ForProgram(std::move(state), std::move(program));
}

absl::StatusOr<std::unique_ptr<Session>> Session::WithProgram(
    std::shared_ptr<const Program> program) const {
  return WithProgram(std::move(program), state_->options.compile);
}

absl::StatusOr<std::unique_ptr<Session>> Session::WithProgram(
    std::shared_ptr<const Program> program, CompileMode compile) const {
  return CatchOutOfMemory(kThisProgram, [&] {
    auto state = std::make_shared<State>();
    state->engine = state_->engine;
    state->options = state_->options;
    state->options.compile = compile;
    state->seed = state_->seed;
    state->shared = state_->shared;
    return ForProgram(std::move(state), std::move(program));
  });
}

absl::StatusOr<std::unique_ptr<Session>> Session::ForProgram(
    std::shared_ptr<State> state, std::shared_ptr<const Program> program) {
  if (program == nullptr) return absl::InvalidArgumentError("a session needs a program, not null");
  GYRE_RETURN_IF_ERROR(Verify(*program, Dialect::kAny));
  state->program = std::move(program);
  state->names.emplace(*state->program);
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

absl::StatusOr<std::vector<Tensor>> Session::Run(const Feeds& feeds,
                                                 const std::vector<std::string>& fetches,
                                                 const std::vector<std::string>& targets,
                                                 const RunOptions& options) {
  return CatchOutOfMemory(kThisRun, [&]() -> absl::StatusOr<std::vector<Tensor>> {
    GYRE_RETURN_IF_ERROR(CheckRunOptions(options));
    const std::vector<std::string> names = NamesOf(feeds);
    const RunLimits limits(options);
    const auto prepared = [&] {
      const WorkLimit work(limits.cancellation().get(), limits.budget_bytes());
      return state_->Prepare(names, fetches, targets);
    }();
    if (!prepared.ok()) return limits.Ended(prepared.status());
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, ValuesOf(feeds, **prepared));
    return state_->Run(**prepared, values, options, limits);
  });
}

Session::Callable::Callable(std::shared_ptr<const State> state) : state_(std::move(state)) {}
Session::Callable::~Callable() = default;
Session::Callable::Callable(Callable&&) noexcept = default;

absl::StatusOr<std::vector<Tensor>> Session::Callable::Run(absl::Span<const Tensor> feeds,
                                                           const RunOptions& options) const {
  if (state_ == nullptr)
    return absl::FailedPreconditionError(
        "this callable has been moved away: nothing is left to run");
  return CatchOutOfMemory(kThisRun, [&]() -> absl::StatusOr<std::vector<Tensor>> {
    GYRE_RETURN_IF_ERROR(CheckRunOptions(options));
    return state_->session->Run(*state_->prepared, feeds, options, RunLimits(options));
  });
}

absl::StatusOr<Session::Callable> Session::Prepare(const std::vector<std::string>& feeds,
                                                   const std::vector<std::string>& fetches,
                                                   const std::vector<std::string>& targets) {
  return CatchOutOfMemory(kThisProgram, [&]() -> absl::StatusOr<Callable> {
    GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Prepared> prepared,
                          state_->Prepare(feeds, fetches, targets));
    return Callable(
        std::make_shared<const Callable::State>(Callable::State{state_, std::move(prepared)}));
  });
}

std::vector<Session::VariableInfo> Session::Variables() const {
  std::vector<VariableInfo> infos;
  for (const auto& [name, variable] : ProgramVariables(program()))
    infos.push_back({name, variable.dtype, variable.shape});
  return infos;
}

absl::StatusOr<std::vector<Tensor>> Session::ReadVariables(
    absl::Span<const std::string> names) const {
  return CatchOutOfMemory(kTheseVariables, [&]() -> absl::StatusOr<std::vector<Tensor>> {
    if (state_->options.cluster != nullptr) return ReadRemoteVariables(*this, names);
    GYRE_ASSIGN_OR_RETURN(const std::vector<RefPtr<VariableObject>> variables,
                          FindVariables(program(), *state_->shared->resources, names));
    return ReadTogether(variables);
  });
}

absl::Status Session::AssignVariables(absl::Span<const std::pair<std::string, Tensor>> values) {
  return CatchOutOfMemory(kTheseVariables, [&] {
    if (state_->options.cluster != nullptr) return AssignRemoteVariables(*this, values);
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    GYRE_ASSIGN_OR_RETURN(const std::vector<RefPtr<VariableObject>> variables,
                          FindVariables(program(), *state_->shared->resources, names));
    return AssignTogether(variables, values);
  });
}

ResourceStore& Session::resources() const { return *state_->shared->resources; }
uint64_t Session::CountRun() const {
  return state_->shared->runs.fetch_add(1, std::memory_order_relaxed);
}

const Program& Session::program() const { return *state_->program; }
std::shared_ptr<const Program> Session::shared_program() const { return state_->program; }

}  // namespace gyre
