// Attention: whoever is asked does it on its own thread, also while it waits.
#include "base/attention.h"

#include <gtest/gtest.h>

#include <thread>

namespace gyre {
namespace {

thread_local int handled = 0;

void Handle() {
  Attention::Withdraw();
  ++handled;
}

TEST(Attention, IsPaidOnTheThreadsThatHandleIt) {
  Attention::HandleHere(&Handle);
  Attention::Attend();
  EXPECT_EQ(handled, 0);
  Attention::Ask();
  std::thread([] {
    Attention::Attend();
    EXPECT_EQ(handled, 0);
    EXPECT_EQ(Attention::Patience(), Attention::kUnlimited);
  }).join();
  Attention::Attend();
  EXPECT_EQ(handled, 1);
  Attention::Attend();
  EXPECT_EQ(handled, 1);
  Attention::HandleHere(nullptr);
  Attention::Ask();
  Attention::Attend();
  EXPECT_EQ(handled, 1);
  Attention::Withdraw();
}

TEST(Attention, IsPaidWhileAThreadWaits) {
  Attention::HandleHere(&Handle);
  std::mutex mutex;
  std::condition_variable changed;
  const int before = handled;
  Attention::Ask();
  std::unique_lock lock(mutex);
  Attention::Wait(lock, changed, [&] { return handled > before; });  // nobody notifies
  EXPECT_EQ(handled, before + 1);
  Attention::HandleHere(nullptr);
}

}  // namespace
}  // namespace gyre
