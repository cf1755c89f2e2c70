#include "exec/dataflow/dataflow_engine.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/work.h"
#include "exec/dataflow/devices.h"
#include "exec/dataflow/runs.h"
#include "exec/parallel_for.h"

namespace gyre {
namespace {

// Feeds of which the program does not say that they are scalars, or what else they are.
std::vector<int> OpenFeeds(const Program& program, const RunSignature& signature) {
  std::vector<int> open;
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    const Node& node = program.main().node(signature.feeds[i].node);
    const auto* shape = node.attrs.Get<PartialShape>("shape");
    if (node.kind() == OpKind::kPlaceholder && shape != nullptr && shape->has_rank()) continue;
    open.push_back(static_cast<int>(i));
  }
  return open;
}

// One program for one signature, as up to three plans: what runs as a rule; one that knows that
// certain feeds are scalars, made when the first run shows that they may be, and used as long as
// they are, if that puts more loops on registers; and one of tokens alone, for who watches and
// wants to see all nodes.
class DataflowExecutable final : public Executable {
 public:
  DataflowExecutable(std::shared_ptr<const Program> program, RunSignature signature,
                     std::unique_ptr<dataflow::Plan> plan, const dataflow::RunSettings& settings)
      : program_(std::move(program)),
        signature_(std::move(signature)),
        settings_(settings),
        usual_(std::move(plan), settings),
        open_feeds_(usual_.plan().num_other_loops() > 0 ? OpenFeeds(*program_, signature_)
                                                        : std::vector<int>()),
        parallel_(*settings.pool, settings.parallel.threads) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    if (env.parallel == nullptr && settings_.parallel.threads > 1) env.parallel = &parallel_;
    if (hooks.observer != nullptr) {
      GYRE_ASSIGN_OR_RETURN(const dataflow::RunsOfPlan* const watched, Watched(env));
      return watched->Run(feeds, env, hooks);
    }
    if (!open_feeds_.empty()) {
      GYRE_RETURN_IF_ERROR(LookAtFeedsOnce(feeds, env));
      const auto is_scalar = [&](int i) { return feeds[i].shape().IsScalar(); };
      if (with_scalars_ != nullptr && absl::c_all_of(scalar_feeds_, is_scalar))
        return with_scalars_->Run(feeds, env, hooks);
    }
    return usual_.Run(feeds, env, hooks);
  }

 private:
  // An error if the run has no time or memory left for it: another run looks again.
  absl::Status LookAtFeedsOnce(absl::Span<const Tensor> feeds, const RunEnv& env) const {
    if (has_looked_.load(std::memory_order_acquire)) return absl::OkStatus();
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    if (has_looked_.load(std::memory_order_relaxed)) return absl::OkStatus();
    const WorkLimit limit(env.cancellation);
    LookAtFeeds(feeds);
    GYRE_RETURN_IF_ERROR(WorkLimit::Check());
    has_looked_.store(true, std::memory_order_release);
    return absl::OkStatus();
  }

  void LookAtFeeds(absl::Span<const Tensor> feeds) const {
    scalar_feeds_.clear();
    dataflow::Plan::Options options{.compile = settings_.compile};
    scalar_feeds_.clear();  // it may have been left half-way, out of memory
    for (const int i : open_feeds_) {
      if (!feeds[i].shape().IsScalar()) continue;
      scalar_feeds_.push_back(i);
      options.scalar_feeds.push_back(signature_.feeds[i]);
    }
    if (scalar_feeds_.empty()) return;
    auto plan = dataflow::Plan::Make(program_, signature_, options);
    if (!plan.ok() || (*plan)->num_kept_loops() <= usual_.plan().num_kept_loops()) return;
    with_scalars_ = std::make_unique<dataflow::RunsOfPlan>(*std::move(plan), settings_);
  }

  absl::StatusOr<const dataflow::RunsOfPlan*> Watched(const RunEnv& env) const {
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    if (watched_ == nullptr) {
      const WorkLimit limit(env.cancellation);
      GYRE_ASSIGN_OR_RETURN(auto plan,
                            dataflow::Plan::Make(program_, signature_, {.makes_nodes = false}));
      watched_ = std::make_unique<dataflow::RunsOfPlan>(std::move(plan), settings_);
    }
    return watched_.get();
  }

  const std::shared_ptr<const Program> program_;
  const RunSignature signature_;
  const dataflow::RunSettings settings_;
  const dataflow::RunsOfPlan usual_;
  const std::vector<int> open_feeds_;  // empty where nothing is to be won
  mutable PoolParallelFor parallel_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> has_looked_{false};  // then these two stay as they are; else mutex_'s
  mutable std::vector<int> scalar_feeds_;
  mutable std::unique_ptr<const dataflow::RunsOfPlan> with_scalars_;
  mutable std::unique_ptr<const dataflow::RunsOfPlan>
      watched_;  // guarded by mutex_; stays once it is there
};

// A program on several devices of this process.
class PartsExecutable final : public Executable {
 public:
  explicit PartsExecutable(dataflow::PartsHere parts) : parts_(std::move(parts)) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    std::vector<Tensor> needed;
    for (const int i : parts_.feeds) needed.push_back(feeds[i]);
    return parts_.executable->Run(needed, env, hooks);
  }

 private:
  const dataflow::PartsHere parts_;  // all of them: its fetches are those of the signature
};

// A program that lies on one of several devices: observers are told which, and nothing else is
// different.
class UncutExecutable final : public Executable {
 public:
  UncutExecutable(std::unique_ptr<Executable> usual, dataflow::PartsHere watched)
      : usual_(std::move(usual)), watched_(std::move(watched)) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    return hooks.observer == nullptr ? usual_->Run(feeds, env, hooks)
                                     : watched_.Run(feeds, env, hooks);
  }

 private:
  const std::unique_ptr<Executable> usual_;
  const PartsExecutable watched_;
};

class DataflowEngineImpl final : public Engine {
 public:
  // `compiles_first`: all that can becomes native code before the first run, whatever the options
  // say.
  DataflowEngineImpl(absl::string_view name, bool compiles_first)
      : name_(name), compiles_first_(compiles_first) {}

  absl::string_view name() const override { return name_; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override {
    // One device runs everything; it is placed only for who wants to hear of requests for others.
    const size_t worth_placing = options.place.soft ? 2 : 1;
    if (options.devices.size() < worth_placing)
      return CompileUncut(std::move(program), signature, options);
    GYRE_ASSIGN_OR_RETURN(dataflow::PartsHere cut,
                          dataflow::CompileParts(program, signature, options,
                                                 std::vector<bool>(options.devices.size(), true)));
    if (cut.num_parts > 0 && !cut.is_plain)
      return std::make_unique<PartsExecutable>(std::move(cut));
    GYRE_ASSIGN_OR_RETURN(std::unique_ptr<Executable> uncut,
                          CompileUncut(std::move(program), signature, options));
    if (cut.executable == nullptr) return uncut;
    return std::make_unique<UncutExecutable>(std::move(uncut), std::move(cut));
  }

 private:
  absl::StatusOr<std::unique_ptr<Executable>> CompileUncut(std::shared_ptr<const Program> program,
                                                           const RunSignature& signature,
                                                           const EngineOptions& options) const {
    // Who says how many iterations, or shuffles them, means tokens.
    const bool makes_nodes = options.parallel.window == 0 && options.testing.schedule_seed == 0;
    dataflow::RunSettings settings;
    settings.compile = options.compile;
    if (compiles_first_) settings.compile = {.mode = CompileMode::kAlways, .conditionals = true};
    GYRE_ASSIGN_OR_RETURN(
        auto plan, dataflow::Plan::Make(program, signature,
                                        {.makes_nodes = makes_nodes, .compile = settings.compile}));
    settings.parallel = options.parallel;
    if (options.testing.schedule_seed != 0) settings.parallel.threads = 1;
    settings.testing = options.testing;
    settings.pool = &ThreadPool::Shared();
    return std::unique_ptr<Executable>(std::make_unique<DataflowExecutable>(
        std::move(program), signature, std::move(plan), settings));
  }

  const absl::string_view name_;
  const bool compiles_first_;
};

}  // namespace

const Engine& DataflowEngine() {
  static const auto* const engine = new DataflowEngineImpl("dataflow", false);
  return *engine;
}

const Engine& CompiledEngine() {
  static const auto* const engine = new DataflowEngineImpl("compiled", true);
  return *engine;
}

}  // namespace gyre
