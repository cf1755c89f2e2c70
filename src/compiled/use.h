// UseOfCompiler: whoever uses the code generator, or gives back what it has made, has one.
//
// The code generator's library has static objects, which go when the process ends: in exit(), while
// other threads go on. So exit() waits for all uses, and there are none from then on.
#pragma once

#include "base/fork.h"
#include "base/internal_export.h"

namespace gyre {

// Waits for all uses of the code generator; there are none from then on. For who is about to end
// the process, whatever other threads do. Native code that there is already goes on.
GYRE_INTERNAL_EXPORT void StopCompiling();

namespace compiled {

class UseOfCompiler {
 public:
  UseOfCompiler();
  ~UseOfCompiler();
  UseOfCompiler(const UseOfCompiler&) = delete;
  UseOfCompiler& operator=(const UseOfCompiler&) = delete;

  // False: the process is about to end, and the code generator must not be touched.
  bool allowed() const { return allowed_; }

 private:
  const NoFork no_fork_;
  bool allowed_ = false;
};

// While one exists, the library is being loaded. Within a UseOfCompiler.
class LoadOfCompiler {
 public:
  LoadOfCompiler();
  ~LoadOfCompiler();
  LoadOfCompiler(const LoadOfCompiler&) = delete;
  LoadOfCompiler& operator=(const LoadOfCompiler&) = delete;
};

// If the thread that calls later ends the process, it waits, before anything else: the main thread
// as StopCompiling does, any other one for a load (behind which a handler of exit() waits). The
// thread that has Gyre linked or loaded has called it.
void StopCompilingAtExit();

}  // namespace compiled
}  // namespace gyre
