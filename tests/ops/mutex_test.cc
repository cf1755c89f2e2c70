// Mutexes: who holds the lock, who waits for it, and what gives it back.
#include "base/env.h"
#include "ops/resource_run.h"

namespace gyre {
namespace {

using absl::StatusCode;
using test::Attrs;
using test::IsInvalid;
using test::PendingCall;
using test::ResourceRun;
using test::Says;

Tensor MakeMutex(ResourceRun& run, const std::string& name = "m") {
  return run.Run("MutexV2", {}, Attrs({{"shared_name", name}}));
}

struct Lock : PendingCall {
  Lock(ResourceRun& run, const Tensor& mutex) : PendingCall(run, "MutexLock", {mutex}) {}
};

TEST(Mutex, IsHeldByOneAndGoesToTheOthersInTheirOrder) {
  ResourceRun run;
  const Tensor mutex = MakeMutex(run);
  const Lock first(run, mutex), second(run, mutex), third(run, mutex);
  ASSERT_TRUE(first.status().ok());
  EXPECT_FALSE(second.done());
  EXPECT_FALSE(third.done());
  run.All("ConsumeMutexLock", {first.output(0)});
  EXPECT_TRUE(second.status().ok());
  EXPECT_FALSE(third.done());
  run.All("ConsumeMutexLock", {second.output(0)});
  EXPECT_TRUE(third.status().ok());
}

TEST(Mutex, OfOneNameIsOneMutexOfTheSession) {
  ResourceRun run;
  const Lock held(run, MakeMutex(run, "m"));
  const Lock same(run, MakeMutex(run, "m"));
  const Lock other(run, MakeMutex(run, "n"));
  EXPECT_FALSE(same.done());
  EXPECT_TRUE(other.status().ok());
  run.cancellation().Cancel(absl::CancelledError("stop"));
}

TEST(Mutex, LockIsGivenBackWithItsLastReference) {
  ResourceRun run;
  const Tensor mutex = MakeMutex(run);
  Tensor copy;
  {
    const Lock first(run, mutex);
    copy = first.output(0);
  }
  const Lock second(run, mutex);
  EXPECT_FALSE(second.done());
  copy = Tensor();
  EXPECT_TRUE(second.status().ok());
}

TEST(Mutex, LockCanBeConsumedOnce) {
  ResourceRun run;
  const Tensor mutex = MakeMutex(run);
  const Lock first(run, mutex);
  run.All("ConsumeMutexLock", {first.output(0)});
  EXPECT_TRUE(IsInvalid(run.Error("ConsumeMutexLock", {first.output(0)}),
                        "this lock has been consumed already"));
  const Lock second(run, mutex), third(run, mutex);
  EXPECT_TRUE(second.status().ok());
  EXPECT_FALSE(third.done());  // what was refused has unlocked nothing
  run.cancellation().Cancel(absl::CancelledError("stop"));
}

TEST(Mutex, CancelledWaiterLeavesTheQueue) {
  ResourceRun run, impatient;
  const Tensor mutex = MakeMutex(run);
  const Lock held(run, mutex), gone(impatient, mutex), next(run, mutex);
  impatient.cancellation().Cancel(absl::DeadlineExceededError("too late"));
  EXPECT_TRUE(Says(gone.status(), StatusCode::kDeadlineExceeded, "while waiting for m"));
  EXPECT_FALSE(next.done());
  run.All("ConsumeMutexLock", {held.output(0)});
  EXPECT_TRUE(next.status().ok());
}

TEST(Mutex, SaysWhatIsNoMutexAndNoLock) {
  ResourceRun run;
  const Tensor stack =
      run.Run("StackV2", {Tensor::Scalar(-1)}, Attrs({{"elem_type", DType::kFloat}}));
  EXPECT_TRUE(IsInvalid(Lock(run, stack).status(),
                        "must be a handle of a Mutex, but it is one of a Stack"));
  EXPECT_TRUE(IsInvalid(run.Error("ConsumeMutexLock", {run.Run("OptionalNone", {})}),
                        "must be a handle of a MutexLock, but it is one of a Optional"));
}

TEST(Mutex, KeepsThreadsApart) {
  constexpr int kThreads = 4, kEach = 100;
  ResourceRun run;
  const Tensor mutex = MakeMutex(run);
  int inside = 0, entered = 0, met = 0;  // guarded by the mutex under test
  RunOnThreads(kThreads, [&](int) {
    for (int i = 0; i < kEach; ++i) {
      const auto lock = run.Try("MutexLock", {mutex});
      if (!lock.ok()) return;
      if (++inside != 1) ++met;
      ++entered;
      --inside;
      run.Try("ConsumeMutexLock", {(*lock)[0]}).IgnoreError();
    }
  });
  EXPECT_EQ(entered, kThreads * kEach);
  EXPECT_EQ(met, 0);
}

}  // namespace
}  // namespace gyre
