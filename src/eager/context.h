// Context: what ops that run at once share: a session with its variables and queues, options, and
// the kernels that have been looked up.
//
//   gyre::eager::Context context;
//   const EagerTensor x(Tensor::Scalar(3.0f));
//   const EagerTensor y = context.Execute1("Mul", {x, x});
//
// Thread-safe; threads run their ops independently of each other. Everything in src/eager throws,
// as the C++ API does: gyre::Error with a status; what a Host throws goes through.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/internal_export.h"
#include "eager/eager_op.h"
#include "eager/plan.h"
#include "eager/plan_graph.h"
#include "eager/tensor.h"
#include "gyre/core/debug.h"
#include "gyre/core/options.h"
#include "gyre/core/session.h"

namespace gyre::eager {

// What a language has done around work that may take long: its interpreter runs other threads
// meanwhile, and hears of signals. Thread-safe. Whatever it throws goes through.
class GYRE_INTERNAL_EXPORT Host {
 public:
  virtual ~Host() = default;
  // Calls `work`, which runs a kernel or a program and ends early where `cancellation` says so.
  virtual absl::Status Run(Cancellation& cancellation, absl::FunctionRef<absl::Status()> work);
  // After a run of a kernel that was cancelled, when this thread may run others again: throws what
  // is to be thrown in place of its error.
  virtual void ThrowIfInterrupted() {}
  // As Run, of a program. Throws by itself after one that was cancelled.
  virtual void RunProgram(Cancellation& cancellation, absl::FunctionRef<absl::Status()> work);
  // Calls `work`, which differentiates or compiles a program.
  virtual void Prepare(absl::FunctionRef<void()> work);
  // In which steps of its own can be replayed.
  virtual std::unique_ptr<PlanGraph> NewPlanGraph();
};

// Whether what this thread runs fails where it makes a NaN or an infinity; and what watches runs
// for that, null if nothing does.
GYRE_INTERNAL_EXPORT void TrapNans(bool is_on);
GYRE_INTERNAL_EXPORT NanTrap* TheNanTrap();

class GYRE_INTERNAL_EXPORT Context {
 public:
  // INVALID_ARGUMENT, thrown, for options that mean nothing. `host`: null for none; not owned.
  explicit Context(const SessionOptions& options = {}, Host* host = nullptr);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  SessionOptions options() const;
  // Of an empty program; others are made from it. Another one when options change, with the same
  // variables and queues.
  std::shared_ptr<Session> session() const;
  // Changes with the options; no other Context's.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // For what runs from now on. An error, thrown, changes nothing.
  void Change(const SessionOptions& options);
  Host& host() const { return host_; }
  EagerOps& ops() { return ops_; }
  PlanCache& plans() { return plans_; }

  // Runs a kernel. `inputs` may be consumed; `outputs` are as many as the node has, without values.
  // Kernels that may take long run within Host::Run.
  void Run(const EagerOp& op, absl::Span<Tensor> inputs, absl::Span<Tensor> outputs);

  // Runs an op, of which tapes hear. `inputs`: one after the other, flat; they may be consumed.
  EagerTensors Execute(const OpDef& op, absl::Span<EagerTensor> inputs, AttrMap attrs);
  // The one output of an op by its name. NOT_FOUND, thrown, if there is none of that name.
  EagerTensor Execute1(absl::string_view op, EagerTensors inputs, AttrMap attrs = {});

 private:
  friend void TrapNans(bool is_on);
  friend NanTrap* TheNanTrap();
  struct ThreadState;
  ThreadState& State();
  absl::Status RunSlowly(const EagerOp& op, ThreadState& state, KernelContext& ctx);

  Host& host_;
  std::atomic<uint64_t> version_;
  mutable std::mutex mutex_;  // guards the next two
  SessionOptions options_;
  std::shared_ptr<Session> session_;
  EagerOps ops_;
  PlanCache plans_;
};

}  // namespace gyre::eager
