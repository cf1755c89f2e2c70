// RunsOfPlan: a plan, and runs of it that wait for the next caller.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "exec/dataflow/run.h"

namespace gyre::dataflow {

// Thread-safe.
class RunsOfPlan {
 public:
  RunsOfPlan(std::unique_ptr<Plan> plan, const RunSettings& settings)
      : plan_(std::move(plan)), settings_(settings) {
    idle_.reserve(kKeptRuns);  // so that a run that has succeeded can be kept
  }

  const Plan& plan() const { return *plan_; }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const {
    std::unique_ptr<dataflow::Run> run = Take();
    absl::StatusOr<std::vector<Tensor>> results = run->Execute(feeds, env, hooks);
    Keep(std::move(run));
    return results;
  }

 private:
  // More at once are rare.
  static constexpr size_t kKeptRuns = 4;

  std::unique_ptr<dataflow::Run> Take() const {
    {
      const NoFork no_fork;
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
    const NoFork no_fork;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kKeptRuns) idle_.push_back(std::move(run));
  }

  const std::unique_ptr<Plan> plan_;
  const RunSettings settings_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<dataflow::Run>> idle_;  // guarded by mutex_
};

}  // namespace gyre::dataflow
