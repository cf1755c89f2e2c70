// Streams and events of the fake driver: a thread for each stream, which does one piece of work
// after the other, each a little later than it could.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "devices/cuda/driver.h"

namespace fake_cuda {

using gyre::cuda::Result;

// All streams wait for each other under one lock.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool stalls = false;
};
Shared& TheShared();
void WaitWhileStalled();

// Guarded by the shared lock.
struct EventState {
  uint64_t recorded = 0, completed = 0;
};

// What the driver has to give an EventHandle for.
struct FakeEvent {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

// Thread-safe.
class FakeStream {
 public:
  explicit FakeStream(uint32_t seed);
  ~FakeStream();  // waits for its work

  void Put(std::function<void()> work);
  void Record(FakeEvent& event);
  void WaitFor(const FakeEvent& event);
  void Synchronize();

 private:
  void Work();

  std::condition_variable added_;
  std::deque<std::function<void()>> queue_;  // guarded by the shared lock, as what follows
  bool is_busy_ = false, ends_ = false;
  uint32_t seed_;
  std::thread thread_;
};

}  // namespace fake_cuda
