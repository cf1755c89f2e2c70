// Golden graphs on simulated clusters: whatever the network and the machines do, a run gives the
// right result or a clear error, and nothing hangs or is left.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "golden/case.h"
#include "golden/runner.h"
#include "support/paths.h"
#include "support/simulation/cluster.h"

namespace gyre {
namespace {

using simulation::Fault;
using simulation::SimulatedCluster;

constexpr Fault kFaults[] = {Fault::kNone,  Fault::kSlow,    Fault::kPause, Fault::kStop,
                             Fault::kCrash, Fault::kRestart, Fault::kReset, Fault::kDamage};

const std::vector<std::string>& Cases() {
  static const auto* const cases = new std::vector<std::string>([] {
    std::vector<std::string> found;
    for (const char* group : {"cond_v1", "cond_v2", "while_v1", "while_v2", "arrays", "functions",
                              "primitives", "gradgraphs_v1", "gradgraphs_v2", "devices"}) {
      const auto of_group =
          golden::FindCases(test::SourcePath(absl::StrCat("tests/golden/", group)));
      if (of_group.ok()) found.insert(found.end(), of_group->begin(), of_group->end());
    }
    return found;
  }());
  return *cases;
}

struct Outcome {
  bool has_connected = false;
  int passed = 0, failed = 0;
  std::string why;  // of the first failure
  uint64_t history = 0;
};

void RunOn(const std::shared_ptr<Engine>& engine, const golden::Case& golden, uint64_t seed,
           Outcome& outcome) {
  golden::CheckOptions options;
  options.session.cluster = engine;
  options.session.soft_placement = true;
  options.session.testing.spread_seed = seed + 1;
  options.session.print = [](absl::string_view, absl::string_view) {};
  if (seed % 2 == 0) options.session.parallel.window = 1;
  for (const golden::CheckResult& result : golden::RunCase(golden, options)) {
    if (result.outcome == golden::Outcome::kFailed) {
      if (++outcome.failed == 1) outcome.why = absl::StrCat(result.what, ": ", result.why);
    } else {
      ++outcome.passed;
    }
  }
}

const std::string& CaseOf(uint64_t seed) {
  return Cases()[((seed * 0x9e3779b97f4a7c15) >> 20) % Cases().size()];
}

Outcome Simulate(uint64_t seed) {
  const Fault fault = kFaults[seed % std::size(kFaults)];
  const uint64_t drawn = seed * 0x9e3779b97f4a7c15;
  Outcome outcome;
  const auto golden = golden::ReadCase(CaseOf(seed));
  if (!golden.ok()) {
    outcome.why = golden.status().ToString();
    return outcome;
  }
  SimulatedCluster cluster(seed, 2 + static_cast<int>((drawn >> 10) % 2), fault);
  {
    const auto engine = cluster.Connect();
    outcome.has_connected = engine.ok();

    outcome.why = engine.ok() ? "" : engine.status().ToString();
    if (engine.ok()) RunOn(*engine, *golden, seed, outcome);
  }
  outcome.history = cluster.world().history();
  return outcome;
}

// A failure is allowed where something is gone, and says so.
bool IsAllowed(Fault fault, const std::string& why) {
  const bool may_fail = fault > Fault::kPause;
  return may_fail && absl::StrContains(why, "UNAVAILABLE") &&
         (absl::StrContains(why, "is gone") || absl::StrContains(why, "connection") ||
          absl::StrContains(why, "channel"));
}

uint64_t FirstSeed() {
  const char* const text = std::getenv("GYRE_TEST_SEED");
  uint64_t seed = 0;
  return text != nullptr && absl::SimpleAtoi(text, &seed) ? seed * 1000 : 1;
}

TEST(Simulation, RightResultsOrClearErrors) {
  ASSERT_GT(Cases().size(), 100u);
  constexpr uint64_t kSeeds = 1000;
  std::map<Fault, std::pair<int, int>> counts;  // of entries: passed and failed
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + kSeeds; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Fault fault = kFaults[seed % std::size(kFaults)];
    const Outcome outcome = Simulate(seed);
    if (!outcome.why.empty()) {
      EXPECT_TRUE(IsAllowed(fault, outcome.why))
          << "fault " << static_cast<int>(fault) << ": " << outcome.why;
    }
    counts[fault].first += outcome.passed;
    counts[fault].second += outcome.failed + (outcome.has_connected ? 0 : 1);
  }
  for (const auto& [fault, count] : counts) {
    std::printf("  fault %d: %d entries passed, %d ended with an error\n", static_cast<int>(fault),
                count.first, count.second);
    EXPECT_GT(count.first, 0);
    // The faults do hit.
    EXPECT_TRUE(fault < Fault::kStop || count.second > 0);
  }
}

// Whatever the first client met with: workers that are there find each other again.
TEST(Simulation, ASecondClientIsServed) {
  constexpr uint64_t kSeeds = 400;
  constexpr int64_t kSecond = 1'000'000'000;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + kSeeds; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    constexpr Fault kPassing[] = {Fault::kPause, Fault::kRestart, Fault::kReset, Fault::kDamage};
    const auto golden = golden::ReadCase(CaseOf(seed));
    ASSERT_TRUE(golden.ok()) << golden.status();
    SimulatedCluster cluster(seed, 2, kPassing[seed % std::size(kPassing)]);
    Outcome first, second;
    if (const auto engine = cluster.Connect(); engine.ok()) RunOn(*engine, *golden, seed, first);
    cluster.Sleep(2 * kSecond + static_cast<int64_t>(cluster.world().Draw(4 * kSecond)));
    const auto engine = cluster.Connect();
    ASSERT_TRUE(engine.ok()) << engine.status();
    RunOn(*engine, *golden, seed, second);
    EXPECT_EQ(second.failed, 0) << second.why;
    EXPECT_GT(second.passed, 0);
  }
}

// A byte is damaged on its way to a worker whose part has not begun, from one whose part is done:
// once nobody told the client, and the part that began then waited for ever.
TEST(Simulation, AValueThatIsLostBeforeItsReaderBeginsFailsTheRun) {
  constexpr uint64_t kSeed = 7165215;
  const auto golden = golden::ReadCase(CaseOf(kSeed));
  ASSERT_TRUE(golden.ok()) << golden.status();
  SimulatedCluster cluster(kSeed, 2, Fault::kDamage);
  const auto engine = cluster.Connect();
  ASSERT_TRUE(engine.ok()) << engine.status();
  Outcome outcome;
  RunOn(*engine, *golden, kSeed, outcome);
  EXPECT_EQ(outcome.failed, 1);
  EXPECT_TRUE(IsAllowed(Fault::kDamage, outcome.why)) << outcome.why;
}

TEST(Simulation, ASeedReplays) {
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    const Outcome first = Simulate(seed), again = Simulate(seed);
    EXPECT_EQ(first.history, again.history) << "seed " << seed;
    EXPECT_EQ(first.why, again.why) << "seed " << seed;
    EXPECT_EQ(first.passed, again.passed) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gyre
