// What programs are run with: kinds of engines, forms, memory policies and transports, as types;
// the options of engines and passes, which sessions hand on as they are; Cancellation.
//
// Each type is written as text by to_string, and read by a Parse function: what command lines and
// bindings of other languages do at their edges. All but Cancellation are plain values.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/export.h"

namespace gyre {

class Clock;  // src/base/env.h

// What runs programs. All give a program the same meaning; kCompiled makes native code of small
// loops before the first run (a window, several devices, and whoever watches nodes or iterations
// have them interpreted all the same).
enum class EngineKind : uint8_t { kDataflow, kReference, kCompiled };
inline constexpr std::array kEngineKinds = {EngineKind::kDataflow, EngineKind::kReference,
                                            EngineKind::kCompiled};
// "dataflow", "reference", "compiled".
GYRE_EXPORT std::string to_string(EngineKind engine);
// INVALID_ARGUMENT, with what there is, for another text; so for the Parse functions below.
GYRE_EXPORT absl::StatusOr<EngineKind> ParseEngineKind(absl::string_view text);

// What a program is made into, for each signature, before it runs: nothing; If, Case and While in
// place of primitives; primitives in place of these again; once more the other way; raised and
// through the passes.
enum class ProgramForm : uint8_t { kImported, kRaised, kRelowered, kReraised, kOptimized };
inline constexpr std::array kProgramForms = {ProgramForm::kImported, ProgramForm::kRaised,
                                             ProgramForm::kRelowered, ProgramForm::kReraised,
                                             ProgramForm::kOptimized};
// "imported", "raised", "relowered", "reraised", "optimized".
GYRE_EXPORT std::string to_string(ProgramForm form);
GYRE_EXPORT absl::StatusOr<ProgramForm> ParseProgramForm(absl::string_view text);

// When small loops become native code: once they have run for some milliseconds, in the background,
// while they run on; before the first run, which is an error where there is no code generator; or
// never. Whichever of these it is, results have the same bits. kContract is kAlways with less exact
// bits: a * b + c may be rounded once, in native code alone, which is faster.
enum class CompileMode : uint8_t { kAuto, kAlways, kNever, kContract };
inline constexpr std::array kCompileModes = {CompileMode::kAuto, CompileMode::kAlways,
                                             CompileMode::kNever, CompileMode::kContract};
// Whether it is done before the first run.
constexpr bool CompilesFirst(CompileMode mode) {
  return mode == CompileMode::kAlways || mode == CompileMode::kContract;
}
// "auto", "always", "never", "contract".
GYRE_EXPORT std::string to_string(CompileMode mode);
GYRE_EXPORT absl::StatusOr<CompileMode> ParseCompileMode(absl::string_view text);

// How values travel between the processes of a cluster: by shared memory within a machine and TCP
// between machines, or by one of them.
enum class Transport : uint8_t { kAuto, kTcp, kSharedMemory };
// "auto", "tcp", "memory".
GYRE_EXPORT std::string to_string(Transport transport);
GYRE_EXPORT absl::StatusOr<Transport> ParseTransport(absl::string_view text);

// What a loop keeps for its gradient: everything; its state every k iterations, between which it
// runs again; or checkpoints of about so many bytes, however many iterations there are. The bits of
// a first derivative do not depend on it.
class MemoryPolicy {
 public:
  enum class Kind : uint8_t { kSave, kRecompute, kCheckpoint };

  MemoryPolicy() = default;  // saves
  static MemoryPolicy Save() { return {}; }
  // With a number of at least 1: see CheckMemoryPolicy.
  static MemoryPolicy Recompute(int64_t iterations) { return {Kind::kRecompute, iterations}; }
  static MemoryPolicy Checkpoint(int64_t bytes) { return {Kind::kCheckpoint, bytes}; }

  Kind kind() const { return kind_; }
  int64_t amount() const { return amount_; }  // iterations, or bytes
  bool IsSound() const { return kind_ == Kind::kSave || amount_ > 0; }

  friend bool operator==(const MemoryPolicy&, const MemoryPolicy&) = default;

 private:
  MemoryPolicy(Kind kind, int64_t amount) : kind_(kind), amount_(amount) {}

  Kind kind_ = Kind::kSave;
  int64_t amount_ = 0;
};
// "save", "recompute(k)", "checkpoint(bytes)".
GYRE_EXPORT std::string to_string(const MemoryPolicy& policy);
GYRE_EXPORT absl::StatusOr<MemoryPolicy> ParseMemoryPolicy(absl::string_view text);
// INVALID_ARGUMENT for numbers below 1, which what takes a policy refuses.
GYRE_EXPORT absl::Status CheckMemoryPolicy(const MemoryPolicy& policy);

// How much of a run may happen at once.
struct ParallelOptions {
  // Iterations of one loop in flight, where the loop itself allows as many (parallel_iterations): a
  // window narrows loops, and widens none. 0: as each loop says.
  int window = 0;
  // Threads that work on one run at most, the caller's own among them; 0: one per core.
  int threads = 0;
};

// Which passes an optimised program goes through (`gyre passes` lists them): by default all of
// them; the rest is for finding mistakes.
struct PassOptions {
  std::vector<std::string> off;  // names of passes that are left out; "all": every one
  std::string only;              // this pass alone, on a raised program; empty: all
  bool verify = false;           // looks after every pass whether the program is still sound
};

// For tests of Gyre itself: what a program means does not depend on these.
struct TestingOptions {
  // Not 0: ready nodes run on one thread in an order drawn from this seed, the same each time.
  // (Engines that have but one order ignore it.)
  uint64_t schedule_seed = 0;
  // Not 0: which device a node runs on is drawn from this seed; what must stand together does.
  uint64_t spread_seed = 0;
  // Not 0: passes run in an order drawn from this seed.
  uint64_t passes_order_seed = 0;
};

// How one run is told to stop: by its caller, by its deadline, or by its first error.
//
//   gyre::Cancellation cancellation;
//   … session->Run(feeds, fetches, {}, {.cancellation = &cancellation});
//   … cancellation.Cancel();   // on another thread
//
// Thread-safe. Outlives the runs that it is given to. `IsCancelled` is one load; `Poll` also reads
// the clock when there is a deadline. Callbacks run on the thread that cancels, exactly once, and
// never under the lock.
class GYRE_EXPORT Cancellation {
 public:
  static constexpr int64_t kNoDeadline = std::numeric_limits<int64_t>::max();

  Cancellation();
  // With a deadline of the machine's steady clock, or of another.
  explicit Cancellation(int64_t deadline_nanos);
  Cancellation(int64_t deadline_nanos, const Clock& clock);

  // The first call decides the status (which must not be OK) and runs the callbacks; later ones do
  // nothing.
  void Cancel(const absl::Status& why);
  // CANCELLED.
  void Cancel();

  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // OK, or why the run must stop. Cancels with DEADLINE_EXCEEDED once the deadline has passed.
  absl::Status Poll();
  // Why it was cancelled; OK when it was not.
  absl::Status status() const;
  int64_t deadline_nanos() const { return deadline_nanos_; }
  const Clock& clock() const { return clock_; }

  // Calls `callback` upon cancellation, at once if that has happened. Returns an id for
  // RemoveCallback.
  int64_t AddCallback(std::function<void()> callback);
  // False when the callback has run or is running.
  bool RemoveCallback(int64_t id);

 private:
  const Clock& clock_;
  const int64_t deadline_nanos_;
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards what follows
  absl::Status status_;
  int64_t next_id_ = 1;
  std::map<int64_t, std::function<void()>> callbacks_;
};

}  // namespace gyre
