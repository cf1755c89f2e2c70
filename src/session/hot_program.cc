#include "session/hot_program.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

#include "base/env.h"
#include "base/fork.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "exec/sequential/background.h"

namespace gyre {
namespace {

// Of each form, in a trial. What comes first is not timed.
constexpr int kUntimed = 4;
constexpr int kTimed = 15;

int64_t Median(std::vector<int64_t> nanos) {
  const auto middle = nanos.begin() + static_cast<ptrdiff_t>(nanos.size() / 2);
  std::nth_element(nanos.begin(), middle, nanos.end());
  return *middle;
}

}  // namespace

struct HotProgram::State {
  State(std::unique_ptr<Executable> as_imported, int64_t nanos, Optimize how)
      : imported(std::move(as_imported)), hot_after_nanos(nanos), optimize(std::move(how)) {}

  // Runs `executable` and says how long that took.
  static absl::StatusOr<std::vector<Tensor>> Timed(const Executable& executable,
                                                   absl::Span<const Tensor> feeds, RunEnv& env,
                                                   const RunHooks& hooks, int64_t& nanos) {
    const int64_t start = SystemClock().NowNanos();
    absl::StatusOr<std::vector<Tensor>> results = executable.Run(feeds, env, hooks);
    nanos = SystemClock().NowNanos() - start;
    return results;
  }

  // Whether a run of so many nanoseconds, one of `runs`, makes the program hot.
  bool IsHot(int64_t nanos, int64_t runs) const {
    return nanos > 0 && runs >= hot_after_nanos / nanos;
  }

  void MakeOptimized() {
    absl::StatusOr<Optimized> made = CatchOutOfMemory("this program", [&] { return optimize(); });
    optimize = nullptr;  // and what it holds
    if (!made.ok()) {
      stage.store(Stage::kImported, std::memory_order_release);
      return;
    }
    optimized = *std::move(made);
    stage.store(Stage::kTrial, std::memory_order_release);
  }

  void TakeTime(bool is_optimized, int64_t nanos) {
    const NoFork no_fork;
    const std::lock_guard lock(mutex);
    std::vector<int64_t>& times = is_optimized ? optimized_nanos : imported_nanos;
    times.push_back(nanos);
    if (optimized_nanos.size() < kUntimed + kTimed || imported_nanos.size() < kUntimed + kTimed)
      return;
    for (std::vector<int64_t>* const each : {&optimized_nanos, &imported_nanos})
      each->erase(each->begin(), each->begin() + kUntimed);
    const bool wins = Median(optimized_nanos) < Median(imported_nanos);
    stage.store(wins ? Stage::kOptimized : Stage::kImported, std::memory_order_release);
  }

  const std::unique_ptr<const Executable> imported;
  const int64_t hot_after_nanos;
  Optimize optimize;  // the optimising thread's
  std::atomic<Stage> stage{Stage::kCold};
  Optimized optimized;                          // since kTrial
  std::atomic<int64_t> runs{0}, trial_runs{0};  // that began in kCold and in kTrial
  std::mutex mutex;
  std::vector<int64_t> imported_nanos, optimized_nanos;  // of kTrial; guarded by mutex
};

HotProgram::HotProgram(std::unique_ptr<Executable> imported, int64_t hot_after_nanos,
                       Optimize optimize)
    : state_(std::make_shared<State>(std::move(imported), hot_after_nanos, std::move(optimize))) {}
HotProgram::~HotProgram() = default;

HotProgram::Stage HotProgram::stage() const { return state_->stage.load(); }

const Executable& HotProgram::imported() const { return *state_->imported; }

bool HotProgram::RepeatsToTell(const absl::Status& error) const {
  // As in a trial any run may have been that of the optimised form.
  const Stage stage = state_->stage.load(std::memory_order_acquire);
  if (stage != Stage::kOptimized && stage != Stage::kTrial) return false;
  return state_->optimized.may_repeat && !absl::IsCancelled(error) &&
         !absl::IsDeadlineExceeded(error) && !absl::IsResourceExhausted(error);
}

absl::StatusOr<std::vector<Tensor>> HotProgram::Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                                    const RunHooks& hooks) const {
  State& state = *state_;
  if (hooks.observer != nullptr) return state.imported->Run(feeds, env, hooks);
  switch (state.stage.load(std::memory_order_acquire)) {
    case Stage::kOptimizing:
    case Stage::kImported:
      return state.imported->Run(feeds, env, hooks);
    case Stage::kOptimized:
      return state.optimized.executable->Run(feeds, env, hooks);
    case Stage::kCold: {
      const int64_t run = state.runs.fetch_add(1, std::memory_order_relaxed) + 1;
      if (!std::has_single_bit(static_cast<uint64_t>(run)))
        return state.imported->Run(feeds, env, hooks);
      int64_t nanos = 0;
      auto results = State::Timed(*state.imported, feeds, env, hooks, nanos);
      Stage cold = Stage::kCold;
      if (results.ok() && state.IsHot(nanos, run) &&
          state.stage.compare_exchange_strong(cold, Stage::kOptimizing))
        // Whose session has ended meanwhile is not optimised any more.
        sequential::CompileInBackground([weak = std::weak_ptr<State>(state_)] {
          if (const std::shared_ptr<State> shared = weak.lock()) shared->MakeOptimized();
        });
      return results;
    }
    case Stage::kTrial: {
      const bool is_optimized = state.trial_runs.fetch_add(1, std::memory_order_relaxed) % 2 == 0;
      int64_t nanos = 0;
      auto results = State::Timed(is_optimized ? *state.optimized.executable : *state.imported,
                                  feeds, env, hooks, nanos);
      if (results.ok()) state.TakeTime(is_optimized, nanos);
      return results;
    }
  }
  return BugError("a program is at no stage");
}

}  // namespace gyre
