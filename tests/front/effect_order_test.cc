// Which nodes the order of effects puts before which.
#include "front/effect_order.h"

#include "gtest/gtest.h"

namespace gyre::internal {
namespace {

using Nodes = std::vector<NodeId>;

constexpr Access kReadA = {1, false}, kWriteA = {1, true}, kWriteB = {2, true};
constexpr Access kReadAny = {kUnknownResource, false}, kWriteAny = {kUnknownResource, true};

TEST(EffectOrder, WritesComeAfterReadsAndWritesOfTheSameResource) {
  EffectOrder order;
  EXPECT_EQ(order.Record(0, {kWriteA}), Nodes());
  EXPECT_EQ(order.Record(1, {kReadA}), Nodes({0}));
  EXPECT_EQ(order.Record(2, {kReadA}), Nodes({0}));
  EXPECT_EQ(order.Record(3, {kWriteB}), Nodes());
  EXPECT_EQ(order.Record(4, {kWriteA}), Nodes({0, 1, 2}));
  EXPECT_EQ(order.Record(5, {kReadA}), Nodes({4}));
  EXPECT_EQ(order.Last(), Nodes({3, 4}));
}

TEST(EffectOrder, AnUnknownResourceMayBeAnyOfThem) {
  EffectOrder order;
  order.Record(0, {kWriteA});
  order.Record(1, {kReadA});
  order.Record(2, {kWriteB});
  EXPECT_EQ(order.Record(3, {kReadAny}), Nodes({0, 2}));
  EXPECT_EQ(order.Record(4, {kWriteA}), Nodes({0, 1, 3}));
  EXPECT_EQ(order.Record(5, {kWriteAny}), Nodes({2, 3, 4}));
  EXPECT_EQ(order.Record(6, {kReadA}), Nodes({5}));
  EXPECT_EQ(order.Record(7, {kReadAny}), Nodes({5}));
  EXPECT_EQ(order.Record(8, {kWriteB}), Nodes({5, 7}));
  EXPECT_EQ(order.Last(), Nodes({5, 8}));
}

TEST(EffectOrder, ANodeThatTouchesAResourceTwiceDoesNotWaitForItself) {
  EffectOrder order;
  EXPECT_EQ(order.Record(0, {kReadA, kWriteA}), Nodes());
  EXPECT_EQ(order.Record(1, {kWriteA, kWriteB, kReadA}), Nodes({0}));
  EXPECT_EQ(order.Summary(), (std::vector<Access>{kWriteA, kWriteB}));
}

}  // namespace
}  // namespace gyre::internal
