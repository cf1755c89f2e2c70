// The exploring scheduler: whatever the order in which ready nodes run, and however many iterations
// are in flight, a program's results are those of the reference engine, bit by bit.
#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "support/run_text.h"
#include "support/transcript.h"

namespace gyre::testing {
namespace {

constexpr int kSeeds = 1000;
constexpr int kWindows[] = {0, 1, 2, 3, 32};

class Schedules {
 public:
  explicit Schedules(const std::vector<std::string>& groups) : cases_(LoadCases(groups)) {
    SessionOptions reference;
    reference.engine = EngineKind::kReference;
    reference.seed = kSessionSeed;
    for (const LoadedCase& one : cases_) want_.push_back(RunCase(one, reference));
  }
  size_t size() const { return cases_.size(); }

  // Runs a case in the order that `seed` draws.
  void Check(size_t index, uint64_t seed) {
    std::mt19937_64 random(seed);
    SessionOptions options;
    options.engine = EngineKind::kDataflow;
    options.seed = kSessionSeed;
    options.testing.schedule_seed = seed;
    options.parallel.window = kWindows[random() % std::size(kWindows)];
    const auto difference = BitDifference(RunCase(cases_[index], options), want_[index]);
    EXPECT_FALSE(difference) << cases_[index].golden.id() << " with --schedule-seed=" << seed
                             << " --window=" << options.parallel.window << ": " << *difference;
  }

 private:
  static constexpr uint64_t kSessionSeed = 7;
  const std::vector<LoadedCase> cases_;
  std::vector<std::vector<RunResult>> want_;
};

// Seeds 1 to 1,000, each on so many of the cases: all of them under --long.
void CheckSeeds(const std::vector<std::string>& groups, size_t cases_per_seed) {
  Schedules schedules(groups);
  ASSERT_GT(schedules.size(), 20u);
  std::mt19937_64 random(TestSeed());
  std::vector<size_t> order(schedules.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  size_t next = order.size();
  const size_t per_seed = IsLongTest() ? order.size() : cases_per_seed;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    for (size_t i = 0; i < per_seed; ++i) {
      if (next == order.size()) {
        std::shuffle(order.begin(), order.end(), random);
        next = 0;
      }
      schedules.Check(order[next++], seed);
      if (::testing::Test::HasFailure()) {
        FAIL() << "with GYRE_TEST_SEED=" << TestSeed();  // one order to replay is enough
      }
    }
  }
}

TEST(Schedules, PrimitivesLoopsAndFunctionsMeanTheSameInEveryOrder) {
  CheckSeeds({"primitives", "while_v1", "while_v2", "functions"}, 12);
}

TEST(Schedules, FuzzedProgramsMeanTheSameInEveryOrder) { CheckSeeds({"fuzz"}, 6); }

// The names of nodes, in the order in which they fire.
class Order final : public RunObserver {
 public:
  absl::Status OnFired(const Firing& firing) override {
    names_.emplace_back(firing.node);
    return absl::OkStatus();
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

TEST(Schedules, AreReplayedFromTheirSeed) {
  std::string text = "graph {\n  %x = Const() value=float32{1} : float32\n";
  for (int i = 0; i < 10; ++i) absl::StrAppend(&text, "  %n", i, " = Neg(%x) : float32\n");
  absl::StrAppend(&text,
                  "  %all = NoOp(^%n0, ^%n1, ^%n2, ^%n3, ^%n4, ^%n5, ^%n6, ^%n7, ^%n8, ^%n9)\n}");
  const auto order = [&](uint64_t seed) {
    SessionOptions options;
    options.engine = EngineKind::kDataflow;
    options.testing.schedule_seed = seed;
    const auto session = SessionFor(text, options);
    Order observer;
    RunOptions run;
    run.observer = &observer;
    EXPECT_TRUE(session->Run({}, {}, {"all"}, run).ok());
    return observer.names();
  };
  EXPECT_EQ(order(5), order(5));
  EXPECT_NE(order(5), order(6));
}

}  // namespace
}  // namespace gyre::testing
