#include "exec/dataflow/dataflow_engine.h"

#include <mutex>
#include <utility>

#include "base/status.h"
#include "exec/dataflow/run.h"
#include "exec/parallel_for.h"

namespace gyre {
namespace {

// Runs that are kept for the next callers; more than this many at once are rare.
constexpr size_t kKeptRuns = 4;

class DataflowExecutable final : public Executable {
 public:
  DataflowExecutable(std::shared_ptr<const Program> program, RunSignature signature,
                     std::unique_ptr<dataflow::Plan> plan, const dataflow::RunSettings& settings)
      : program_(std::move(program)),
        signature_(std::move(signature)),
        settings_(settings),
        unwatched_(std::move(plan), settings_),
        parallel_(*settings.pool, settings.threads) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    if (env.parallel == nullptr && settings_.threads > 1) env.parallel = &parallel_;
    if (hooks.observer == nullptr && hooks.progress == nullptr)
      return unwatched_.Run(feeds, env, hooks);
    GYRE_ASSIGN_OR_RETURN(RunsOfPlan* const watched, Watched());
    return watched->Run(feeds, env, hooks);
  }

 private:
  // A plan, and runs of it that wait for the next caller.
  class RunsOfPlan {
   public:
    RunsOfPlan(std::unique_ptr<dataflow::Plan> plan, const dataflow::RunSettings& settings)
        : plan_(std::move(plan)), settings_(settings) {}

    absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                            const RunHooks& hooks) const {
      std::unique_ptr<dataflow::Run> run = Take();
      absl::StatusOr<std::vector<Tensor>> results = run->Execute(feeds, env, hooks);
      Keep(std::move(run));
      return results;
    }

   private:
    std::unique_ptr<dataflow::Run> Take() const {
      {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
          std::unique_ptr<dataflow::Run> run = std::move(idle_.back());
          idle_.pop_back();
          return run;
        }
      }
      return std::make_unique<dataflow::Run>(*plan_, settings_);
    }
    void Keep(std::unique_ptr<dataflow::Run> run) const {
      const std::lock_guard lock(mutex_);
      if (idle_.size() < kKeptRuns) idle_.push_back(std::move(run));
    }

    const std::unique_ptr<dataflow::Plan> plan_;
    const dataflow::RunSettings& settings_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<dataflow::Run>> idle_;  // guarded by mutex_
  };

  // Who watches wants to see all nodes: a plan of tokens alone, made for the first who does.
  absl::StatusOr<RunsOfPlan*> Watched() const {
    const std::lock_guard lock(mutex_);
    if (watched_ == nullptr) {
      GYRE_ASSIGN_OR_RETURN(auto plan,
                            dataflow::Plan::Make(program_, signature_, /*keeps_loops=*/false));
      watched_ = std::make_unique<RunsOfPlan>(std::move(plan), settings_);
    }
    return watched_.get();
  }

  const std::shared_ptr<const Program> program_;
  const RunSignature signature_;
  const dataflow::RunSettings settings_;
  const RunsOfPlan unwatched_;
  mutable PoolParallelFor parallel_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<RunsOfPlan> watched_;  // guarded by mutex_; stays once it is there
};

class DataflowEngineImpl final : public Engine {
 public:
  absl::string_view name() const override { return "dataflow"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override {
    // Who says how many iterations, or shuffles them, means tokens.
    const bool keeps_loops = options.window == 0 && !options.schedule_seed;
    GYRE_ASSIGN_OR_RETURN(auto plan, dataflow::Plan::Make(program, signature, keeps_loops));
    dataflow::RunSettings settings;
    settings.window = options.window;
    settings.threads = options.schedule_seed ? 1 : options.threads;
    settings.pool = &ThreadPool::Shared();
    settings.schedule_seed = options.schedule_seed;
    return std::unique_ptr<Executable>(std::make_unique<DataflowExecutable>(
        std::move(program), signature, std::move(plan), settings));
  }
};

}  // namespace

const Engine& DataflowEngine() {
  static const auto* const engine = new DataflowEngineImpl;
  return *engine;
}

}  // namespace gyre
