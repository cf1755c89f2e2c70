// PoolParallelFor: kernels' parallel loops on the pool that also runs nodes.
#pragma once

#include "base/internal_export.h"
#include "base/thread_pool.h"
#include "ops/kernel.h"

namespace gyre {

// Thread-safe. The calling thread does its share, and sleeps only once every piece is taken. Pieces
// are as large as `grain` says, whatever the number of threads.
class GYRE_INTERNAL_EXPORT PoolParallelFor final : public ParallelFor {
 public:
  // `threads`: how many work on one loop at most, the caller's among them. The pool must outlive
  // it.
  PoolParallelFor(ThreadPool& pool, int threads) : pool_(pool), threads_(threads) {}

  void Run(int64_t n, int64_t grain,
           const std::function<void(int64_t begin, int64_t end)>& body) override;

 private:
  ThreadPool& pool_;
  const int threads_;
};

}  // namespace gyre
