#include "devices/cuda/watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/env.h"
#include "base/signals.h"
#include "base/thread_pool.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/pinned_memory.h"

namespace gyre::cuda {
namespace {

// How long it looks out without a pause: small copies take some ten microseconds.
constexpr int64_t kSpinNanos = 50'000;
// The pauses after that: from the first to the longest, which is how much later than need be the
// end of long work is seen.
constexpr int64_t kFirstPause = 20'000, kLongestPause = 200'000;

}  // namespace

CudaEvent::~CudaEvent() {
  if (const EventHandle handle = this->handle(); handle != nullptr) gpu_.GiveBack(handle);
}

void CudaEvent::Happen(absl::Status status) {
  if (block_ != nullptr) gpu_.pinned().GiveBack(std::exchange(block_, nullptr), block_bytes_);
  if (finished_ != nullptr && status.ok()) NoteFinished(*finished_, count_);
  host_.Happen(std::move(status));
}

Watcher::Watcher(Gpu& gpu) : gpu_(gpu) {
  StartThread([this] { Work(); }).detach();
}

std::shared_ptr<Watcher::Line> Watcher::MakeLine() {
  auto line = std::make_shared<Line>();
  const std::lock_guard lock(mutex_);
  // Of streams that are no more, nobody but this list has the lines.
  std::erase_if(lines_, [](const std::shared_ptr<Line>& old) {
    return old.use_count() == 1 && IsEmpty(*old);
  });
  lines_.push_back(line);
  return line;
}

void Watcher::Watch(const std::shared_ptr<Line>& line, std::shared_ptr<CudaEvent> event) {
  const std::lock_guard lock(mutex_);
  CudaEvent* const last = line->last_.get();
  (last == nullptr ? line->first_ : last->next_) = event;
  line->last_ = std::move(event);
  line->length_.fetch_add(1, std::memory_order_relaxed);
  ++waiting_;
  is_new_ = true;
  if (is_asleep_) added_.notify_one();
}

void Watcher::WaitUntilEmpty(const Line& line) {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return IsEmpty(line); });
}

void Watcher::Work() {
  const Clock& clock = SystemClock();
  int64_t seen = 0;  // when an event last came or happened
  int64_t pause = 0;
  const Gpu::Current current(gpu_);
  std::unique_lock lock(mutex_);
  for (;;) {
    is_asleep_ = true;
    added_.wait(lock, [this] { return waiting_ > 0; });
    is_asleep_ = false;
    bool is_new = std::exchange(is_new_, false);
    // Streams come and go while the lock is open.
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i]->first_ != nullptr) {
        const std::shared_ptr<Line> line = lines_[i];
        is_new |= LookAt(line, lock);
      }
    }
    if (is_new) {
      seen = clock.NowNanos();
      pause = kFirstPause;
    } else if (clock.NowNanos() - seen < kSpinNanos) {
      lock.unlock();
      for (int i = 0; i < 16; ++i) Relax();
      lock.lock();
    } else {
      is_asleep_ = true;
      added_.wait_for(lock, std::chrono::nanoseconds(pause), [this] { return is_new_; });
      is_asleep_ = false;
      pause = std::min(2 * pause, kLongestPause);
    }
  }
}

bool Watcher::LookAt(const std::shared_ptr<Line>& line, std::unique_lock<std::mutex>& lock) {
  bool has_happened = false;
  while (line->first_ != nullptr) {
    CudaEvent& event = *line->first_;  // stays until this thread takes it out
    lock.unlock();
    const Result result = gpu_.driver().EventQuery(event.handle());
    if (result == Result::kNotReady) {
      lock.lock();
      return has_happened;
    }
    event.Happen(gpu_.Check("cuEventQuery", result));
    has_happened = true;
    lock.lock();
    std::shared_ptr<CudaEvent> done = std::exchange(line->first_, nullptr);
    line->first_ = std::move(done->next_);
    if (line->first_ == nullptr) line->last_ = nullptr;
    --waiting_;
    if (line->length_.fetch_sub(1, std::memory_order_release) == 1) emptied_.notify_all();
    // What it held goes without the lock.
    lock.unlock();
    done.reset();
    lock.lock();
  }
  return has_happened;
}

}  // namespace gyre::cuda
