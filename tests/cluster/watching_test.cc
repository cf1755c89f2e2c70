// Runs on workers that are watched: what observers and probes are told, in whose time, and what it
// may cost.
#include <atomic>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "cluster/messages.h"
#include "cluster/watch/clock_offset.h"
#include "cluster/watch/firings.h"
#include "gmock/gmock.h"
#include "gyre/core/debug.h"
#include "gyre/core/options.h"
#include "support/cluster/loop_on_two.h"
#include "support/cluster/workers.h"
#include "support/run_text.h"
#include "support/temp_folder.h"

namespace gyre::cluster {
namespace {

using test::Workers;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RunScalar;

// A loop that counts on worker 0 and multiplies by w on worker 1.
const std::string kLoop = test::LoopOnTwo("StatelessWhile");
constexpr int kForEver = 2'000'000'000;

Feeds LoopFeeds(int n, float w) {
  return {{"n", Tensor::Scalar(int32_t{n})}, {"w", Tensor::Scalar(w)}};
}

RunOptions WatchedBy(RunObserver* observer) {
  RunOptions options;
  options.observer = observer;
  return options;
}

// Calls a function for each firing.
class Each final : public RunObserver {
 public:
  explicit Each(std::function<absl::Status(const Firing&)> call) : call_(std::move(call)) {}
  absl::Status OnFired(const Firing& firing) override {
    const std::lock_guard lock(mutex_);
    return call_(firing);
  }
  RemoteWatch remote() const override { return {.firings = true, .values = false}; }

 private:
  std::mutex mutex_;
  const std::function<absl::Status(const Firing&)> call_;
};

TEST(WatchedCluster, TellsWhereEachNodeFired) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  std::map<std::string, int> fired;
  std::map<std::string, std::set<int>> threads;  // by device
  std::set<int64_t> iterations;                  // of product
  const int64_t begin = SystemClock().NowNanos();
  Each observer([&](const Firing& firing) {
    ++fired[absl::StrCat(firing.node, " on ", firing.device)];
    threads[std::string(firing.device)].insert(firing.thread);
    EXPECT_LE(begin, firing.start_nanos);
    EXPECT_LE(firing.start_nanos, firing.end_nanos);
    EXPECT_LE(firing.end_nanos, SystemClock().NowNanos());
    EXPECT_TRUE(firing.outputs.empty());
    EXPECT_NE(firing.origin, nullptr);
    if (firing.node == "product") {
      EXPECT_EQ(firing.op, "Mul");
      EXPECT_EQ(firing.bytes, 4);
      EXPECT_EQ(firing.around.size(), 1u);
      EXPECT_EQ(firing.around[0].kind, Surrounding::Kind::kBody);
      EXPECT_EQ(firing.around[0].function, "step");
      iterations.insert(firing.around[0].iteration);
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(10, 2), "loop:2", WatchedBy(&observer)), 1024.0f);
  const std::string device = "/job:worker/replica:0/task:";
  EXPECT_EQ(fired[absl::StrCat("less on ", device, "0/device:CPU:0")], 11);
  EXPECT_EQ(fired[absl::StrCat("next on ", device, "0/device:CPU:0")], 10);
  EXPECT_EQ(fired[absl::StrCat("product on ", device, "1/device:CPU:0")], 10);
  EXPECT_EQ(iterations.size(), 10u);
  EXPECT_EQ(threads.size(), 2u);
  std::set<int> all;
  size_t sum = 0;
  for (const auto& [name, of_device] : threads) {
    all.insert(of_device.begin(), of_device.end());
    sum += of_device.size();
  }
  EXPECT_EQ(all.size(), sum);  // no thread is one of both workers
}

// What is counted of a run does not depend on where it runs.
TEST(WatchedCluster, HasTheStatisticsOfARunInOneProcess) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  SessionOptions options;
  options.devices = "cpu:2";
  options.soft_placement = true;
  auto here = testing::SessionFor(kLoop, options);
  StepStatistics there_statistics, here_statistics;
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(7, 2), "loop:2", WatchedBy(&there_statistics)),
            128.0f);
  EXPECT_EQ(RunScalar<float>(*here, LoopFeeds(7, 2), "loop:2", WatchedBy(&here_statistics)),
            128.0f);
  const auto counts = [](const StepStatistics& statistics) {
    std::map<std::string, std::pair<int64_t, int64_t>> firings;
    for (const NodeStatistics& node : statistics.nodes()) {
      if (!node.is_plumbing) firings[node.function + "/" + node.name] = {node.firings, node.bytes};
    }
    return firings;
  };
  EXPECT_EQ(counts(there_statistics), counts(here_statistics));
  ASSERT_EQ(there_statistics.loops().size(), 1u);
  EXPECT_EQ(there_statistics.loops()[0].iterations, 7);
  EXPECT_EQ(there_statistics.loops()[0].entered, 1);
  EXPECT_GE(there_statistics.peak_bytes(), 0);
}

TEST(WatchedCluster, HasATimelineWithAProcessForEachDevice) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  TraceRecorder recorder("step");
  RunScalar<float>(*session, LoopFeeds(5, 2), "loop:2", WatchedBy(&recorder));
  test::TempFolder folder;
  const std::string path = folder.Path("trace.json");
  ASSERT_TRUE(WriteTrace(path, {&recorder}).ok());
  const auto trace = nlohmann::json::parse(std::ifstream(path));
  std::map<int, std::string> processes;
  std::map<std::string, std::set<int>> where;  // by node: its processes
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "process_name")
      processes[event["pid"]] = event["args"]["name"];
    if (event["ph"] == "X") where[event["name"]].insert(int{event["pid"]});
  }
  EXPECT_EQ(processes.size(), 3u);  // two devices, and loops
  ASSERT_EQ(where["product"].size(), 1u);
  EXPECT_EQ(processes[*where["product"].begin()],
            "step: /job:worker/replica:0/task:1/device:CPU:0");
  ASSERT_EQ(where["less"].size(), 1u);
  EXPECT_EQ(processes[*where["less"].begin()], "step: /job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(where["loop[4]"].size(), 1u);  // the iteration is one, though it ran on both
}

TEST(WatchedCluster, FailsAtTheNodeThatMakesTheFirstNan) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  NanTrap trap;
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3, 2), "loop:2", WatchedBy(&trap)), 8.0f);
  const auto got = session->Run(LoopFeeds(10, 1e30f), {"loop:2"}, {}, WatchedBy(&trap));
  EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()),
              AllOf(HasSubstr("the NaN trap found 0 NaN and 1 Inf"), HasSubstr("at node product"),
                    HasSubstr("iteration 1 of"), HasSubstr("on worker 1")));
}

TEST(WatchedCluster, GivesTheValuesOfOutputsThatAreNamed) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  for (const bool counts : {false, true}) {
    IterationValues values({{"step/product"}, {"step/next"}, {"step/nothing"}, {"w"}});
    StepStatistics statistics;
    ObserverList both;
    if (counts) both.Add(&statistics);
    both.Add(&values);
    const auto got = session->Run(LoopFeeds(5, 2), {"loop:2"}, {}, WatchedBy(&both));
    ASSERT_TRUE(got.ok()) << got.status();
    const auto products = values.Stacked(0), nexts = values.Stacked(1);
    ASSERT_TRUE(products && nexts);
    EXPECT_THAT(products->values<float>(), ElementsAre(2, 4, 8, 16, 32));
    EXPECT_THAT(nexts->values<int32_t>(), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_TRUE(values.Get(2).empty());
    EXPECT_EQ(statistics.nodes().empty(), !counts);
  }
}

// More than is on its way at once, and more than is kept; a variable, and a text.
TEST(WatchedCluster, GivesLargeValuesAndTextsAndWhatVariablesHold) {
  Workers workers(2);
  auto session = workers.SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %value = Const() value=float32{3} : float32
  %var = VariableV2() shape=() dtype=float32 : float32& on "/job:worker/task:1"
  %set = Assign(%var, %value) : float32& on "/job:worker/task:1"
  %loop = StatelessWhile(%zero, %n) cond=@more body=@step : (int32, int32)
}
func @more(%i: int32, %n: int32) -> (p: bool) {
  %less = Less(%i, %n) : bool on "/job:worker/task:0"
  return %less
}
func @step(%i: int32, %n: int32) -> (i: int32, n: int32) {
  %dims = Const() value=int32[1]{1000000} : int32
  %row = Fill(%dims, %i) : int32 on "/job:worker/task:1"
  %text = AsString(%i) : string on "/job:worker/task:1"
  %read = StringToNumber(%text) out_type=int32 : int32 on "/job:worker/task:1"
  %at = Const() value=int32[1]{0} : int32
  %one = Const() value=int32[1]{1} : int32
  %first = Slice(%row, %at, %one) : int32 on "/job:worker/task:1"
  %axis = Const() value=int32{0} : int32
  %same = Sum(%first, %axis) : int32 on "/job:worker/task:1"
  %i2 = AddV2(%same, %read) : int32 on "/job:worker/task:1"
  %two = Const() value=int32{2} : int32
  %half = FloorDiv(%i2, %two) : int32 on "/job:worker/task:1"
  %k = Const() value=int32{1} : int32
  %next = AddV2(%half, %k) : int32 on "/job:worker/task:0"
  return %next, %n
}
)");
  ASSERT_NE(session, nullptr);
  IterationValues values({{"step/row"}, {"step/text"}, {"set"}}, int64_t{100} << 20);
  const auto got =
      session->Run({{"n", Tensor::Scalar(int32_t{30})}}, {"loop:0"}, {"set"}, WatchedBy(&values));
  ASSERT_TRUE(got.ok()) << got.status();
  const auto rows = values.Get(0);
  EXPECT_EQ(rows.size() + values.left_out(0), 30u);
  EXPECT_GT(values.left_out(0), 0);
  for (const IterationValue& row : rows) {
    ASSERT_EQ(row.value.num_elements(), 1'000'000);
    EXPECT_EQ(row.value.values<int32_t>()[999'999], row.iterations[0]);
  }
  const auto texts = values.Get(1);
  ASSERT_EQ(texts.size(), 30u);
  EXPECT_EQ(texts[29].value.scalar<std::string>(), "29");
  ASSERT_EQ(values.Get(2).size(), 1u);
  EXPECT_EQ(values.Get(2)[0].value.scalar<float>(), 3.0f);
}

TEST(WatchedCluster, SaysWhichValueCannotLeaveItsProcess) {
  Workers workers(2);
  auto session = workers.SessionFor(R"(
graph {
  %var = VarHandleOp() shape=() dtype=float32 : resource on "/job:worker/task:1"
  %value = Const() value=float32{3} : float32
  %set = AssignVariableOp(%var, %value) dtype=float32 on "/job:worker/task:1"
}
)");
  ASSERT_NE(session, nullptr);
  IterationValues values({{"var"}});
  const auto got = session->Run({}, {}, {"set"}, WatchedBy(&values));
  EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("watching var"));
}

TEST(WatchedCluster, SaysWhichValueIsTooLargeToBeTold) {
  Workers workers(2);
  auto session = workers.SessionFor(R"(
graph {
  %dims = Const() value=int32[1]{600000000} : int32
  %zero = Const() value=uint8{0} : uint8
  %row = Fill(%dims, %zero) : uint8 on "/job:worker/task:1"
  %size = Size(%row) : int32 on "/job:worker/task:1"
}
)");
  ASSERT_NE(session, nullptr);
  IterationValues values({{"row"}});
  const auto got = session->Run({}, {"size"}, {}, WatchedBy(&values));
  EXPECT_TRUE(absl::IsResourceExhausted(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()),
              HasSubstr("watching row: 600000000 bytes; 536870912 are the most"));
}

TEST(WatchedCluster, RefusesWhoMustHaveAllValues) {
  class Reader final : public RunObserver {
    absl::Status OnFired(const Firing&) override { return absl::OkStatus(); }
  } reader;
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  StepStatistics statistics;
  ObserverList both;
  both.Add(&statistics);
  both.Add(&reader);
  const auto got = session->Run(LoopFeeds(3, 2), {"loop:2"}, {}, WatchedBy(&both));
  EXPECT_TRUE(absl::IsUnimplemented(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()),
              HasSubstr("all values of a run on a cluster cannot be watched"));
  EXPECT_TRUE(Workers::Eventually([&] { return workers.num_busy() == 0; }));
}

TEST(WatchedCluster, AnErrorOfTheObserverEndsTheRun) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  Each observer([](const Firing&) { return absl::OutOfRangeError("I have seen enough"); });
  const auto got = session->Run(LoopFeeds(kForEver, 1), {"loop:2"}, {}, WatchedBy(&observer));
  EXPECT_TRUE(absl::IsOutOfRange(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("I have seen enough"));
  EXPECT_TRUE(Workers::Eventually([&] { return workers.num_busy() == 0; }));
}

// The timeline of a run that failed shows how it got there.
TEST(WatchedCluster, TellsWhatFiredBeforeAnError) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  std::atomic<int> products{0};
  Each each([&](const Firing& firing) {
    products += firing.node == "product" ? 1 : 0;
    return absl::OkStatus();
  });
  NanTrap trap;
  ObserverList both;
  both.Add(&each);
  both.Add(&trap);
  EXPECT_FALSE(session->Run(LoopFeeds(10, 1e30f), {"loop:2"}, {}, WatchedBy(&both)).ok());
  EXPECT_EQ(products, 2);
}

// A client that is slow holds the run back; what waits for it has a bound.
TEST(WatchedCluster, HoldsBackWhatTheClientHasNotTakenIn) {
  constexpr int kMost = 8 + 1;  // pieces, and the last one
  Workers workers(2);
  std::atomic<int> seen{0};
  workers.links().set_taps(
      [&](std::string& bytes) {
        proto::ToWorker message;
        ASSERT_TRUE(message.ParseFromString(bytes));
        seen += message.has_seen() ? 1 : 0;
      },
      nullptr);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  std::atomic<int> products{0};
  std::atomic<bool> has_begun{false}, may_go_on{false};
  Each slow([&](const Firing& firing) {
    has_begun = true;
    while (!may_go_on) std::this_thread::yield();
    products += firing.node == "product" ? 1 : 0;
    return absl::OkStatus();
  });
  constexpr int kIterations = 20'000;
  std::thread run([&] {
    EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(kIterations, 1), "loop:2", WatchedBy(&slow)),
              1.0f);
  });
  // Nothing is taken in, and so neither worker ends, though it has the time.
  EXPECT_TRUE(Workers::Eventually([&] { return has_begun.load(); }));
  const int64_t until = SystemClock().NowNanos() + 200'000'000;
  while (SystemClock().NowNanos() < until) std::this_thread::yield();
  EXPECT_EQ(workers.num_busy(), 2);
  EXPECT_EQ(seen, 0);
  may_go_on = true;
  run.join();
  EXPECT_EQ(products, kIterations);
  EXPECT_GT(seen, 2 * kMost);
}

TEST(WatchedCluster, ARunThatIsHeldBackCanBeCancelled) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  std::atomic<bool> has_begun{false}, may_go_on{false};
  Each stuck([&](const Firing&) {
    has_begun = true;
    while (!may_go_on) std::this_thread::yield();
    return absl::OkStatus();
  });
  Cancellation cancellation;
  RunOptions options = WatchedBy(&stuck);
  options.cancellation = &cancellation;
  std::thread run([&] {
    const auto got = session->Run(LoopFeeds(kForEver, 1), {"loop:2"}, {}, options);
    EXPECT_TRUE(absl::IsCancelled(got.status())) << got.status();
  });
  EXPECT_TRUE(Workers::Eventually([&] { return has_begun.load(); }));
  cancellation.Cancel(absl::CancelledError("enough"));
  EXPECT_TRUE(Workers::Eventually([&] { return workers.num_busy() == 0; }));
  may_go_on = true;
  run.join();
}

// A run that nobody watches says nothing and is asked nothing.
TEST(WatchedCluster, LeavesOtherRunsAlone) {
  Workers workers(2);
  std::atomic<int> watched{0}, told{0};
  workers.links().set_taps(
      [&](std::string& bytes) {
        proto::ToWorker message;
        ASSERT_TRUE(message.ParseFromString(bytes));
        watched += message.has_ask() || message.has_seen() || message.has_ping() ||
                           (message.has_run() && message.run().has_watch())
                       ? 1
                       : 0;
      },
      [&](std::string& bytes) {
        proto::FromWorker message;
        ASSERT_TRUE(message.ParseFromString(bytes));
        told += message.has_fired() || message.has_progress() ? 1 : 0;
      });
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(5, 2), "loop:2"), 32.0f);
  EXPECT_EQ(watched, 0);
  EXPECT_EQ(told, 0);
}

TEST(WatchedCluster, SaysHowFarALoopIs) {
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  std::mutex mutex;
  std::vector<RunProgress> answers;
  ProgressProbe probe([&](const RunProgress& progress) {
    const std::lock_guard lock(mutex);
    answers.push_back(progress);
  });
  Cancellation cancellation;
  RunOptions options;
  options.progress = &probe;
  options.cancellation = &cancellation;
  std::thread run([&] {
    const auto got = session->Run(LoopFeeds(kForEver, 1), {"loop:2"}, {}, options);
    EXPECT_TRUE(absl::IsCancelled(got.status())) << got.status();
  });
  for (size_t asked = 1; asked <= 3; ++asked) {
    probe.Ask();
    EXPECT_TRUE(Workers::Eventually([&] {
      const std::lock_guard lock(mutex);
      return answers.size() == asked;
    }));
  }
  cancellation.Cancel(absl::CancelledError("enough"));
  run.join();
  ASSERT_EQ(answers.size(), 3u);
  for (const RunProgress& answer : answers) {
    if (answer.loops.empty()) continue;  // on its way into the loop
    EXPECT_EQ(answer.loops[0].name, "loop");
  }
  ASSERT_FALSE(answers[2].loops.empty());
  EXPECT_GT(answers[2].loops[0].iteration, 0);
}

// Each worker waits: the answer is what it is that they wait for.
TEST(WatchedCluster, SaysThatAllWait) {
  Workers workers(2);
  auto session = workers.SessionFor(R"(
graph {
  %x = Const() value=float32{1} : float32 on "/job:worker/task:0"
  %queue = FIFOQueueV2() component_types=[float32] : resource on "/job:worker/task:1"
  %never = QueueDequeueV2(%queue) component_types=[float32] : float32 on "/job:worker/task:1"
  %sum = AddV2(%x, %never) : float32 on "/job:worker/task:0"
}
)");
  ASSERT_NE(session, nullptr);
  std::atomic<int> answers{0};
  RunProgress last;
  ProgressProbe probe([&](const RunProgress& progress) {
    last = progress;
    ++answers;
  });
  Cancellation cancellation;
  RunOptions options;
  options.progress = &probe;
  options.cancellation = &cancellation;
  std::thread run([&] { EXPECT_FALSE(session->Run({}, {"sum"}, {}, options).ok()); });
  for (int asked = 1; asked == 1 || !last.is_waiting; ++asked) {
    probe.Ask();
    const bool is_answered = Workers::Eventually([&] { return answers == asked; });
    EXPECT_TRUE(is_answered);
    if (!is_answered) break;
  }
  cancellation.Cancel(absl::CancelledError("enough"));
  run.join();
  EXPECT_TRUE(last.node == "never" || absl::StrContains(last.node, "recv")) << last.node;
}

// The client's clock is ahead of the workers': times are the client's.
TEST(WatchedCluster, MapsTimesToTheClientsClock) {
  constexpr int64_t kAhead = Workers::kFailureNanos / 2;
  Workers workers(2);
  auto session = workers.SessionFor(kLoop);
  ASSERT_NE(session, nullptr);
  workers.PutClientsForward(kAhead);
  const int64_t begin = SystemClock().NowNanos() + kAhead;
  int64_t first = INT64_MAX, last = 0;
  int lasting = 0;  // firings that took their time
  Each observer([&](const Firing& firing) {
    first = std::min(first, firing.start_nanos);
    last = std::max(last, firing.end_nanos);
    lasting += firing.end_nanos > firing.start_nanos ? 1 : 0;
    return absl::OkStatus();
  });
  RunScalar<float>(*session, LoopFeeds(100, 1), "loop:2", WatchedBy(&observer));
  EXPECT_GE(first, begin);
  EXPECT_LE(last, SystemClock().NowNanos() + kAhead);
  EXPECT_GT(lasting, 0);  // rather than all being put at one end of the run
}

// A run is between two looks at the client's clock, and so are its firings: an estimate that says
// otherwise, taken of a busy network or before a clock was set, gives way.
TEST(ClockOffset, PutsFiringsWithinTheirRun) {
  proto::Firings firings;
  firings.add_firings()->set_start_nanos(1000);
  firings.mutable_firings(0)->set_end_nanos(1400);
  const auto offset = [&](int64_t estimate) {
    return FittingOffset(firings.SerializeAsString(),
                         {.offset_nanos = estimate, .first_nanos = 50'000, .last_nanos = 60'000});
  };
  EXPECT_EQ(offset(-50'000), -50'000);        // from 51,000 to 51,400
  EXPECT_EQ(1000 - offset(0), 50'000);        // the earliest that it can be
  EXPECT_EQ(1400 - offset(-80'000), 60'000);  // the latest
}

TEST(ClockOffset, IsTakenFromTheShortestRoundTrip) {
  ClockOffset clock;
  EXPECT_EQ(clock.nanos(), 0);
  clock.Add(1000, 500'000, 9000);  // 495,000 ahead, give or take 4,000
  EXPECT_EQ(clock.nanos(), 495'000);
  clock.Add(10'000, 510'500, 11'000);
  EXPECT_EQ(clock.nanos(), 500'000);
  clock.Add(20'000, 530'000, 40'000);  // tells less
  EXPECT_EQ(clock.nanos(), 500'000);
  // An hour later the clocks may have drifted by 0.36 s: the old one tells less than this.
  constexpr int64_t kHour = 3'600'000'000'000;
  clock.Add(kHour, kHour + 600'000, kHour + 100'000);
  EXPECT_EQ(clock.nanos(), 550'000);
}

TEST(ClockOffset, OfOneClockIsNone) {
  ClockOffset clock;
  clock.Add(1'000'000, 1'080'000, 1'100'000);
  EXPECT_EQ(clock.nanos(), 0);
}

TEST(ClockOffset, PassesOverWhatNoClockShows) {
  ClockOffset clock;
  clock.Add(1000, INT64_MAX, 2000);
  clock.Add(1000, INT64_MIN, 2000);
  clock.Add(1000, 0, 2000);
  clock.Add(2000, 100'000, 1000);
  EXPECT_EQ(clock.nanos(), 0);
}

}  // namespace
}  // namespace gyre::cluster
