// Two meshes that exchange the values of steps: every value arrives, within its credit and in its
// step; who is gone or silent is noticed.
#include "cluster/mesh.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/mesh_pair.h"
#include "gmock/gmock.h"

namespace gyre::cluster {
namespace {

using test::IsSame;
using test::kSecond;
using test::kSecret;
using test::OneToTwo;
using test::Pair;
using test::Received;
using test::SmallAndLarge;
using test::TwoToOne;
using ::testing::HasSubstr;

TEST(Mesh, CarriesValuesOfAllKindsAndSizesBothWays) {
  for (const bool needs_checksum : {false, true}) {
    Pair pair(3600 * kSecond, needs_checksum);
    const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
    const std::vector<Tensor> values = SmallAndLarge();
    std::vector<Received> at_two(values.size()), at_one(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const Tag tag{3, static_cast<int64_t>(i)};
      const bool receives_first = i % 2 == 0;
      if (receives_first) {
        two->RecvAsync(OneToTwo(), tag, at_two[i].callback());
        one->RecvAsync(TwoToOne(), tag, at_one[i].callback());
      }
      ASSERT_TRUE(one->Send(OneToTwo(), tag, {values[i], false}).ok());
      ASSERT_TRUE(two->Send(TwoToOne(), tag, {values[i], false}).ok());
      pair.Move();
      if (!receives_first) {
        two->RecvAsync(OneToTwo(), tag, at_two[i].callback());
        one->RecvAsync(TwoToOne(), tag, at_one[i].callback());
      }
      for (Received* const got : {&at_two[i], &at_one[i]}) {
        for (int moves = 0; moves < 20 && !got->has_come; ++moves) pair.Move();
        ASSERT_TRUE(got->has_come) << i;
        ASSERT_TRUE(got->item.ok()) << got->item.status();
        EXPECT_FALSE(got->item->is_dead);
        EXPECT_TRUE(IsSame(got->item->value, values[i]))
            << DTypeName(values[i].dtype()) << values[i].shape().ToString();
      }
    }
    EXPECT_TRUE(pair.lost().empty());
  }
}

TEST(Mesh, CarriesDeadnessAndKeepsOrderWithinAKey) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  Received got[3];
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Tensor::Scalar(1.0f), false}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Tensor(), true}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Tensor::Scalar(3.0f), false}).ok());
  for (Received& each : got) two->RecvAsync(OneToTwo(), {}, each.callback());
  pair.Move();
  ASSERT_TRUE(got[0].has_come && got[1].has_come && got[2].has_come);
  EXPECT_EQ(got[0].item->value.scalar<float>(), 1.0f);
  EXPECT_TRUE(got[1].item->is_dead);
  EXPECT_FALSE(got[1].item->value.has_value());
  EXPECT_EQ(got[2].item->value.scalar<float>(), 3.0f);
}

TEST(Mesh, RefusesWhatCannotTravel) {
  Pair pair;
  const auto one = pair.BeginOne(7);
  const absl::Status resource =
      one->Send(OneToTwo(), {}, {Tensor::FromObject(DType::kResource, nullptr), false});
  EXPECT_TRUE(absl::IsInvalidArgument(resource)) << resource;
  // Memory that nobody looks at.
  const auto huge = Tensor::External(DType::kUint8, Shape::Vector(int64_t{1} << 32),
                                     const_cast<char*>(kSecret), [] {});
  const absl::Status large = one->Send(OneToTwo(), {}, {huge, false});
  EXPECT_TRUE(absl::IsInvalidArgument(large)) << large;
  EXPECT_THAT(std::string(large.message()), HasSubstr("x:0 holds 4294967296 bytes"));
  const absl::Status nowhere = one->Send({"x:0", "one", "three", 1}, {}, {Tensor(), true});
  EXPECT_THAT(std::string(nowhere.message()), HasSubstr("no process of the cluster has a device"));
  pair.Move();
  EXPECT_TRUE(pair.lost().empty());
}

// What is offered only, its sender has: for that one has to wait.
TEST(Mesh, GivesAtOnceWhatIsHereAsAWhole) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(300'000), 9);
  Rendezvous::Item item;
  EXPECT_FALSE(two->TryRecv(OneToTwo(), {0, 0}, &item));
  EXPECT_TRUE(one->Send(OneToTwo(), {0, 0}, {Tensor::Scalar(5.0f), false}).ok());
  EXPECT_TRUE(one->Send(OneToTwo(), {0, 1}, {Tensor(), true}).ok());
  EXPECT_TRUE(one->Send(OneToTwo(), {0, 2}, {large, false}).ok());
  pair.Move();
  ASSERT_TRUE(two->TryRecv(OneToTwo(), {0, 0}, &item));
  EXPECT_EQ(item.value.scalar<float>(), 5.0f);
  ASSERT_TRUE(two->TryRecv(OneToTwo(), {0, 1}, &item));
  EXPECT_TRUE(item.is_dead);
  EXPECT_FALSE(two->TryRecv(OneToTwo(), {0, 2}, &item));
  Received got;
  two->RecvAsync(OneToTwo(), {0, 2}, got.callback());
  pair.Move();
  ASSERT_TRUE(got.has_come && got.item.ok()) << got.item.status();
  EXPECT_TRUE(IsSame(got.item->value, large));
}

// ---- Credit

constexpr int64_t kEagerBytes = 60'000;
Tensor Eager(int64_t i) { return test::Sample(DType::kUint8, Shape::Vector(kEagerBytes), i); }

// How many bytes of `n` values process 1 sends before anybody receives them.
int64_t SentUnasked(Pair& pair, uint64_t step, int n) {
  const auto one = pair.BeginOne(step);
  const int64_t before = pair.from_one().written;
  for (int i = 0; i < n; ++i) EXPECT_TRUE(one->Send(OneToTwo(), {0, i}, {Eager(i), false}).ok());
  pair.Move();
  return pair.from_one().written - before;
}

// Whether as much credit is left as there is at first, but for what is not worth a frame.
void ExpectFullCredit(Pair& pair, uint64_t step) {
  constexpr int kFew = 3 * Mesh::kCreditBytes / 4 / (kEagerBytes + 64);
  const auto two = pair.BeginTwo(step);
  EXPECT_GE(SentUnasked(pair, step, kFew), kFew * kEagerBytes);
  pair.End(step);
}

TEST(MeshCredit, IsAllThatLiesUnreadAtTheOtherEnd) {
  constexpr int kMany = 200;
  Pair pair;
  const auto two = pair.BeginTwo(1);
  const int64_t sent = SentUnasked(pair, 1, kMany);
  constexpr int64_t kFrame = 64;  // a header, and what offers hold
  EXPECT_LE(sent, Mesh::kCreditBytes + kEagerBytes + kMany * kFrame);
  EXPECT_GE(sent, Mesh::kCreditBytes);
  // What stayed behind comes when it is wanted, in any order.
  std::vector<Received> got(kMany);
  for (int i = kMany - 1; i >= 0; --i) {
    two->RecvAsync(OneToTwo(), {0, i}, got[i].callback());
    pair.Move();
    ASSERT_TRUE(got[i].has_come && got[i].item.ok()) << i;
    ASSERT_TRUE(IsSame(got[i].item->value, Eager(i))) << i;
  }
  EXPECT_GE(pair.from_one().written, kMany * kEagerBytes);
  pair.End(1);
  ExpectFullCredit(pair, 2);
}

TEST(MeshCredit, ComesBackWhenAStepEndsWithWhatNobodyRead) {
  Pair pair;
  for (uint64_t step = 1; step < 8; ++step) {
    const auto two = pair.BeginTwo(step);
    SentUnasked(pair, step, 100);
    pair.End(step);
  }
  ExpectFullCredit(pair, 100);
}

TEST(MeshCredit, ComesBackFromStepsThatHadEndedAlready) {
  Pair pair;
  for (uint64_t step = 1; step < 8; ++step) {
    pair.two().End(step);
    SentUnasked(pair, step, 30);
    pair.End(step);
  }
  // With the next value that is read.
  const auto two = pair.BeginTwo(99);
  SentUnasked(pair, 99, 1);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.Move();
  EXPECT_TRUE(got.has_come);
  pair.End(99);
  ExpectFullCredit(pair, 100);
}

TEST(MeshCredit, ComesBackFromValuesThatDidNotFitTheBudget) {
  Pair pair;
  for (uint64_t step = 1; step < 100; ++step) {
    const auto two = pair.BeginTwo(step, 100);
    Received got;
    two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
    SentUnasked(pair, step, 1);
    ASSERT_TRUE(got.has_come);
    EXPECT_TRUE(absl::IsResourceExhausted(got.item.status())) << got.item.status();
    pair.End(step);
  }
  ExpectFullCredit(pair, 100);
}

TEST(MeshCredit, ComesBackFromStepsThatNeverBegin) {
  Pair pair;
  for (uint64_t step = 1; step < 8; ++step) {
    SentUnasked(pair, step, 60);
    pair.PutForward(61 * kSecond);
    pair.Move();
    EXPECT_TRUE(absl::IsAborted(
        pair.two().Begin(step, std::make_shared<const Routes>(), nullptr).status()));
    pair.End(step);
  }
  ExpectFullCredit(pair, 100);
}

// Large values wait until there is room in the stream, whoever sends them: who sleeps meanwhile is
// woken, so that it also waits for room.
TEST(Mesh, WakesWhoSleepsWhenTheStreamIsFull) {
  Pair pair;
  const auto one = pair.BeginOne(1), two = pair.BeginTwo(1);
  const uint64_t before = pair.one().wakes();
  ASSERT_TRUE(one->Send(OneToTwo(), {}, {Eager(1), false}).ok());
  EXPECT_EQ(pair.one().wakes(), before);
  pair.from_one().most_at_once = 100;
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {Eager(1), false}).ok());
  EXPECT_EQ(pair.one().wakes(), before + 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 2}, {Eager(1), false}).ok());
  EXPECT_EQ(pair.one().wakes(), before + 1);
}

// ---- Steps

TEST(MeshSteps, KeepWhatComesBeforeTheyBegin) {
  Pair pair;
  const auto one = pair.BeginOne(7);
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(100'000), 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 0}, {Tensor::Scalar(5.0f), false}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {large, false}).ok());
  pair.Move();
  const auto two = pair.BeginTwo(7);
  Received small, late;
  two->RecvAsync(OneToTwo(), {0, 0}, small.callback());
  two->RecvAsync(OneToTwo(), {0, 1}, late.callback());
  pair.Move();
  ASSERT_TRUE(small.has_come && late.has_come);
  EXPECT_EQ(small.item->value.scalar<float>(), 5.0f);
  EXPECT_TRUE(IsSame(late.item->value, large));
}

TEST(MeshSteps, DropWhatComesAfterTheyEnd) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.two().End(7);
  ASSERT_TRUE(got.has_come);
  EXPECT_TRUE(absl::IsAborted(got.item.status())) << got.item.status();
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(100'000), 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 0}, {Tensor::Scalar(5.0f), false}).ok());
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {large, false}).ok());
  pair.Move();
  EXPECT_TRUE(
      absl::IsAborted(pair.two().Begin(7, std::make_shared<const Routes>(), nullptr).status()));
  EXPECT_TRUE(pair.lost().empty());
}

TEST(MeshSteps, BeginOnce) {
  Pair pair;
  const auto one = pair.BeginOne(7);
  EXPECT_TRUE(
      absl::IsAborted(pair.one().Begin(7, std::make_shared<const Routes>(), nullptr).status()));
}

TEST(MeshSteps, TellEveryWaiterOfAnAbort) {
  Pair pair;
  const auto one = pair.BeginOne(7), two = pair.BeginTwo(7);
  Received never_sent, never_pulled, later;
  two->RecvAsync(OneToTwo(), {0, 0}, never_sent.callback());
  const Tensor large = test::Sample(DType::kFloat, Shape::Vector(100'000), 1);
  ASSERT_TRUE(one->Send(OneToTwo(), {0, 1}, {large, false}).ok());
  two->RecvAsync(OneToTwo(), {0, 1}, never_pulled.callback());
  pair.two().Poll();  // process 1 does not answer
  two->Abort(absl::CancelledError("enough"));
  two->RecvAsync(OneToTwo(), {0, 2}, later.callback());
  for (const Received* const got : {&never_sent, &never_pulled, &later}) {
    ASSERT_TRUE(got->has_come);
    EXPECT_EQ(got->item.status(), absl::CancelledError("enough"));
  }
  // The answer comes nevertheless, and is nobody's.
  pair.Move();
  EXPECT_TRUE(pair.lost().empty());
}

TEST(MeshSteps, EndWithWhoTheyWaitFor) {
  Pair pair;
  const auto two = pair.BeginTwo(7);
  const PeerPtr gone = pair.two().Find(1);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.EndOne();
  // Shared memory looks for a sign of life now and then.
  for (int i = 0; i < 1000 && !got.has_come; ++i) pair.Move();
  ASSERT_TRUE(got.has_come);
  EXPECT_TRUE(absl::IsUnavailable(got.item.status())) << got.item.status();
  EXPECT_THAT(std::string(got.item.status().message()), HasSubstr("worker one is gone"));
  EXPECT_EQ(pair.lost(), std::vector<std::string>{"worker one"});
  EXPECT_EQ(pair.two().Find(1), nullptr);
  const absl::Status begun =
      pair.two().Begin(8, std::make_shared<const Routes>(Routes{{"one", gone}}), nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(begun)) << begun;
  EXPECT_THAT(std::string(begun.message()), HasSubstr("worker one"));
}

// ---- Silence

TEST(MeshSilence, IsAskedAboutWhileBothLive) {
  Pair pair(5 * kSecond);
  for (int i = 0; i < 50; ++i) {
    pair.PutForward(kSecond);
    pair.Move();
  }
  EXPECT_TRUE(pair.lost().empty());
}

TEST(MeshSilence, EndsTheChannel) {
  Pair pair(5 * kSecond);
  const auto two = pair.BeginTwo(7);
  Received got;
  two->RecvAsync(OneToTwo(), {0, 0}, got.callback());
  pair.PutForward(6 * kSecond);
  pair.two().Tick();
  ASSERT_TRUE(got.has_come);
  EXPECT_TRUE(absl::IsUnavailable(got.item.status())) << got.item.status();
  EXPECT_THAT(std::string(got.item.status().message()),
              HasSubstr("worker one is gone: nothing was heard of it for"));
}

// ---- Channels

TEST(MeshChannels, CarryMessagesInOrder) {
  Pair pair(3600 * kSecond, true);
  pair.one().Tell(*pair.one().Find(2), "first");
  pair.one().Tell(*pair.one().Find(2), std::string(Channel::kMaxEagerBytes, 'x'));
  pair.one().Tell(*pair.one().Find(2), "last");
  pair.Move();
  ASSERT_EQ(pair.told().size(), 3u);
  EXPECT_EQ(pair.told()[0], "worker one: first");
  EXPECT_EQ(pair.told()[1],
            absl::StrCat("worker one: ", std::string(Channel::kMaxEagerBytes, 'x')));
  EXPECT_EQ(pair.told()[2], "worker one: last");
}

// By who had dialled it.
TEST(MeshChannels, AreDialledAgainWhenTheyAreLost) {
  Pair pair(5 * kSecond);
  const PeerPtr before = pair.two().Find(1);
  pair.PutForward(6 * kSecond);
  pair.two().Tick();  // it has heard nothing
  EXPECT_EQ(pair.lost().size(), 1u);
  pair.Move();
  const PeerPtr after = pair.two().Find(1);
  ASSERT_NE(after, nullptr);
  EXPECT_NE(before, after);
  EXPECT_NE(pair.one().Find(2), nullptr);
}

}  // namespace
}  // namespace gyre::cluster
