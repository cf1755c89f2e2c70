// PendingCounts: how far the nodes of one iteration have come, one 64-bit word per node that waits
// for more than one arrival.
//
// An ordinary node's word holds the number of arrivals still to come and whether one of them was
// dead. A Merge's word holds the control inputs still to come, the dead arrivals, which live input
// claimed it, and whether it has fired.
//
// Each change is one step on one word. While a single thread works on a run the steps are plain
// loads and stores; while several do (`shared`), they are atomic. acq_rel there: whoever brings a
// word to the end sees the input values that every other arrival stored before its own step. No
// lock, and no order between words.
#pragma once

#include <atomic>
#include <cstdint>

namespace gyre::dataflow {

class PendingCounts {
 public:
  using Word = std::atomic<uint64_t>;
  enum class Outcome : uint8_t { kWait, kFire, kDie };

  // Ordinary nodes.
  static constexpr uint64_t kDead = uint64_t{1} << 63;
  static constexpr uint64_t Ordinary(uint64_t arrivals) { return arrivals; }

  // One arrival at an ordinary node.
  static Outcome Arrive(Word& word, bool dead, bool shared) {
    uint64_t now;
    if (shared) {
      if (dead) word.fetch_or(kDead, std::memory_order_relaxed);  // ordered by the next line
      now = word.fetch_sub(1, std::memory_order_acq_rel) - 1;
    } else {
      now = (word.load(std::memory_order_relaxed) - 1) | (dead ? kDead : 0);
      word.store(now, std::memory_order_relaxed);
    }
    if (now == 0) return Outcome::kFire;
    return now == kDead ? Outcome::kDie : Outcome::kWait;
  }

  // Its node has fired or died, so its inputs hold nothing any more.
  static bool HasFired(const Word& word) {
    const uint64_t now = word.load(std::memory_order_relaxed);
    return (now & ~kDead) == 0 || (now & kFired) != 0;
  }

  // Merges. Bits: 0–19 control inputs to come, 20–39 deaths still needed to die (0: cannot die),
  // 40–59 the claiming input's position + 1, 61 its value is stored, 62 fired.
  static constexpr uint64_t kMaxMergeInputs = (1 << 20) - 2;
  static constexpr uint64_t Merge(uint64_t controls, uint64_t deaths) {
    return controls | deaths << kDeathShift | (deaths > 0 ? kMortal : 0);
  }

  // A live value wants in; false when another one has been first, and this one is to be dropped.
  // Whoever claims stores the value and then calls Store.
  static bool Claim(Word& word, uint64_t position, bool shared) {
    uint64_t old = word.load(std::memory_order_relaxed);
    while ((old & (kClaimMask | kFired)) == 0) {
      const uint64_t claimed = old | (position + 1) << kClaimShift;
      if (!shared) {
        word.store(claimed, std::memory_order_relaxed);
        return true;
      }
      if (word.compare_exchange_weak(old, claimed, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  // Claim and Store in one, while a single thread works on the run. False: do it in two.
  static bool ClaimAndFire(Word& word, uint64_t position) {
    const uint64_t old = word.load(std::memory_order_relaxed);
    if ((old & (kClaimMask | kFired | kControlMask)) != 0) return false;
    word.store(old | (position + 1) << kClaimShift | kStored | kFired, std::memory_order_relaxed);
    return true;
  }
  // Its value has gone past it. Nobody else touches the word: no other arrival is to come.
  static void MarkFired(Word& word) { word.store(kFired, std::memory_order_relaxed); }
  static Outcome Store(Word& word, bool shared) {
    return Change(word, shared, [](uint64_t w) { return w | kStored; });
  }
  static Outcome ArriveDead(Word& word, bool shared) {
    return Change(word, shared, [](uint64_t w) {
      return (w & kDeathMask) == 0 ? w : w - (uint64_t{1} << kDeathShift);
    });
  }
  static Outcome ArriveControl(Word& word, bool shared) {
    return Change(word, shared, [](uint64_t w) { return w - 1; });
  }
  // The position of the input that claimed the Merge.
  static uint32_t ClaimedBy(const Word& word) {
    return static_cast<uint32_t>((word.load(std::memory_order_relaxed) & kClaimMask) >>
                                 kClaimShift) -
           1;
  }

 private:
  static constexpr int kDeathShift = 20;
  static constexpr int kClaimShift = 40;
  static constexpr uint64_t kControlMask = (uint64_t{1} << kDeathShift) - 1;
  static constexpr uint64_t kDeathMask = kControlMask << kDeathShift;
  static constexpr uint64_t kClaimMask = kControlMask << kClaimShift;
  static constexpr uint64_t kStored = uint64_t{1} << 61;
  static constexpr uint64_t kFired = uint64_t{1} << 62;
  static constexpr uint64_t kMortal = uint64_t{1} << 63;

  // Makes the word `next` of what it was, and marks the Merge as fired where that makes it ready.
  template <typename Next>
  static Outcome Change(Word& word, bool shared, const Next& next) {
    uint64_t old = word.load(std::memory_order_relaxed);
    while (true) {
      uint64_t now = next(old);
      Outcome outcome = Outcome::kWait;
      if ((now & (kFired | kControlMask)) == 0) {
        if ((now & kStored) != 0) {
          outcome = Outcome::kFire;
        } else if ((now & kMortal) != 0 && (now & (kDeathMask | kClaimMask)) == 0) {
          outcome = Outcome::kDie;
        }
      }
      if (outcome != Outcome::kWait) now |= kFired;
      if (!shared) {
        word.store(now, std::memory_order_relaxed);
        return outcome;
      }
      if (word.compare_exchange_weak(old, now, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
        return outcome;
      }
    }
  }
};

}  // namespace gyre::dataflow
