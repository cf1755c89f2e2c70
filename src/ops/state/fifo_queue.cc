#include "ops/state/fifo_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status.h"

namespace gyre {

QueueElement QueueBatch::TakeFirst() {
  if (is_element) {
    begin = end;
    return std::move(components);
  }
  QueueElement element;
  for (const Tensor& component : components) {
    const absl::Span<const int64_t> row = component.shape().dims().subspan(1);
    element.push_back(
        component.SliceRows(begin, 1).Reshaped(Shape::Trusted(Dims(row.begin(), row.end()))));
  }
  ++begin;
  return element;
}

QueueBatch QueueBatch::TakeFront(int64_t n) {
  if (n == size()) return std::exchange(*this, QueueBatch{{}, end, end, is_element, nullptr});
  QueueBatch front = *this;
  front.end = begin = begin + n;
  return front;
}

FifoQueue::FifoQueue(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes,
                     int64_t capacity)
    : Resource(std::move(name)),
      types_(std::move(types)),
      shapes_(std::move(shapes)),
      capacity_(capacity < 0 ? std::numeric_limits<int64_t>::max() : capacity) {}

FifoQueue::~FifoQueue() {
  for (QueueBatch& batch : batches_) DropIteratively(std::move(batch.components));
}

void FifoQueue::Enqueue(QueueBatch batch, Cancellation* cancellation, EnqueueDone done) {
  if (batch.size() == 0) return done(absl::OkStatus());
  auto waiter = std::make_shared<Waiter>();
  waiter->batch = std::move(batch);
  waiter->done_enqueue = std::move(done);
  waiter->cancellation = cancellation;
  Wait(std::move(waiter));
}

void FifoQueue::Dequeue(Cancellation* cancellation, DequeueDone done) {
  auto waiter = std::make_shared<Waiter>();
  waiter->done_dequeue = std::move(done);
  waiter->cancellation = cancellation;
  Wait(std::move(waiter));
}

// The cancellation learns of the waiter before the queue does: once it is in the queue another
// thread may complete it, and the run (with its Cancellation) may be gone.
void FifoQueue::Wait(WaiterPtr waiter) {
  int64_t callback_id = 0;
  if (waiter->cancellation != nullptr) {
    callback_id = waiter->cancellation->AddCallback(
        [self = RefPtr<FifoQueue>::Share(this), waiter] { self->Cancel(waiter); });
  }
  Completions completions;
  {
    std::lock_guard lock(mutex_);
    if (waiter->state == Waiter::State::kDone) return;  // cancelled before it came to wait
    waiter->state = Waiter::State::kWaiting;
    waiter->callback_id = callback_id;
    if (waiter->adds() && closed_) {
      Complete(waiter, ClosedError(), {}, completions);
    } else {
      (waiter->adds() ? adders_ : takers_).push_back(std::move(waiter));
      Settle(completions);
    }
  }
  for (const auto& complete : completions) complete();
}

void FifoQueue::Cancel(const WaiterPtr& waiter) {
  Completions completions;
  {
    std::lock_guard lock(mutex_);
    if (waiter->state == Waiter::State::kDone) return;
    (waiter->adds() ? adders_ : takers_).remove(waiter);
    waiter->callback_id = 0;  // this is that callback
    const absl::string_view what =
        waiter->adds() ? "while waiting to add to " : "while waiting for ";
    Complete(waiter, Annotate(waiter->cancellation->status(), absl::StrCat(what, name())), {},
             completions);
    Settle(completions);
  }
  for (const auto& complete : completions) complete();
}

void FifoQueue::Complete(const WaiterPtr& waiter, absl::Status status, QueueElement element,
                         Completions& completions) {
  waiter->state = Waiter::State::kDone;
  completions.push_back([waiter, callback_id = waiter->callback_id, status = std::move(status),
                         element = std::move(element)]() mutable {
    if (callback_id != 0) waiter->cancellation->RemoveCallback(callback_id);
    if (waiter->adds()) {
      waiter->done_enqueue(std::move(status));
    } else if (status.ok()) {
      waiter->done_dequeue(std::move(element));
    } else {
      waiter->done_dequeue(std::move(status));
    }
  });
}

void FifoQueue::Settle(Completions& completions) {
  for (bool progress = true; progress;) {
    progress = false;
    while (!adders_.empty()) {
      QueueBatch& batch = adders_.front()->batch;
      if (const int64_t n = std::min(batch.size(), capacity_ - size_); n > 0) {
        batches_.push_back(batch.TakeFront(n));
        size_ += n;
        progress = true;
      }
      if (batch.size() > 0) break;
      const WaiterPtr adder = std::move(adders_.front());
      adders_.pop_front();
      Complete(adder, absl::OkStatus(), {}, completions);
    }
    for (; !takers_.empty() && size_ > 0; progress = true) {
      const WaiterPtr taker = std::move(takers_.front());
      takers_.pop_front();
      Complete(taker, absl::OkStatus(), batches_.front().TakeFirst(), completions);
      if (batches_.front().size() == 0) batches_.pop_front();
      --size_;
    }
  }
  if (!closed_ || !adders_.empty()) return;
  for (; !takers_.empty(); takers_.pop_front()) {
    Complete(takers_.front(),
             absl::OutOfRangeError(
                 absl::StrCat("FIFOQueue '", name(),
                              "' is closed and has insufficient elements (requested 1, current "
                              "size 0)")),
             {}, completions);
  }
}

absl::Status FifoQueue::ClosedError() const {
  return absl::CancelledError(absl::StrCat("FIFOQueue '", name(), "' is closed."));
}

void FifoQueue::Shut(bool cancel_pending, Completions& completions) {
  closed_ = true;
  for (; cancel_pending && !adders_.empty(); adders_.pop_front()) {
    Complete(adders_.front(), ClosedError(), {}, completions);
  }
  Settle(completions);
}

absl::Status FifoQueue::Close(bool cancel_pending) {
  Completions completions;
  {
    std::lock_guard lock(mutex_);
    if (closed_ && !cancel_pending)
      return absl::CancelledError(absl::StrCat("Queue '", name(), "' is already closed."));
    Shut(cancel_pending, completions);
  }
  for (const auto& complete : completions) complete();
  return absl::OkStatus();
}

int64_t FifoQueue::size() const {
  std::lock_guard lock(mutex_);
  return size_;
}

bool FifoQueue::Destroy() {
  bool had_content = false;
  std::deque<QueueBatch> dropped;  // after the lock
  Completions completions;
  {
    std::lock_guard lock(mutex_);
    had_content = !closed_ || size_ > 0 || !adders_.empty();
    Shut(/*cancel_pending=*/true, completions);
    batches_.swap(dropped);
    size_ = 0;
  }
  for (const auto& complete : completions) complete();
  return had_content;
}

}  // namespace gyre
