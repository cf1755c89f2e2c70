#include "faults/experiment.h"

#include <iostream>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "faults/allocations.h"

namespace gyre::faults {
namespace {

using testing::BitDifference;
using testing::RunResult;

// What an attempt gives, how many allocations it took, and whether one of them failed.
struct Attempt {
  Results results;
  int64_t allocations = 0;
  bool has_failed = false;
};

// With the allocation of this number failing; 0: none. On a thread of its own: what threads keep of
// the heap for later is new there, and goes with it.
Attempt Do(const Experiment& experiment, int64_t number) {
  constexpr size_t kMostResults = 256;
  Attempt attempt;
  attempt.results.reserve(kMostResults);
  std::thread([&] {
    experiment.begin();
    {
      const FailAllocation one(number);
      experiment.act(attempt.results);
      attempt.allocations = one.counted();
      attempt.has_failed = one.has_failed();
    }
    experiment.end();
  }).join();
  return attempt;
}

// Whether all memory but `before` has come back: at once, or as soon as threads of the pool have
// dropped what they hold.
bool HasSettled(const LiveMemory& before) {
  constexpr int64_t kPatienceNanos = 5'000'000'000;
  const int64_t until = SystemClock().NowNanos() + kPatienceNanos;
  while (!(Live() == before)) {
    if (SystemClock().NowNanos() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

// 1, …, n, or `most` of them.
std::vector<int64_t> Numbers(int64_t n, int64_t most, std::mt19937_64& random) {
  std::set<int64_t> numbers;
  if (n <= most) {
    for (int64_t i = 1; i <= n; ++i) numbers.insert(i);
  } else {
    while (static_cast<int64_t>(numbers.size()) < most) {
      const int64_t number = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n));
      numbers.insert(number);
    }
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::optional<std::string> Complaint(const Results& got, const Results& want) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (i < want.size() && !BitDifference(got[i], want[i])) continue;
    if (!absl::IsResourceExhausted(got[i].status()))
      return i < want.size() ? BitDifference(got[i], want[i]) : got[i].status().ToString();
    const std::string text(got[i].status().message());
    if (text.empty() || absl::ascii_isupper(text[0])) return absl::StrCat("says '", text, "'");
    return std::nullopt;
  }
  if (got.size() != want.size()) return absl::StrCat(got.size(), " results, not ", want.size());
  return std::nullopt;
}

RunResult ResultOf(const absl::Status& status) {
  if (status.ok()) return std::vector<Tensor>();
  return status;
}

std::vector<Setting> Settings() {
  std::vector<Setting> settings = {
      testing::SettingOf("reference", "reference", 1, ""),
      testing::SettingOf("dataflow", "dataflow", 1, ""),
      testing::SettingOf("two threads", "dataflow", 2, ""),
      testing::SettingOf("raised", "dataflow", 1, "raised"),
      testing::SettingOf("optimized", "dataflow", 1, "optimized"),
      testing::SettingOf("relowered", "dataflow", 1, "relowered"),
      testing::SettingOf("two devices", "dataflow", 1, ""),
  };
  settings.back().options.devices = "cpu:2";
  settings.back().options.testing.spread_seed = 3;
  return settings;
}

int64_t Most(int64_t in_short) {
  return testing::IsLongTest() ? std::numeric_limits<int64_t>::max() : in_short;
}

void AllocationFaults::TearDown() {
  std::cout << tally_.experiments << " experiments, " << tally_.failed << " of "
            << tally_.allocations << " allocations failed, GYRE_TEST_SEED=" << testing::TestSeed()
            << "\n";
  EXPECT_GT(tally_.failed, 0);
}

void AllocationFaults::Try(const Experiment& experiment, int64_t most) {
  SCOPED_TRACE(absl::StrCat(experiment.what, ", GYRE_TEST_SEED=", testing::TestSeed()));
  const Results want = Do(experiment, 0).results;
  const Attempt same = Do(experiment, 0);
  if (const auto complaint = Complaint(same.results, want))
    GTEST_FAIL() << "nothing fails, and yet: " << *complaint;
  ++tally_.experiments;
  tally_.allocations += same.allocations;
  for (const int64_t number : Numbers(same.allocations, most, random_)) {
    const std::string which = absl::StrCat("allocation ", number, " of ", same.allocations);
    const Attempt attempt = Do(experiment, number);
    tally_.failed += attempt.has_failed ? 1 : 0;
    if (const auto complaint = Complaint(attempt.results, want))
      ADD_FAILURE() << which << ": " << *complaint;
    if (const auto complaint = Complaint(Do(experiment, 0).results, want))
      ADD_FAILURE() << "after " << which << ": " << *complaint;
    if (::testing::Test::HasFailure()) return;  // one to look at is enough
  }
}

void AllocationFaults::LeavesNothing(const std::string& what,
                                     const std::function<void(int64_t most)>& work,
                                     const SessionOptions& options, int64_t most) {
  if (!options.devices.empty()) return work(most);  // it may come to need one more thread
  work(0);
  // What a thread of the pool keeps is there once it has had work; a leak is there each time.
  LiveMemory before;
  for (int i = 0; i < 4; ++i) {
    before = Live();
    work(most);
    if (HasSettled(before)) return;
  }
  ADD_FAILURE() << "left behind by " << what << ": " << Live().blocks - before.blocks << " blocks, "
                << Live().bytes - before.bytes << " bytes";
}

}  // namespace gyre::faults
