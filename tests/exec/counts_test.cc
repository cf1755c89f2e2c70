// PendingCounts, in every order in which arrivals can come, and from several threads at once.
#include "exec/dataflow/counts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace gyre::dataflow {
namespace {

using Outcome = PendingCounts::Outcome;
using Word = PendingCounts::Word;

TEST(PendingCounts, AnOrdinaryNodeWaitsForAllAndDiesOfOne) {
  for (const bool shared : {false, true}) {
    for (int n = 1; n <= 6; ++n) {
      for (int dead = 0; dead < (1 << n); ++dead) {
        Word word(PendingCounts::Ordinary(n));
        for (int i = 0; i < n; ++i) {
          EXPECT_FALSE(PendingCounts::HasFired(word));
          const Outcome outcome = PendingCounts::Arrive(word, (dead >> i & 1) != 0, shared);
          const Outcome last = dead == 0 ? Outcome::kFire : Outcome::kDie;
          ASSERT_EQ(outcome, i == n - 1 ? last : Outcome::kWait);
        }
        EXPECT_TRUE(PendingCounts::HasFired(word));
      }
    }
  }
}

// What can happen to a Merge. A live value claims it first, then stores itself.
struct Event {
  enum Kind { kClaim, kStore, kDeath, kControl } kind;
  int input = 0;
};

// A Merge as docs/semantics.md has it.
struct Model {
  int controls, deaths;
  bool mortal = deaths > 0;
  bool stored = false, claimed = false, over = false;
  Outcome Next() {
    if (over || controls > 0) return Outcome::kWait;
    if (stored) return over = true, Outcome::kFire;
    if (mortal && deaths == 0 && !claimed) return over = true, Outcome::kDie;
    return Outcome::kWait;
  }
};

// Plays `events` in this order.
void Play(const std::vector<Event>& events, int controls, int forward, bool shared) {
  Word word(PendingCounts::Merge(controls, forward));
  Model model{controls, forward};
  std::vector<bool> has_claimed(events.size());
  int winner = -1;
  int ends = 0;
  for (const Event& event : events) {
    Outcome got = Outcome::kWait;
    switch (event.kind) {
      case Event::kClaim:
        has_claimed[event.input] = PendingCounts::Claim(word, event.input, shared);
        ASSERT_EQ(has_claimed[event.input], !model.claimed && !model.over);
        if (has_claimed[event.input]) {
          model.claimed = true;
          winner = event.input;
        }
        continue;
      case Event::kStore:
        if (!has_claimed[event.input]) continue;
        got = PendingCounts::Store(word, shared);
        model.stored = true;
        break;
      case Event::kDeath:
        got = PendingCounts::ArriveDead(word, shared);
        --model.deaths;
        break;
      case Event::kControl:
        got = PendingCounts::ArriveControl(word, shared);
        --model.controls;
        break;
    }
    ASSERT_EQ(got, model.Next());
    // As long as nothing has claimed it, it may say so early: there is nothing to let go of.
    if (model.claimed || model.over) {
      ASSERT_EQ(PendingCounts::HasFired(word), model.over);
    }
    if (got != Outcome::kWait) ++ends;
    if (got == Outcome::kFire) {
      ASSERT_EQ(PendingCounts::ClaimedBy(word), static_cast<uint32_t>(winner));
    }
  }
  EXPECT_EQ(ends, 1) << "each Merge ends, once";
}

// `lives` forward inputs bring values, `deaths` bring death; `back`: a NextIteration does, too.
void PlayAll(int lives, int deaths, bool back, int controls, bool shared) {
  std::vector<Event> events;
  const int values = lives + (back ? 1 : 0);
  for (int i = 0; i < values; ++i) {
    events.push_back({Event::kClaim, i});
    events.push_back({Event::kStore, i});
  }
  for (int i = 0; i < deaths; ++i) events.push_back({Event::kDeath});
  for (int i = 0; i < controls; ++i) events.push_back({Event::kControl});
  const auto key = [](const Event& e) { return e.kind * 16 + e.input; };
  const auto less = [&](const Event& a, const Event& b) { return key(a) < key(b); };
  std::sort(events.begin(), events.end(), less);
  do {
    bool possible = true;
    for (int i = 0; i < values; ++i) {
      const auto at = [&](Event::Kind kind) {
        return std::find_if(events.begin(), events.end(),
                            [&](const Event& e) { return e.kind == kind && e.input == i; });
      };
      possible &= at(Event::kClaim) < at(Event::kStore);
    }
    if (possible) Play(events, controls, lives + deaths, shared);
    if (::testing::Test::HasFatalFailure()) return;
  } while (std::next_permutation(events.begin(), events.end(), less));
}

TEST(PendingCounts, AMergeEndsOnceInEveryOrder) {
  for (const bool shared : {false, true}) {
    for (int lives = 0; lives <= 2; ++lives) {
      for (int deaths = 0; deaths <= 2; ++deaths) {
        for (int controls = 0; controls <= 2; ++controls) {
          for (const bool back : {false, true}) {
            // A Merge that is killed before its NextIteration comes is a graph's mistake.
            if (lives + deaths == 0 && !back) continue;
            SCOPED_TRACE(::testing::Message() << lives << " lives, " << deaths << " deaths, "
                                              << controls << " controls, back " << back);
            PlayAll(lives, deaths, back, controls, shared);
          }
        }
      }
    }
  }
}

TEST(PendingCounts, ThreadsAgreeOnOneEnd) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  std::vector<Word> ordinary(kRounds), merges(kRounds), dying(kRounds);
  for (int i = 0; i < kRounds; ++i) {
    ordinary[i] = PendingCounts::Ordinary(kThreads);
    merges[i] = PendingCounts::Merge(kThreads / 2, kThreads / 2);
    dying[i] = PendingCounts::Merge(0, kThreads);
  }
  // Not atomic: the counts alone must make it visible to who ends the node.
  std::vector<std::array<int, kThreads>> values(kRounds);
  std::vector<int> merged(kRounds, -1);
  std::atomic<int> ends{0}, merge_ends{0}, deaths{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        values[i][t] = t + 1;
        const Outcome outcome = PendingCounts::Arrive(ordinary[i], t == i % 7, true);
        if (outcome != Outcome::kWait) {
          ++ends;
          int sum = 0;
          for (const int value : values[i]) sum += value;
          if (sum != kThreads * (kThreads + 1) / 2) ++wrong;
          if ((outcome == Outcome::kDie) != (i % 7 < kThreads)) ++wrong;
        }
        Outcome merge = Outcome::kWait;
        if (t % 2 == 0) {
          merge = PendingCounts::ArriveControl(merges[i], true);
        } else if (PendingCounts::Claim(merges[i], t, true)) {
          merged[i] = t;
          merge = PendingCounts::Store(merges[i], true);
        }
        if (merge != Outcome::kWait) {
          ++merge_ends;
          if (merged[i] != static_cast<int>(PendingCounts::ClaimedBy(merges[i]))) ++wrong;
        }
        if (PendingCounts::ArriveDead(dying[i], true) == Outcome::kDie) ++deaths;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends.load(), kRounds);
  EXPECT_EQ(merge_ends.load(), kRounds);
  EXPECT_EQ(deaths.load(), kRounds);
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace gyre::dataflow
