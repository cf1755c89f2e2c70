// Engine: a way of running programs. All engines give a program the same meaning
// (docs/semantics.md).
//
// An engine compiles a program for one signature into an Executable, which may then be run many
// times and from many threads at once. Engines live for ever; an Executable keeps its program
// alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/run_signature.h"
#include "devices/device_name.h"
#include "exec/sequential/compile_when.h"
#include "gyre/core/observer.h"
#include "gyre/core/options.h"
#include "ops/kernel.h"
#include "place/placement.h"

namespace gyre {

struct EngineOptions {
  // No window: as each loop says, where that pays: loops of little work run as one node
  // (exec/sequential/loop.h). Of threads there is at least one here.
  ParallelOptions parallel = {.threads = 1};
  TestingOptions testing;
  // Of engines that run loops of little work as one node.
  CompileWhen compile;
  // Whose variables the program's are, for engines that keep them elsewhere: a session's number.
  uint64_t state = 0;
  // Devices of this process that a program is placed on; with fewer than two, it is not cut.
  // Engines that have but one device ignore them.
  std::vector<DeviceName> devices;
  place::PlaceOptions place;
};

// Who watches a run. Null: nobody.
struct RunHooks {
  RunObserver* observer = nullptr;
  ProgressProbe* progress = nullptr;
  // Where engines write what other processes have come to. Null: nobody asks.
  RunTotals* elsewhere = nullptr;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // One run. `feeds` and the result are in the order of the signature. `env` is this run's own: its
  // cancellation is cancelled when the run fails, so that everything that waits comes to an end.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                                  const RunHooks& hooks) const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual absl::string_view name() const = 0;
  // Those that programs are placed on, whatever the options name; none: those of the options.
  virtual std::vector<DeviceName> devices() const { return {}; }
  // The session of this number has ended.
  virtual void EndState(uint64_t) const {}
  // Errors are the user's: names, types or frames that don't fit.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(
      std::shared_ptr<const Program> program, const RunSignature& signature,
      const EngineOptions& options) const = 0;
};

// How much a firing has made, and what it has saved for gradients. Requirement: its outputs are
// set.
void SetMade(const Node& node, Firing& firing);

// Lives for ever.
const Engine& EngineOf(EngineKind kind);
// What runs around a node that stands in function `callee` of a structured node: in its branch, its
// condition, its body, or what it calls.
Surrounding::Kind SurroundingKind(const Node& structured, int callee);
// What errors of a run call it that has no memory left: see OutOfMemoryError.
inline constexpr absl::string_view kThisRun = "this run";
}  // namespace gyre
