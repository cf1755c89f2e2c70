#include "devices/host_stream.h"

#include <cstring>
#include <deque>
#include <limits>
#include <utility>

namespace gyre {

void HostEvent::Happen(absl::Status status) {
  std::unique_lock lock(mutex_);
  status_ = std::move(status);
  has_happened_.store(true, std::memory_order_release);
  // Callbacks that come meanwhile wait for their turn.
  while (!callbacks_.empty()) {
    std::vector<Callback> callbacks = std::exchange(callbacks_, {});
    lock.unlock();
    for (Callback& callback : callbacks) std::exchange(callback, nullptr)(status_);
    lock.lock();
  }
  have_called_ = true;
  called_.notify_all();
}

absl::Status HostEvent::Wait() {
  std::unique_lock lock(mutex_);
  called_.wait(lock, [this] { return have_called_; });
  return status_;
}

void HostEvent::Then(Callback callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!have_called_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback(status_);
}

EventPtr HappenedEvent(absl::Status status) {
  auto event = std::make_shared<HostEvent>();
  event->Happen(std::move(status));
  return event;
}

// The queue. While it has anything in it, it is one thread's or one event's to go on with it.
struct HostStream::State : std::enable_shared_from_this<HostStream::State> {
  // Either work or an event to wait for.
  struct Item {
    std::function<absl::Status()> work;
    EventPtr wait;
    std::shared_ptr<HostEvent> done;
  };

  explicit State(ThreadPool& p) : pool(p) {}

  void Put(Item item) {
    const std::lock_guard lock(mutex);
    items.push_back(std::move(item));
    if (!std::exchange(is_taken, true)) GoOn();
  }

  bool IsIdle() {
    const std::lock_guard lock(mutex);
    return !is_taken;
  }

  // A task of its own, however many tasks there are: others may wait for what is in the queue.
  void GoOn() {
    pool.Submit([self = shared_from_this()] { self->Work(); }, std::numeric_limits<int>::max());
  }

  void Work() {
    while (true) {
      Item item;
      {
        const std::lock_guard lock(mutex);
        if (items.empty()) {
          is_taken = false;
          idle.notify_all();
          return;
        }
        item = std::move(items.front());
        items.pop_front();
      }
      if (item.wait != nullptr) {
        if (item.wait->HasHappened()) continue;
        item.wait->Then([self = shared_from_this()](const absl::Status&) { self->GoOn(); });
        return;
      }
      absl::Status status = item.work ? item.work() : absl::OkStatus();
      item.work = nullptr;  // and what it held
      item.done->Happen(std::move(status));
    }
  }

  ThreadPool& pool;
  std::mutex mutex;  // guards what follows
  std::condition_variable idle;
  std::deque<Item> items;
  bool is_taken = false;
};

HostStream::HostStream(ThreadPool& pool) : state_(std::make_shared<State>(pool)) {}

HostStream::~HostStream() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this] { return !state_->is_taken; });
}

EventPtr HostStream::Submit(std::function<absl::Status()> work) {
  auto done = std::make_shared<HostEvent>();
  state_->Put({std::move(work), nullptr, done});
  return done;
}

EventPtr HostStream::Record() { return state_->IsIdle() ? HappenedEvent() : Submit(nullptr); }

void HostStream::WaitFor(EventPtr event) {
  if (!event->HasHappened()) state_->Put({nullptr, std::move(event), nullptr});
}

EventPtr CopyOnHost(Stream& stream, const void* from, void* to, size_t bytes) {
  return static_cast<HostStream&>(stream).Submit([=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return absl::OkStatus();
  });
}

}  // namespace gyre
