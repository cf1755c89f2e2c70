// HostStream: a stream whose work is the host's. HostEvent: an event that the host lets happen,
// also that of a device which tells a thread of the host when work is done.
//
// The work runs on the threads of a pool, one piece at a time. No thread waits for an event: a
// stream that has to is taken up again by the event.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread_pool.h"
#include "devices/device.h"

namespace gyre {

class HostEvent final : public Event {
 public:
  // Ends all waits. Once at most.
  void Happen(absl::Status status);

  bool HasHappened() const override { return has_happened_.load(std::memory_order_acquire); }
  absl::Status Wait() override;
  void Then(Callback callback) override;

 private:
  std::atomic<bool> has_happened_{
      false};            // set with mutex_ held; release: who sees it sees status_
  std::mutex mutex_;     // guards what follows
  absl::Status status_;  // stays as it is once it has happened
  std::vector<Callback> callbacks_;
  bool have_called_ = false;  // it has happened, and callbacks_ is empty for good
  std::condition_variable called_;
};

// An event that has happened.
EventPtr HappenedEvent(absl::Status status = absl::OkStatus());

// A copy in a HostStream, from and to addresses of the host.
EventPtr CopyOnHost(Stream& stream, const void* from, void* to, size_t bytes);

class HostStream final : public Stream {
 public:
  explicit HostStream(ThreadPool& pool = ThreadPool::Shared());
  ~HostStream() override;

  // Runs `work`, which must not block, after what is in the stream; the event has its status.
  EventPtr Submit(std::function<absl::Status()> work);
  EventPtr Record() override;
  void WaitFor(EventPtr event) override;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with the pool's task
};

}  // namespace gyre
