#include "ops/state/fifo_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/out_of_memory.h"
#include "base/status.h"

namespace gyre {
namespace {

// What errors say there is no memory for.
constexpr absl::string_view kElements = "the elements of a queue";
constexpr absl::string_view kWaiting = "an error of a queue";

}  // namespace

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

void FifoQueue::Add(Token token) noexcept {
  Waiters ended;
  {
    const std::lock_guard lock(mutex_);
    batches_.splice(batches_.end(), token.batch_);
    ++size_;
    Settle(ended);
  }
  Call(std::move(ended));
}

// The cancellation learns of the waiter before the queue does: once it is in the queue another
// thread may complete it, and the run (with its Cancellation) may be gone.
void FifoQueue::Wait(WaiterPtr waiter) {
  Waiters waiting = {waiter};
  int64_t callback_id = 0;
  if (waiter->cancellation != nullptr) {
    callback_id = waiter->cancellation->AddCallback(
        [self = RefPtr<FifoQueue>::Share(this), waiter] { self->Cancel(waiter); });
  }
  Waiters ended;
  {
    const std::lock_guard lock(mutex_);
    if (waiter->state == Waiter::State::kDone) return;  // cancelled before it came to wait
    waiter->state = Waiter::State::kWaiting;
    waiter->callback_id = callback_id;
    if (waiter->adds() && closed_) {
      End(waiting, ClosedError(), ended);
    } else {
      Waiters& others = waiter->adds() ? adders_ : takers_;
      others.splice(others.end(), waiting);
      Settle(ended);
    }
  }
  Call(std::move(ended));
}

void FifoQueue::Cancel(const WaiterPtr& waiter) noexcept {
  Waiters ended;
  {
    const std::lock_guard lock(mutex_);
    if (waiter->state == Waiter::State::kDone) return;
    waiter->callback_id = 0;  // this is that callback
    const absl::Status why = CatchOutOfMemory(kWaiting, [&] {
      const absl::string_view what =
          waiter->adds() ? "while waiting to add to " : "while waiting for ";
      return Annotate(waiter->cancellation->status(), absl::StrCat(what, name()));
    });
    if (waiter->state == Waiter::State::kNew) {  // in no list yet
      waiter->state = Waiter::State::kDone;
      waiter->outcome = why;
    } else {
      Waiters& others = waiter->adds() ? adders_ : takers_;
      others.splice(others.begin(), others, std::find(others.begin(), others.end(), waiter));
      End(others, why, ended);
      Settle(ended);
    }
  }
  if (ended.empty()) return Tell(*waiter);
  Call(std::move(ended));
}

void FifoQueue::End(Waiters& waiters, absl::StatusOr<QueueElement> outcome,
                    Waiters& ended) noexcept {
  waiters.front()->state = Waiter::State::kDone;
  waiters.front()->outcome = std::move(outcome);
  ended.splice(ended.end(), waiters, waiters.begin());
}

void FifoQueue::Call(Waiters ended) noexcept {
  for (const WaiterPtr& waiter : ended) Tell(*waiter);
}

void FifoQueue::Tell(Waiter& waiter) noexcept {
  if (waiter.callback_id != 0) waiter.cancellation->RemoveCallback(waiter.callback_id);
  // What they hold goes now, not with the last who knows of the waiter.
  const EnqueueDone done_enqueue = std::move(waiter.done_enqueue);
  const DequeueDone done_dequeue = std::move(waiter.done_dequeue);
  if (done_enqueue != nullptr) {
    done_enqueue(waiter.outcome.status());
  } else {
    done_dequeue(std::move(waiter.outcome));
  }
}

void FifoQueue::Settle(Waiters& ended) noexcept {
  for (bool progress = true; progress;) {
    progress = false;
    while (!adders_.empty()) {
      QueueBatch& batch = adders_.front()->batch;
      if (const int64_t n = std::min(batch.size(), capacity_ - size_); n > 0) {
        const absl::Status added = CatchOutOfMemory(kElements, [&] {
          std::list<QueueBatch> front(1);
          front.back() = batch.TakeFront(n);
          batches_.splice(batches_.end(), front);
          return absl::OkStatus();
        });
        progress = true;
        if (!added.ok()) {
          End(adders_, added, ended);
          continue;
        }
        size_ += n;
      }
      if (batch.size() > 0) break;
      End(adders_, QueueElement(), ended);
    }
    for (; !takers_.empty() && size_ > 0; progress = true) {
      absl::StatusOr<QueueElement> element = CatchOutOfMemory(
          kElements,
          [&]() -> absl::StatusOr<QueueElement> { return batches_.front().TakeFirst(); });
      const bool is_taken = element.ok();
      End(takers_, std::move(element), ended);
      if (!is_taken) continue;
      if (batches_.front().size() == 0) batches_.pop_front();
      --size_;
    }
  }
  if (!closed_ || !adders_.empty()) return;
  while (!takers_.empty()) {
    const absl::Status why = CatchOutOfMemory(kWaiting, [&] {
      return absl::OutOfRangeError(
          absl::StrCat("FIFOQueue '", name(),
                       "' is closed and has insufficient elements (requested 1, current size 0)"));
    });
    End(takers_, why, ended);
  }
}

absl::Status FifoQueue::ClosedError() const noexcept {
  return CatchOutOfMemory(kWaiting, [&] {
    return absl::CancelledError(absl::StrCat("FIFOQueue '", name(), "' is closed."));
  });
}

void FifoQueue::Shut(bool cancel_pending, Waiters& ended) noexcept {
  closed_ = true;
  while (cancel_pending && !adders_.empty()) End(adders_, ClosedError(), ended);
  Settle(ended);
}

absl::Status FifoQueue::Close(bool cancel_pending) {
  Waiters ended;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ && !cancel_pending)
      return absl::CancelledError(absl::StrCat("Queue '", name(), "' is already closed."));
    Shut(cancel_pending, ended);
  }
  Call(std::move(ended));
  return absl::OkStatus();
}

int64_t FifoQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

bool FifoQueue::Destroy() {
  bool had_content = false;
  std::list<QueueBatch> dropped;  // after the lock
  Waiters ended;
  {
    const std::lock_guard lock(mutex_);
    had_content = !closed_ || size_ > 0 || !adders_.empty();
    Shut(/*cancel_pending=*/true, ended);
    batches_.swap(dropped);
    size_ = 0;
  }
  Call(std::move(ended));
  return had_content;
}

}  // namespace gyre
