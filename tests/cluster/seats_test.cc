// Who may become which rank of a group: of processes that have died, that were started anew, and
// that come back after others have taken their place.
#include "cluster/group/seats.h"

#include <sys/socket.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace gyre::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A process that calls: it is there as long as this is.
struct Caller {
  Caller() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    own = Fd(ends[0]);
    other = Fd(ends[1]);
  }
  Fd own, other;
};

proto::Enlist As(int rank, uint64_t epoch, uint64_t incarnation) {
  proto::Enlist enlist;
  enlist.set_rank(rank);
  enlist.set_epoch(epoch);
  enlist.mutable_self()->set_incarnation(incarnation);
  return enlist;
}

std::string OneRefused(const std::vector<Seats::Refused>& refused) {
  EXPECT_THAT(refused, SizeIs(1));
  return refused.empty() ? "" : refused[0].why.ToString();
}

TEST(Seats, FillAsRanksCome) {
  Seats seats(3, {}, 0);
  EXPECT_THAT(seats.Missing(), ElementsAre(1, 2));
  Caller two, one;
  EXPECT_THAT(seats.Take(std::move(two.other), As(2, 0, 22)), IsEmpty());
  EXPECT_THAT(seats.Missing(), ElementsAre(1));
  EXPECT_THAT(seats.Take(std::move(one.other), As(1, 0, 11)), IsEmpty());
  EXPECT_THAT(seats.Missing(), IsEmpty());
  EXPECT_EQ(seats.member(1).incarnation(), 11);
  EXPECT_EQ(seats.epoch(), 0);
}

TEST(Seats, TwoOfOneRankAreAnError) {
  Seats seats(2, {}, 0);
  Caller first, second;
  EXPECT_THAT(seats.Take(std::move(first.other), As(1, 0, 1)), IsEmpty());
  EXPECT_THAT(OneRefused(seats.Take(std::move(second.other), As(1, 0, 2))),
              HasSubstr("ALREADY_EXISTS: two processes are rank 1"));
  EXPECT_EQ(seats.member(1).incarnation(), 1);
}

TEST(Seats, WhoHasDiedLeavesItsPlace) {
  Seats seats(2, {}, 0);
  Caller first, second;
  EXPECT_THAT(seats.Take(std::move(first.other), As(1, 0, 1)), IsEmpty());
  first.own = Fd();
  EXPECT_THAT(seats.Take(std::move(second.other), As(1, 0, 2)), IsEmpty());
  EXPECT_EQ(seats.member(1).incarnation(), 2);
  second.own = Fd();
  EXPECT_THAT(seats.Missing(), IsEmpty());
  seats.FreeDead();
  EXPECT_THAT(seats.Missing(), ElementsAre(1));
}

TEST(Seats, WhoWasStartedAnewTakesThePlaceOfWhoWasBefore) {
  for (const bool comes_first : {false, true}) {
    Seats seats(2, {}, 4);
    Caller old, fresh;
    std::string refused;
    if (comes_first) {
      EXPECT_THAT(seats.Take(std::move(fresh.other), As(1, 0, 2)), IsEmpty());
      refused = OneRefused(seats.Take(std::move(old.other), As(1, 4, 1)));
    } else {
      EXPECT_THAT(seats.Take(std::move(old.other), As(1, 4, 1)), IsEmpty());
      refused = OneRefused(seats.Take(std::move(fresh.other), As(1, 0, 2)));
    }
    EXPECT_EQ(refused,
              "FAILED_PRECONDITION: this process was rank 1 in epoch 4: another one has taken its "
              "place");
    EXPECT_EQ(seats.member(1).incarnation(), 2);
  }
}

TEST(Seats, WhoHasMissedAnEpochIsTurnedAway) {
  for (const bool comes_first : {false, true}) {
    Seats seats(3, {}, 0);  // the coordinator was started anew
    Caller old, survivor;
    std::string refused;
    if (comes_first) {
      EXPECT_THAT(seats.Take(std::move(old.other), As(1, 2, 1)), IsEmpty());
      refused = OneRefused(seats.Take(std::move(survivor.other), As(2, 3, 2)));
    } else {
      EXPECT_THAT(seats.Take(std::move(survivor.other), As(2, 3, 2)), IsEmpty());
      refused = OneRefused(seats.Take(std::move(old.other), As(1, 2, 1)));
    }
    EXPECT_THAT(refused, HasSubstr("rank 1 in epoch 2, and there has been epoch 3 since"));
    EXPECT_THAT(seats.Missing(), ElementsAre(1));
    EXPECT_EQ(seats.epoch(), 3);
    EXPECT_TRUE(seats.CheckCoordinator().ok());
  }
}

TEST(Seats, ACoordinatorThatWasReplacedStepsDown) {
  Seats seats(2, {}, 1);
  Caller caller;
  EXPECT_THAT(seats.Take(std::move(caller.other), As(1, 2, 1)), IsEmpty());
  EXPECT_THAT(seats.CheckCoordinator().ToString(),
              HasSubstr("rank 0 in epoch 1, and there has been epoch 2 since"));
}

bool HasBeenHungUpOn(const Fd& own) {
  char next = 0;
  return recv(own.get(), &next, sizeof(next), MSG_DONTWAIT) == 0;
}

// Whatever comes in whatever order: who sits at the end is alive and of no older epoch, and all
// others have been hung up on.
TEST(Seats, RandomOrders) {
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](uint64_t n) { return static_cast<int>(random() % n); };
    Seats seats(4, {}, static_cast<uint64_t>(draw(4)));
    std::vector<Caller> callers(12);
    std::vector<proto::Enlist> said;
    for (size_t i = 0; i < callers.size(); ++i) {
      said.push_back(As(1 + draw(3), static_cast<uint64_t>(draw(4)), i));
      seats.Take(std::move(callers[i].other), said[i]);
      if (draw(3) == 0) callers[static_cast<size_t>(draw(i + 1))].own = Fd();
    }
    seats.FreeDead();
    const std::vector<int> missing = seats.Missing();
    for (size_t i = 0; i < callers.size(); ++i) {
      const int rank = said[i].rank();
      const bool is_free = std::find(missing.begin(), missing.end(), rank) != missing.end();
      const bool sits = !is_free && seats.member(rank).incarnation() == i;
      EXPECT_EQ(sits, callers[i].own && !HasBeenHungUpOn(callers[i].own)) << seed;
      EXPECT_TRUE(!sits || said[i].epoch() == 0 || said[i].epoch() == seats.epoch()) << seed;
    }
  }
}

}  // namespace
}  // namespace gyre::cluster
