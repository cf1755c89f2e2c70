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
  DataflowExecutable(std::unique_ptr<dataflow::Plan> plan, const dataflow::RunSettings& settings)
      : plan_(std::move(plan)), settings_(settings), parallel_(*settings.pool, settings.threads) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    if (env.parallel == nullptr && settings_.threads > 1) env.parallel = &parallel_;
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
  const dataflow::RunSettings settings_;
  mutable PoolParallelFor parallel_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<dataflow::Run>> idle_;  // guarded by mutex_
};

class DataflowEngineImpl final : public Engine {
 public:
  absl::string_view name() const override { return "dataflow"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::shared_ptr<const Program> program,
                                                      const RunSignature& signature,
                                                      const EngineOptions& options) const override {
    GYRE_ASSIGN_OR_RETURN(auto plan, dataflow::Plan::Make(std::move(program), signature));
    dataflow::RunSettings settings;
    settings.window = options.window;
    settings.threads = options.schedule_seed ? 1 : options.threads;
    settings.pool = &ThreadPool::Shared();
    settings.schedule_seed = options.schedule_seed;
    return std::unique_ptr<Executable>(
        std::make_unique<DataflowExecutable>(std::move(plan), settings));
  }
};

}  // namespace

const Engine& DataflowEngine() {
  static const auto* const engine = new DataflowEngineImpl;
  return *engine;
}

}  // namespace gyre
