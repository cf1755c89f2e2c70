// What crosses between two workers, in bytes: what a loop does not change crosses once, and of what
// is dead no more than its key.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"

namespace gyre::cluster {
namespace {

using test::TappedStream;
using test::Workers;

constexpr int kElements = 1024;
constexpr int64_t kBytes = kElements * int64_t{sizeof(float)};
// What a key, a frame around it, and what grants credit take, many times over.
constexpr int64_t kOfAKey = 400;

// A loop that counts on worker 0, with x, which it does not change. Its body, @step, is missing.
constexpr char kLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %one = Const() value=float32{1} : float32
  %dims = Const() value=int32[1]{1024} : int32
  %x = Fill(%dims, %one) : float32 on "/job:worker/task:0"
  %zero = Const() value=int32{0} : int32
  %none = Const() value=float32{0} : float32
  %loop = StatelessWhile(%zero, %n, %none, %x) cond=@more body=@step : (int32, int32, float32, float32)
}
func @more(%i: int32, %n: int32, %sum: float32, %x: float32) -> (p: bool) {
  %less = Less(%i, %n) : bool on "/job:worker/task:0"
  return %less
}
)";

// A branch on either worker.
constexpr char kBranches[] = R"(
func @there(%x: float32) -> (y: float32) {
  %axis = Const() value=int32{0} : int32
  %sum = Sum(%x, %axis) : float32 on "/job:worker/task:1"
  return %sum
}
func @here(%x: float32) -> (y: float32) {
  %axis = Const() value=int32{0} : int32
  %max = Max(%x, %axis) : float32 on "/job:worker/task:0"
  return %max
}
)";

class Crossing : public ::testing::Test {
 protected:
  Crossing()
      : counts_(std::make_shared<TappedStream::Counts>()),
        workers_(2, [counts = counts_](std::unique_ptr<ByteStream> stream) {
          return std::make_unique<TappedStream>(std::move(stream), counts);
        }) {}

  // How many bytes the workers, and the client, write to each other in a run.
  int64_t BytesOf(Session& session, const Feeds& feeds, const std::string& fetch) {
    const int64_t before = counts_->written;
    const auto got = session.Run(feeds, {fetch});
    EXPECT_TRUE(got.ok()) << got.status();
    return counts_->written - before;
  }

  std::shared_ptr<TappedStream::Counts> counts_;
  Workers workers_;
};

TEST_F(Crossing, OfWhatALoopDoesNotChangeDoesNotGrowWithItsIterations) {
  auto session = workers_.SessionFor(absl::StrCat(kLoop, R"(
func @step(%i: int32, %n: int32, %sum: float32, %x: float32) -> (i: int32, n: int32, sum: float32, x: float32) {
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32 on "/job:worker/task:0"
  %axis = Const() value=int32{0} : int32
  %term = Sum(%x, %axis) : float32 on "/job:worker/task:1"
  %more = AddV2(%sum, %term) : float32 on "/job:worker/task:1"
  return %next, %n, %more, %x
}
)"));
  ASSERT_NE(session, nullptr);
  const auto bytes = [&](int n) {
    return BytesOf(*session, {{"n", Tensor::Scalar(int32_t{n})}}, "loop:2");
  };
  bytes(1);  // the channel is open
  const int64_t few = bytes(10), many = bytes(510);
  EXPECT_GT(few, kBytes);
  EXPECT_LT(few, 2 * kBytes + 10 * kOfAKey);
  EXPECT_LT(many - few, 500 * kOfAKey);  // where the value alone would be 500 * kBytes
}

TEST_F(Crossing, OfWhatIsDeadIsItsKey) {
  auto session = workers_.SessionFor(absl::StrCat(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %one = Const() value=float32{1} : float32
  %dims = Const() value=int32[1]{1024} : int32
  %x = Fill(%dims, %one) : float32 on "/job:worker/task:0"
  %y = StatelessIf(%p, %x) then_branch=@there else_branch=@here : float32
}
)",
                                                  kBranches));
  ASSERT_NE(session, nullptr);
  const auto bytes = [&](bool p) { return BytesOf(*session, {{"p", Tensor::Scalar(p)}}, "y"); };
  bytes(true);
  EXPECT_GT(bytes(true), kBytes);
  EXPECT_LT(bytes(false), 4 * kOfAKey);
}

// Nor does it in each iteration of a loop.
TEST_F(Crossing, OfABranchThatIsNeverTakenAreKeys) {
  auto session = workers_.SessionFor(absl::StrCat(kLoop, R"(
func @step(%i: int32, %n: int32, %sum: float32, %x: float32) -> (i: int32, n: int32, sum: float32, x: float32) {
  %one = Const() value=int32{1} : int32
  %next = AddV2(%i, %one) : int32 on "/job:worker/task:0"
  %far = Const() value=int32{1000000} : int32
  %p = Less(%far, %i) : bool on "/job:worker/task:0"
  %minus = AddV2(%x, %sum) : float32 on "/job:worker/task:0"
  %y = StatelessIf(%p, %minus) then_branch=@there else_branch=@here : float32
  return %next, %n, %y, %x
}
)",
                                                  kBranches));
  ASSERT_NE(session, nullptr);
  const auto bytes = [&](int n) {
    return BytesOf(*session, {{"n", Tensor::Scalar(int32_t{n})}}, "loop:2");
  };
  bytes(1);
  EXPECT_LT(bytes(110) - bytes(10), 100 * 4 * kOfAKey);  // each of the values would be 4,096
}

}  // namespace
}  // namespace gyre::cluster
