// RunObserver: sees every node that a run fires, with what it made, where, on which thread, and
// when.
//
//   class Counter : public gyre::RunObserver { … };
//   Counter counter;
//   session->Run(feeds, fetches, {}, {.observer = &counter});
//
// Watching costs time (about a microsecond per node) and turns off no semantics: values, order and
// errors are those of a run that nobody watches. Timelines, statistics, the NaN trap and values per
// iteration are observers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"
#include "gyre/core/tensor.h"

namespace gyre {

// A loop, branch or call around a node, and how far it is.
struct Surrounding {
  enum class Kind : uint8_t { kLoop, kCondition, kBody, kBranch, kCall };
  Kind kind = Kind::kLoop;
  // The frame's name; of a structured node (While, If, call) the name of that node.
  absl::string_view name;
  absl::string_view function;  // whose body this is; empty for a frame of primitives
  int64_t iteration = 0;       // of a loop: which; of a branch: which one was taken
  // Tells frames apart: the same for all nodes of one loop while it runs, and for one call.
  uint64_t instance = 0;
};

// Where a firing stands in the graph of tokens that the engine runs: enough to tell which firings
// it waited for. Nodes are numbered within their graph, frames by a hash that no other frame of the
// run has.
struct TokenOrigin {
  const void* graph = nullptr;
  int node = 0;
  absl::Span<const int> sources;  // nodes of the same graph that it takes values from or waits for
  uint64_t frame = 0;
  int64_t iteration = 0;
  uint64_t outer_frame = 0;  // where the frame was entered from
  int64_t outer_iteration = 0;
};

// One node that has fired. Views are valid during the call alone.
struct Firing {
  absl::string_view node;  // as the program has it; plumbing made by lowering has names of its own
  absl::string_view op;
  // Made by lowering for a structured node: moves tokens, computes nothing.
  bool is_plumbing = false;
  // It called a function that runs as one: its time spans that of the nodes in there.
  bool is_call = false;
  absl::Span<const Surrounding> around;  // outermost first
  int thread = 0;                        // 0: the caller's
  absl::string_view device;              // that it ran on; empty where there is but one
  bool was_taken = false;                // from another thread's queue
  int64_t start_nanos = 0;               // of the machine's steady clock
  int64_t end_nanos = 0;
  // What it made; an output without value is dead. Where a worker of a cluster tells, there are
  // those alone that RemoteWatch::outputs names.
  absl::Span<const Tensor> outputs;
  const TokenOrigin* origin = nullptr;  // null: the engine does not say
  int64_t bytes = 0;                    // of all outputs
  // Where a loop has saved a value for its gradient, in a list, which is the first output: the loop
  // (FUNCTION/NAME, or NAME in the main graph), the value in its body, and its size. Empty
  // elsewhere.
  absl::string_view saving_loop;
  absl::string_view saved_value;
  int64_t saved_bytes = 0;
};

// What a run has come to.
struct RunTotals {
  // Most that was held at once by what the run has made; on a cluster, by one of its processes.
  int64_t peak_bytes = 0;
};

// An output of a node: "NODE" of the main graph (frames of primitives included), "FUNCTION/NODE" of
// the body of a function, wherever that is called.
struct WatchedOutput {
  std::string node;
  int slot = 0;
};

// What the workers of a cluster do for an observer, which is not where their nodes run.
struct RemoteWatch {
  // Tell of each firing, with times of this process's clock, some time after it: an error that
  // OnFired gives fails the run later than at this node.
  bool firings = true;
  // Values stay where they are: who must have all of them cannot watch a cluster's runs.
  bool values = true;
  // But these come along: firings that make one are told of in any case. A value that cannot leave
  // its process, a resource for one, fails the run.
  std::vector<WatchedOutput> outputs;
  // Fail the run as a NanTrap does, at the node.
  bool trap_nan = false;
};

// Called from all threads of a run, perhaps at once.
class GYRE_EXPORT RunObserver {
 public:
  virtual ~RunObserver() = default;
  // After the node's kernel, before anybody sees its outputs. An error fails the run, at this node.
  virtual absl::Status OnFired(const Firing& firing) = 0;
  // A thread has joined the run: when it was asked to, and when it came.
  virtual void OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) {
    (void)thread, (void)asked_nanos, (void)joined_nanos;
  }
  // The run has ended, well or not. On the caller's thread, behind all other calls.
  virtual void OnEnded(const RunTotals& totals) { (void)totals; }
  // To be overridden by who does without Firing::outputs, or without most of them.
  virtual RemoteWatch remote() const { return {}; }
};

// Several observers of one run, called in order; the first error is the answer. Not owned.
class GYRE_EXPORT ObserverList final : public RunObserver {
 public:
  void Add(RunObserver* observer) { observers_.push_back(observer); }
  bool empty() const { return observers_.empty(); }
  absl::Status OnFired(const Firing& firing) override {
    absl::Status first;
    for (RunObserver* observer : observers_) first.Update(observer->OnFired(firing));
    return first;
  }
  void OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) override {
    for (RunObserver* observer : observers_) observer->OnJoined(thread, asked_nanos, joined_nanos);
  }
  void OnEnded(const RunTotals& totals) override {
    for (RunObserver* observer : observers_) observer->OnEnded(totals);
  }
  RemoteWatch remote() const override {
    RemoteWatch all{.firings = false, .values = false};
    for (const RunObserver* observer : observers_) {
      const RemoteWatch one = observer->remote();
      all.firings |= one.firings;
      all.values |= one.values;
      all.outputs.insert(all.outputs.end(), one.outputs.begin(), one.outputs.end());
      all.trap_nan |= one.trap_nan;
    }
    return all;
  }

 private:
  std::vector<RunObserver*> observers_;
};

// Where a run is: a sample, taken while it goes on.
struct RunProgress {
  struct Loop {
    std::string name;  // as Surrounding::name
    int64_t iteration = 0;
    uint64_t instance = 0;
  };
  std::string node;         // the one that runs, or that is waited for
  std::vector<Loop> loops;  // around it, outermost first
  bool is_waiting = false;  // nothing runs: `node` waits for something outside of the run
};

// Asks a run where it is. Thread-safe: `Ask` from any thread (a signal handler may call it), the
// answer comes on a thread of the run within some milliseconds, or not at all if a kernel takes
// longer.
class GYRE_EXPORT ProgressProbe {
 public:
  explicit ProgressProbe(std::function<void(const RunProgress&)> answer)
      : answer_(std::move(answer)) {}
  void Ask() { asked_.store(true, std::memory_order_relaxed); }
  // For engines.
  bool IsAsked() const { return asked_.load(std::memory_order_relaxed); }
  void Answer(const RunProgress& progress) {
    if (asked_.exchange(false, std::memory_order_relaxed)) answer_(progress);
  }

 private:
  std::atomic<bool> asked_{false};
  const std::function<void(const RunProgress&)> answer_;
};

}  // namespace gyre
