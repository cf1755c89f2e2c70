// Worker: one thread's part in a run. Takes nodes that are ready and fires them, until there is
// nothing to do or the run has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>

#include "exec/dataflow/frame_control.h"
#include "exec/dataflow/kernel_runner.h"
#include "exec/dataflow/run.h"

namespace gyre::dataflow {

class Worker {
 public:
  Worker(Run& run, int index)
      : Worker(run, index,
               run.settings().testing.schedule_seed != 0 ? std::make_unique<std::mt19937_64>()
                                                         : nullptr) {}

  // The run's own thread: works until the run has ended.
  void WorkToTheEnd();
  // A thread that joined: works as long as there is something to take. `asked_nanos`: when the help
  // was asked for as which it has joined.
  void Help(int64_t asked_nanos);

  // ---- For the run, from the thread that works here, or while nobody does

  // Whether other threads may be at work: see TokenRouter.
  void SetShared(bool shared) { frames_.router().SetShared(shared); }
  // The open call made here that lies deepest in calls; null when there is none.
  Activation* InnermostCall() { return frames_.pools().InnermostOpen(); }
  // Ends a call whose nodes wait for what never comes, with the results that it has.
  void EndCall(Activation* activation) { frames_.EndActivation(activation); }
  // Bytes of what this worker has made; FreeMemory frees it (StatePools::FreeAll).
  size_t memory() { return frames_.pools().bytes(); }
  void FreeMemory(ThreadPool* later);
  // What other workers may take from.
  ReadyQueues& queues() { return frames_.router().queues(); }

 private:
  Worker(Run& run, int index, std::unique_ptr<std::mt19937_64> explore);

  // What runs out of memory fails the run.
  template <typename Work>
  void FailIfOutOfMemory(const Work& work);
  // For the run that begins, or that is joined.
  void Begin(bool shared);
  void Drain();
  void FireStack();
  bool TakeQueued(Ready* ready);
  void HouseKeeping(Ready where);
  void Fire(Ready ready);
  void FireDead(Ready ready, const PlanNode& p);
  void FireArg(Ready ready, const PlanNode& p);

  // First, as what they own is in them: what every node goes through has the worker's own address.
  FrameControl frames_;
  KernelRunner kernels_;
  Run& run_;
  const int index_;
  const bool may_share_;  // other threads may join the run
  int until_timed_ = 1;   // looks at everything else before one times a node that has been cheap
  Pace pace_;
  const std::unique_ptr<std::mt19937_64> explore_;  // draws what runs next; null: nobody explores
};

}  // namespace gyre::dataflow
