// Observers that look at values: a trap for NaN and Inf, and what a node made in every iteration.
//
//   gyre::NanTrap trap;
//   session->Run(feeds, fetches, {}, {.observer = &trap});   // fails where the first NaN arises
//
//   gyre::IterationValues values({{"while/mul"}});
//   session->Run(feeds, fetches, {}, {.observer = &values});
//   values.Get(0)[i].value;   // of "while/mul" in iteration i
//
// Several observers watch one run through an ObserverList (gyre/observer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/observer.h"

namespace gyre {

// Fails the run (INVALID_ARGUMENT) at the first node that makes a NaN or an infinity: the message
// says how many, the run adds the node, loop and iteration. Real and complex types of any width
// are looked at. Nodes that merely hand values on (Identity, Switch, Merge, …) and constants, which
// hold what their author wrote, are passed over. Stateless; any thread.
class NanTrap final : public RunObserver {
 public:
  absl::Status OnFired(const Firing& firing) override;
};

// An output of a node: "NODE" of the main graph (frames of primitives included), "FUNCTION/NODE" of
// the body of a function, wherever that is called.
struct WatchedOutput {
  std::string node;
  int slot = 0;
};

struct IterationValue {
  std::vector<int64_t> iterations;  // of the loops around it, outermost first
  std::vector<std::string> loops;   // their names, alongside
  Tensor value;
};

// Keeps what outputs are, firing by firing. Fired into from many threads at once; read when the run
// has ended. Use one for one run.
class IterationValues final : public RunObserver {
 public:
  static constexpr int64_t kDefaultMaxBytes = int64_t{256} << 20;

  // Keeps values up to `max_bytes` in all; further ones are counted, not kept. (Those of ordinary
  // kernels stay charged to the run's memory budget.)
  explicit IterationValues(std::vector<WatchedOutput> outputs,
                           int64_t max_bytes = kDefaultMaxBytes);
  ~IterationValues() override;
  absl::Status OnFired(const Firing& firing) override;

  // Of the output number `i` of those watched: values in the order of iterations; those of one and
  // the same iteration (calls in it) in the order in which they came.
  std::vector<IterationValue> Get(size_t i) const;
  // The same as one tensor with a row per iteration. nullopt unless there is exactly one loop
  // around them, entered once, with a value from each of its iterations, all of one dtype and
  // shape.
  std::optional<Tensor> Stacked(size_t i) const;
  int64_t left_out(size_t i) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace gyre
