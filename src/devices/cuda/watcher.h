// Watcher: a thread that lets events of the host happen when a GPU's do.
//
// It asks the driver instead of being called by it: functions that the driver calls hold up the
// stream they are in, and are never called once the GPU has failed. It looks out without a pause
// for as long as work takes that somebody may be waiting for, and less and less often then.
//
//   stream ── record ──► line of events ──► the first is asked for ──► HostEvent::Happen
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "devices/cuda/driver.h"
#include "devices/host_stream.h"

namespace gyre::cuda {

class Gpu;

// `finished` is at least `count` from then on.
inline void NoteFinished(std::atomic<uint64_t>& finished, uint64_t count) {
  uint64_t old = finished.load(std::memory_order_relaxed);
  while (old < count && !finished.compare_exchange_weak(old, count, std::memory_order_release)) {
  }
}

// A moment in a GPU's stream. Before it has been recorded there, the host's side of it is all there
// is. Thread-safe.
class CudaEvent final : public Event {
 public:
  explicit CudaEvent(Gpu& gpu) : gpu_(gpu) {}
  ~CudaEvent() override;

  bool HasHappened() const override { return host_.HasHappened(); }
  absl::Status Wait() override { return host_.Wait(); }
  void Then(Callback callback) override { host_.Then(std::move(callback)); }

  // Null before it has been recorded.
  EventHandle handle() const { return handle_.load(std::memory_order_acquire); }
  // Once, with one of TakeEvent's.
  void Recorded(EventHandle handle) { handle_.store(handle, std::memory_order_release); }
  // Gives `block`, of the GPU's pinned memory, back once it has happened. Before it is watched.
  void Keep(void* block, size_t bytes) {
    block_ = block;
    block_bytes_ = bytes;
  }
  // Notes `count` in `finished` when it has happened, with OK. Before it is watched.
  void Counts(std::shared_ptr<std::atomic<uint64_t>> finished, uint64_t count) {
    finished_ = std::move(finished);
    count_ = count;
  }
  // Once: by the watcher, or by who could not record it.
  void Happen(absl::Status status);

 private:
  friend class Watcher;

  Gpu& gpu_;
  HostEvent host_;
  std::atomic<EventHandle> handle_{nullptr};
  void* block_ = nullptr;
  size_t block_bytes_ = 0;
  std::shared_ptr<std::atomic<uint64_t>> finished_;  // null: nothing to be noted
  uint64_t count_ = 0;
  std::shared_ptr<CudaEvent> next_;  // in its line; the watcher's
};

// Thread-safe; lives for ever. Throws std::system_error where the machine has no thread left.
class Watcher {
 public:
  // A stream's events, which happen one after the other.
  class Line {
   private:
    friend class Watcher;
    std::shared_ptr<CudaEvent> first_, last_;  // guarded by the watcher's mutex
    std::atomic<int> length_{0};
  };

  explicit Watcher(Gpu& gpu);

  // `event` has been recorded behind what is in `line`. Needs no memory.
  void Watch(const std::shared_ptr<Line>& line, std::shared_ptr<CudaEvent> event);
  // Whether all in it have happened.
  static bool IsEmpty(const Line& line) {
    return line.length_.load(std::memory_order_acquire) == 0;
  }
  void WaitUntilEmpty(const Line& line);

  // A line of this watcher's. It is asked for as long as anything is in it.
  std::shared_ptr<Line> MakeLine();

 private:
  void Work();
  bool LookAt(const std::shared_ptr<Line>& line, std::unique_lock<std::mutex>& lock);

  Gpu& gpu_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable added_, emptied_;
  std::vector<std::shared_ptr<Line>> lines_;  // of all streams
  int waiting_ = 0;                           // events in them
  bool is_new_ = false;                       // one has come since Work last looked
  bool is_asleep_ = false;                    // Work must be woken
};

}  // namespace gyre::cuda
