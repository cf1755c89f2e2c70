// KernelRunner: runs the kernels of nodes that are ready, and hands on what they make.
//
// Asynchronous kernels call back from any thread; what follows from it is done by the worker that
// takes the call from the run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "exec/dataflow/frame_control.h"

namespace gyre::dataflow {

// Of one worker; touched by its thread.
class KernelRunner {
 public:
  // `explore` draws the order in which asynchronous kernels end; null: as they do. References must
  // outlive it.
  KernelRunner(RunControl& run, FrameControl& frames, std::mt19937_64* explore);

  // For the run that begins.
  void Begin() { has_sent_ = false; }
  // A kPlainKernel, untimed, but for handing on what it makes. False: it has failed.
  bool RunPlain(Ready ready, const PlanNode& p, Tensor* inputs);
  Tensor& plain_output() { return outputs_[0]; }
  void Run(Ready ready, const PlanNode& p, bool timed);
  void RunAsync(Ready ready, const PlanNode& p);
  // Hands on what asynchronous kernels that have called back have made.
  void CompleteAsync();
  // What was sent leaves.
  void Flush();
  // Drops what kernels have left. Nobody may be at work.
  void DropOutputs();

  // Whether to time every firing: while the node's cost is unknown, or it may be heavy.
  static bool NeedsTiming(const PlanNode& p) {
    const uint32_t known = p.cost.load(std::memory_order_relaxed);
    return known == 0 || known >= kCheapNanos;
  }

 private:
  // What is cheap for certain stays so; it need not be written down again.
  static constexpr uint32_t kCheapNanos = ReadyQueues::kHeavyNanos / 4;

  void Measured(const PlanNode& p, int64_t nanos);
  void FlushBefore(const PlanNode& p, const Tensor* inputs);
  void Fail(Ready ready, const PlanNode& p, const absl::Status& status);
  void Finish(Ready ready, const PlanNode& p, Tensor* outputs);
  bool TryRun(Ready ready, const PlanNode& p, Tag tag);
  void CompleteAsync(std::unique_ptr<AsyncCall> call);

  RunControl& run_;
  FrameControl& frames_;
  std::mt19937_64* const explore_;
  bool has_sent_ = false;        // something, which may wait in the outbox
  std::vector<Tensor> outputs_;  // of the node that fires
};

[[gnu::always_inline]] inline bool KernelRunner::RunPlain(Ready ready, const PlanNode& p,
                                                          Tensor* inputs) {
  if (has_sent_) [[unlikely]]
    FlushBefore(p, inputs);
  Tensor& output = outputs_[0];
  KernelContext context(*p.node, run_.env(), Tag(), absl::MakeSpan(inputs, p.num_inputs),
                        absl::MakeSpan(&output, 1));
  const absl::Status status = p.run(context, p.attrs);
  if (!status.ok() || !output.has_value()) [[unlikely]] {
    Fail(ready, p, status);
    return false;
  }
  for (uint32_t i = 0; i < p.num_inputs; ++i) {
    if (!inputs[i].is_inline()) DropValue(inputs[i]);
  }
  return true;
}

}  // namespace gyre::dataflow
