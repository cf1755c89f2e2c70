#include "compiled/use.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

namespace gyre::compiled {
namespace {

// Lives for ever: threads may use it while static objects go.
struct Uses {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;           // guarded by mutex
  int loads = 0;           // guarded by mutex
  bool has_ended = false;  // guarded by mutex
};
Uses& AllUses() {
  static Uses* const uses = new Uses;
  return *uses;
}
thread_local int uses_here = 0;  // of this thread

// A handler of exit() runs before those that the library has registered only if it comes behind
// them, which is too late for a process that ends while the library is loaded. What a thread has
// for itself goes before all handlers: so threads look after it that way. Only the main one knows
// that it is the process that ends.
struct EndOfThread {
  ~EndOfThread() {
    if (syscall(SYS_gettid) == getpid()) {
      StopCompiling();
      return;
    }
    Uses& uses = AllUses();
    std::unique_lock lock(uses.mutex);
    uses.changed.wait(lock, [&] { return uses.loads == 0; });
  }
};

const bool at_start = (StopCompilingAtExit(), true);

}  // namespace

UseOfCompiler::UseOfCompiler() {
  Uses& uses = AllUses();
  const std::lock_guard lock(uses.mutex);
  allowed_ = !uses.has_ended;
  if (!allowed_) return;
  ++uses.count;
  ++uses_here;
}

UseOfCompiler::~UseOfCompiler() {
  if (!allowed_) return;
  Uses& uses = AllUses();
  const std::lock_guard lock(uses.mutex);
  --uses.count;
  --uses_here;
  uses.changed.notify_all();
}

LoadOfCompiler::LoadOfCompiler() {
  Uses& uses = AllUses();
  const std::lock_guard lock(uses.mutex);
  ++uses.loads;
}

LoadOfCompiler::~LoadOfCompiler() {
  Uses& uses = AllUses();
  const std::lock_guard lock(uses.mutex);
  --uses.loads;
  uses.changed.notify_all();
}

void StopCompilingAtExit() {
  static thread_local const EndOfThread end;
  (void)end;
}

}  // namespace gyre::compiled

void gyre::StopCompiling() {
  compiled::Uses& uses = compiled::AllUses();
  std::unique_lock lock(uses.mutex);
  uses.has_ended = true;
  // Not for a use that this thread is in the middle of: something within it ends the process.
  uses.changed.wait(lock, [&] { return uses.count == compiled::uses_here; });
}
