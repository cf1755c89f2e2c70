#include "base/attention.h"

namespace gyre {
namespace {
constexpr int64_t kPatienceNanos = 10'000'000;
thread_local void (*handle_here)() = nullptr;
}  // namespace

std::atomic<bool> Attention::asked_{false};

void Attention::HandleHere(void (*handle)()) { handle_here = handle; }

int64_t Attention::Patience() { return handle_here == nullptr ? kUnlimited : kPatienceNanos; }

void Attention::HandleNow() {
  if (handle_here != nullptr) handle_here();
}

}  // namespace gyre
