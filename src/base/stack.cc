#include "base/stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gyre {
namespace {

// The address below which a thread's stack is nearly full; 0: not known.
uintptr_t StackLimit() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  size_t size = 0;
  const bool is_known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  constexpr size_t kLeast = 48 << 10, kMost = 1 << 20;
  const size_t rest = std::min({std::max(size / 4, kLeast), size / 2, kMost});
  return is_known ? reinterpret_cast<uintptr_t>(lowest) + rest : 0;
}

}  // namespace

bool StackIsNearlyFull() {
  thread_local const uintptr_t limit = StackLimit();
  const char here = 0;
  return reinterpret_cast<uintptr_t>(&here) < limit;
}

absl::Status StackError() {
  return absl::ResourceExhaustedError(
      "functions, branches and loops are nested deeper than the thread's stack has room for: "
      "nest them less deeply, or use a thread with a larger stack");
}

}  // namespace gyre
