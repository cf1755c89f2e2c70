// FifoQueue: a bounded first-in-first-out queue of tuples of tensors, whose users wait without
// blocking a thread.
//
// Owned by whoever refers to it: the session's ResourceStore, handles, and the cancellations of
// runs that wait in it. Thread-safe. Callbacks run on the thread that completes the wait (another
// user's, or a canceller's), exactly once, and never under the lock; they must not throw.
//
// Who begins to wait needs memory, and may throw std::bad_alloc: then nothing has happened, and its
// callback is dropped. Ending a wait needs none. Where handing elements over does, and there is
// none, their adder or taker is told RESOURCE_EXHAUSTED.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gyre/core/options.h"
#include "ops/memory.h"
#include "ops/state/resource.h"

namespace gyre {

// A tuple of tensors.
using QueueElement = std::vector<Tensor>;

// Elements that came together: rows [begin, end) of the components, or (is_element) the components
// themselves as one element. Rows are cut out when they are taken, so adding many costs as little
// as adding one.
struct QueueBatch {
  QueueElement components;
  int64_t begin = 0;
  int64_t end = 1;
  bool is_element = true;
  std::shared_ptr<MemoryCharge> charge;  // for the structure, not the tensors; may be null

  int64_t size() const { return end - begin; }
  // The first element, which is then gone. Requirement, not checked: size() > 0.
  QueueElement TakeFirst();
  // The first n elements, which are then gone. Requirement, not checked: 0 < n <= size().
  QueueBatch TakeFront(int64_t n);
};

class FifoQueue final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "FIFOQueue";
  using EnqueueDone = std::function<void(absl::Status)>;
  using DequeueDone = std::function<void(absl::StatusOr<QueueElement>)>;

  // `types`: of an element's components. `shapes`: of them, or empty. `capacity` < 0: unbounded.
  FifoQueue(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes,
            int64_t capacity);
  ~FifoQueue() override;

  absl::string_view type_name() const override { return kTypeName; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  // The greatest int64 when unbounded.
  int64_t capacity() const { return capacity_; }

  // Adds the elements in order, waiting for room; `done` is called once all are in: at once when
  // there are none. CANCELLED when the queue is closed, or the cancellation's status. Some elements
  // may be in after an error.
  void Enqueue(QueueBatch batch, Cancellation* cancellation, EnqueueDone done);
  // An element without components, with the memory that it needs to be added.
  class Token;
  // Adds it. Requirement: there is room.
  void Add(Token token) noexcept;
  // Takes the oldest element, waiting for one. OUT_OF_RANGE when the queue is closed and empty, or
  // the cancellation's status.
  void Dequeue(Cancellation* cancellation, DequeueDone done);
  // No element can be added from now on; those that are in, or whose adder waits, can be taken.
  // `cancel_pending`: adders that wait fail, also those of a queue that was closed before;
  // otherwise CANCELLED when it is closed already.
  absl::Status Close(bool cancel_pending);
  int64_t size() const;
  // Closes the queue and drops its elements.
  bool Destroy() override;

 private:
  // One user who waits, to add `batch` (done_enqueue set) or to take an element.
  struct Waiter {
    enum class State { kNew, kWaiting, kDone };
    State state = State::kNew;
    QueueBatch batch;
    EnqueueDone done_enqueue;
    DequeueDone done_dequeue;
    Cancellation* cancellation = nullptr;
    int64_t callback_id = 0;  // 0: there is nothing to remove from the cancellation
    absl::StatusOr<QueueElement> outcome = QueueElement();  // of an adder: without components
    bool adds() const { return done_enqueue != nullptr; }
  };
  using WaiterPtr = std::shared_ptr<Waiter>;
  using Waiters = std::list<WaiterPtr>;

  void Wait(WaiterPtr waiter);
  void Cancel(const WaiterPtr& waiter) noexcept;
  // Moves elements from adders to takers as far as they go. What has ended moves to `ended`.
  void Settle(Waiters& ended) noexcept;  // holds mutex_
  // The first of `waiters` learns `outcome`.
  static void End(Waiters& waiters, absl::StatusOr<QueueElement> outcome, Waiters& ended) noexcept;
  // Calls those that have ended. Requirement: mutex_ is free.
  static void Call(Waiters ended) noexcept;
  static void Tell(Waiter& waiter) noexcept;
  // Closes the queue, whether it was open or not.
  void Shut(bool cancel_pending, Waiters& ended) noexcept;  // holds mutex_
  absl::Status ClosedError() const noexcept;

  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const int64_t capacity_;
  mutable std::mutex mutex_;  // of all below
  bool closed_ = false;
  std::list<QueueBatch> batches_;  // none is empty
  int64_t size_ = 0;               // of all batches together
  Waiters adders_;
  Waiters takers_;
};

class FifoQueue::Token {
 public:
  Token() : batch_(1) {}

 private:
  friend class FifoQueue;
  std::list<QueueBatch> batch_;
};

}  // namespace gyre
