// HotProgram: a program for one signature that runs as it was imported, and optimised once it is
// hot.
//
//   cold       as imported; some runs are timed
//   optimising so much time has gone into runs that optimising is nothing beside it: it is done
//              in the background
//   trial      the two forms take turns, and are timed
//   settled    on the one that was faster
//
// A first run waits for no pass, and what small graphs win or lose by the optimiser is measured
// rather than guessed. Runs that somebody observes are always those of the imported program. So are
// those that tell of an error, where running again does no harm: the optimised form computes the
// same, but in other places.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "exec/engine.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT HotProgram final : public Executable {
 public:
  enum class Stage { kCold, kOptimizing, kTrial, kImported, kOptimized };

  struct Optimized {
    std::unique_ptr<Executable> executable;
    // Runs may be repeated: the program changes nothing and tells nobody.
    bool may_repeat = false;
  };
  // Makes the optimised form, on a thread of its own. Called once at most; an error means that
  // there is none.
  using Optimize = std::function<absl::StatusOr<Optimized>()>;

  // It is hot once its runs have taken so long in all.
  HotProgram(std::unique_ptr<Executable> imported, int64_t hot_after_nanos, Optimize optimize);
  ~HotProgram() override;

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override;
  // A run that ended with `error` is to be run again, as imported and with a RunEnv of its own, to
  // say where the user's program went wrong.
  bool RepeatsToTell(const absl::Status& error) const;
  const Executable& imported() const;

  Stage stage() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with the thread that optimises
};

}  // namespace gyre
