// Waiting in a queue: what ends it, on which thread, and whose memory it takes.
#include <atomic>

#include "base/env.h"
#include "ops/queue_users.h"
#include "ops/state/fifo_queue.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Add;
using test::AddMany;
using test::Attrs;
using test::Close;
using test::MakeQueue;
using test::QueueAttrs;
using test::ResourceRun;
using test::Says;
using test::Size;
using test::Take;

TEST(QueueWait, EndsWithTheStatusOfTheCancellation) {
  for (const absl::Status& why :
       {absl::CancelledError("the user left"), absl::DeadlineExceededError("too late")}) {
    ResourceRun run;
    const Tensor empty = run.Run("FIFOQueueV2", {}, QueueAttrs("empty", 1));
    const Tensor full = run.Run("FIFOQueueV2", {}, QueueAttrs("full", 1));
    const Take take(run, empty);
    const AddMany add(run, full, {1, 2});
    run.cancellation().Cancel(why);
    EXPECT_TRUE(Says(take.status(), why.code(), "while waiting for empty"));
    EXPECT_TRUE(Says(add.status(), why.code(), "while waiting to add to full"));
    EXPECT_EQ(Take(run, empty).status().code(), why.code());  // comes when all is over

    ResourceRun next;  // the queues outlive the run
    EXPECT_EQ(Take(next, full).value(), 1);
    EXPECT_EQ(Size(next, full), 0);
  }
}

TEST(QueueWait, EndsAtTheDeadlineOfTheRun) {
  struct Turned : Clock {
    int64_t NowNanos() const override { return now; }
    int64_t now = 0;
  } clock;
  Cancellation cancellation(/*deadline_nanos=*/100, clock);
  ResourceRun run;
  run.env().cancellation = &cancellation;
  const Take take(run, MakeQueue(run, 1));
  clock.now = 99;
  EXPECT_TRUE(cancellation.Poll().ok());
  EXPECT_FALSE(take.done());
  clock.now = 100;
  EXPECT_FALSE(cancellation.Poll().ok());
  EXPECT_EQ(take.status().code(), StatusCode::kDeadlineExceeded);
}

TEST(QueueWait, OneRunsCancellationLeavesTheOthersInTheirOrder) {
  ResourceRun run, cancelled;
  const Tensor queue = MakeQueue(run, 1);
  const Take one(run, queue), gone(cancelled, queue), two(run, queue);
  cancelled.cancellation().Cancel(absl::CancelledError("stop"));
  const AddMany add(run, queue, {1, 2});
  EXPECT_EQ(one.value(), 1);
  EXPECT_EQ(gone.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(two.value(), 2);

  ResourceRun other;
  const AddMany first(other, queue, {3, 4, 5});
  const Add second(run, queue, 6);
  other.cancellation().Cancel(absl::CancelledError("stop"));
  EXPECT_EQ(Take(run, queue).value(), 3);
  EXPECT_EQ(Take(run, queue).value(), 6);
  EXPECT_TRUE(second.status().ok());
}

// PendingCall fails the test when `done` is called twice.
TEST(QueueWait, IsCompletedOnce) {
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 1);
  const Take take(run, queue);
  const Add add(run, queue, 1);
  const AddMany full(run, queue, {2, 3});
  run.cancellation().Cancel(absl::CancelledError("stop"));
  EXPECT_EQ(take.value(), 1);
  EXPECT_TRUE(add.status().ok());
  EXPECT_EQ(full.status().code(), StatusCode::kCancelled);
  ResourceRun next;
  EXPECT_TRUE(Close(next, queue, true).ok());
  EXPECT_EQ(take.value(), 1);
  EXPECT_EQ(full.status().code(), StatusCode::kCancelled);
}

TEST(QueueWait, WhoeverIsCalledBackMayUseTheQueue) {
  const auto queue =
      MakeRef<FifoQueue>("q", std::vector<DType>{DType::kInt32}, std::vector<PartialShape>(), 1);
  std::vector<int32_t> taken;
  std::function<void(absl::StatusOr<QueueElement>)> take_next =
      [&](absl::StatusOr<QueueElement> element) {
        if (!element.ok()) return;
        taken.push_back((*element)[0].scalar<int32_t>());
        queue->Dequeue(nullptr, take_next);
      };
  queue->Dequeue(nullptr, take_next);
  QueueBatch batch{{Tensor::Vector<int32_t>({1, 2, 3})}, 0, 3, false, nullptr};
  bool added = false;
  queue->Enqueue(std::move(batch), nullptr, [&](absl::Status status) { added = status.ok(); });
  EXPECT_TRUE(added);
  EXPECT_EQ(taken, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_TRUE(queue->Close(false).ok());
}

TEST(QueueThreads, EveryElementIsTakenByOneOfManyUsers) {
  constexpr int kUsers = 4, kEach = 200;
  ResourceRun run;
  const Tensor queue = MakeQueue(run, 3);
  std::atomic<int64_t> sum{0}, failures{0};
  RunOnThreads(2 * kUsers, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      const auto result =
          thread < kUsers
              ? run.Try("QueueEnqueueV2", {queue, Tensor::Scalar<int32_t>(thread * kEach + i)})
              : run.Try("QueueDequeueV2", {queue},
                        Attrs({{"component_types", std::vector<DType>{DType::kInt32}}}));
      if (!result.ok()) ++failures;
      if (result.ok() && !result->empty()) sum += (*result)[0].scalar<int32_t>();
    }
  });
  constexpr int64_t kAll = int64_t{kUsers} * kEach;
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(sum, kAll * (kAll - 1) / 2);
  EXPECT_EQ(Size(run, queue), 0);
}

TEST(QueueMemory, IsChargedToTheRunThatAddsAndGivenBack) {
  ResourceRun run, other;
  const Tensor queue = MakeQueue(run, 2);
  {
    const AddMany many(run, queue, {1, 2, 3});
    EXPECT_GT(run.budget().used(), 0);
    for (const int32_t i : {1, 2, 3}) EXPECT_EQ(Take(other, queue).value(), i);
  }
  EXPECT_EQ(run.budget().used(), 0);
  EXPECT_EQ(other.budget().used(), 0);
  {
    const AddMany waits(run, queue, {4, 5, 6});
    run.cancellation().Cancel(absl::CancelledError("stop"));
    EXPECT_GT(run.budget().used(), 0);  // for what is in
  }
  other.All("DestroyResourceOp", {queue});
  EXPECT_EQ(run.budget().used(), 0);

  ResourceRun poor(/*budget=*/16);
  const Tensor unbounded = MakeQueue(poor, -1);
  EXPECT_EQ(Add(poor, unbounded, 1).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Size(poor, unbounded), 0);
}

}  // namespace
}  // namespace gyre
