// How Eigen is set up, and how what takes it long is given up. To be included before any header of
// Eigen: all files must see the same Eigen.
//
// Eigen asserts before each step that a decomposition takes, each block of a product among them.
// What it would say there is checked before it is called; instead it is asked there whether the run
// is to stop.
#pragma once

#include <cstdint>

#include "ops/kernel.h"

namespace gyre {

// While it lives, what Eigen does on this thread looks whether the run is to stop, every few
// milliseconds, and throws GivenUp if it is. One at a time on a thread.
class EigenWatch {
 public:
  class GivenUp {};

  explicit EigenWatch(const KernelContext& ctx);
  ~EigenWatch();
  EigenWatch(const EigenWatch&) = delete;
  EigenWatch& operator=(const EigenWatch&) = delete;

  // A step, wherever it is taken; also for loops that are not Eigen's.
  static void Step() {
    if (--steps_until_look_ <= 0) [[unlikely]]
      Look();
  }

 private:
  static void Look();

  // Not of the model "initial-exec", which would be quicker to read: with it the whole block of the
  // library's thread-local variables must fit into what the loader keeps free for libraries that a
  // running process loads, and `import gyre` fails.
  static constinit thread_local int32_t steps_until_look_;
};

}  // namespace gyre

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#define eigen_assert(condition) ::gyre::EigenWatch::Step()
