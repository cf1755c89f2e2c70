#include "fake_cuda/streams.h"

#include <chrono>
#include <utility>

namespace fake_cuda {

Shared& TheShared() {
  static auto* const shared = new Shared;
  return *shared;
}

void WaitWhileStalled() {
  std::unique_lock lock(TheShared().mutex);
  TheShared().changed.wait(lock, [] { return !TheShared().stalls; });
}

FakeStream::FakeStream(uint32_t seed) : seed_(seed), thread_([this] { Work(); }) {}

FakeStream::~FakeStream() {
  Synchronize();
  {
    const std::lock_guard lock(TheShared().mutex);
    ends_ = true;
  }
  added_.notify_one();
  thread_.join();
}

void FakeStream::Put(std::function<void()> work) {
  const std::lock_guard lock(TheShared().mutex);
  queue_.push_back(std::move(work));
  added_.notify_one();
}

void FakeStream::Record(FakeEvent& event) {
  const std::lock_guard lock(TheShared().mutex);
  queue_.push_back([state = event.state, moment = ++event.state->recorded] {
    const std::lock_guard inner(TheShared().mutex);
    state->completed = std::max(state->completed, moment);
    TheShared().changed.notify_all();
  });
  added_.notify_one();
}

void FakeStream::WaitFor(const FakeEvent& event) {
  const std::lock_guard lock(TheShared().mutex);
  queue_.push_back([state = event.state, moment = event.state->recorded] {
    std::unique_lock inner(TheShared().mutex);
    TheShared().changed.wait(inner, [&] { return state->completed >= moment; });
  });
  added_.notify_one();
}

void FakeStream::Synchronize() {
  std::unique_lock lock(TheShared().mutex);
  TheShared().changed.wait(lock, [this] { return queue_.empty() && !is_busy_; });
}

void FakeStream::Work() {
  Shared& shared = TheShared();
  std::unique_lock lock(shared.mutex);
  for (;;) {
    added_.wait(lock, [&] { return !queue_.empty() || ends_; });
    if (ends_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    seed_ = seed_ * 1664525 + 1013904223;
    lock.unlock();
    // Now and then later than others.
    if (seed_ >> 29 == 0) std::this_thread::sleep_for(std::chrono::microseconds(seed_ >> 24));
    work();
    work = nullptr;
    lock.lock();
    is_busy_ = false;
    if (queue_.empty()) shared.changed.notify_all();
  }
}

}  // namespace fake_cuda
