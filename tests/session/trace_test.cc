// A timeline: what is in the file, and that viewers can read it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "gyre/core/debug.h"
#include "session/loops.h"
#include "support/run_text.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::testing {
namespace {

using Json = nlohmann::json;
using ::testing::UnorderedElementsAre;

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

class TraceTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Session> Load(const char* text, SessionOptions options = {}) {
    options.engine = *ParseEngineKind(GetParam());
    return SessionFor(text, options);
  }
  // The file's events.
  Json Written(const TraceRecorder& recorder) {
    const std::string path = folder_.Path("trace.json");
    EXPECT_TRUE(WriteTrace(path, {&recorder}).ok());
    const auto text = ReadFile(path);
    EXPECT_TRUE(text.ok()) << text.status();
    file_ = Json::parse(*text);
    return file_["traceEvents"];
  }
  test::TempFolder folder_;
  Json file_;
};

// The reference engine has one order, and does not say what waited for what.
class DataflowTraceTest : public TraceTest {};

std::vector<Json> Slices(const Json& events, const std::string& category) {
  std::vector<Json> found;
  for (const Json& e : events)
    if (e["ph"] == "X" && e["cat"] == category) found.push_back(e);
  return found;
}

std::map<std::string, int> CountOps(const Json& events) {
  std::map<std::string, int> counts;
  for (const Json& e : events)
    if (e["ph"] == "X" && e["args"].contains("op")) ++counts[e["args"]["op"].get<std::string>()];
  return counts;
}

// Nanoseconds: the file has three digits behind the point of a microsecond.
int64_t Begin(const Json& e) { return std::llround(e["ts"].get<double>() * 1000); }
int64_t End(const Json& e) { return Begin(e) + std::llround(e["dur"].get<double>() * 1000); }
bool Holds(const Json& outer, const Json& inner) {
  return Begin(outer) <= Begin(inner) && End(inner) <= End(outer);
}

// The rule of the format for slices of one track: one holds the other, or they are apart.
void ExpectSlicesNest(const Json& events) {
  std::map<std::pair<int, int>, std::vector<Json>> tracks;
  for (const Json& e : events)
    if (e["ph"] == "X") tracks[{e["pid"], e["tid"]}].push_back(e);
  for (auto& [track, slices] : tracks) {
    std::stable_sort(slices.begin(), slices.end(), [](const Json& a, const Json& b) {
      return Begin(a) != Begin(b) ? Begin(a) < Begin(b) : End(a) > End(b);
    });
    std::vector<Json> open;
    for (const Json& slice : slices) {
      while (!open.empty() && End(open.back()) <= Begin(slice)) open.pop_back();
      const bool nests = open.empty() || Holds(open.back(), slice);
      EXPECT_TRUE(nests) << open << slice;
      open.push_back(slice);
    }
  }
}

TEST_P(TraceTest, CountsOfNodesAreThoseOfTheLoop) {
  auto session = Load(kTokenLoop);
  TraceRecorder recorder;
  const RunOptions options{.observer = &recorder};
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Int(7)}}, "exit:0", options), 7);
  const std::map<std::string, int> counts = CountOps(Written(recorder));
  EXPECT_EQ(counts.at("Merge"), 8);
  EXPECT_EQ(counts.at("LoopCond"), 8);
  EXPECT_EQ(counts.at("Switch"), 8);
  EXPECT_EQ(counts.at("AddV2"), 7);
  EXPECT_EQ(counts.at("NextIteration"), 7);
  EXPECT_EQ(counts.at("Exit"), 1);
  EXPECT_EQ(counts.at("Enter"), 2);
}

TEST_P(TraceTest, IterationsOfAnInnerLoopLieWithinThoseOfTheOuter) {
  auto session = Load(kNestedLoops);
  TraceRecorder recorder;
  const Feeds feeds = {{"outer_n:0", Int(3)}, {"inner_n:0", Int(4)}};
  const RunOptions options{.observer = &recorder};
  EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "x:0", options), 12);
  const Json events = Written(recorder);
  ExpectSlicesNest(events);
  std::map<int, Json> places;
  for (const Json& e : events)
    if (e["ph"] == "X" && !e["args"].contains("op")) places[e["args"]["place"]] = e;
  std::map<std::string, int> iterations;
  for (const auto& [id, place] : places) {
    if (place["cat"] == "iteration") ++iterations[place["name"]];
    const int parent = place["args"]["parent"];
    if (parent < 0) continue;
    EXPECT_LT(parent, id);
    EXPECT_TRUE(Holds(places.at(parent), place)) << places.at(parent) << place;
  }
  EXPECT_EQ(iterations["outer[0]"], 1);
  EXPECT_EQ(iterations["outer[2]"], 1);
  EXPECT_EQ(iterations["inner[0]"], 3);
  EXPECT_EQ(iterations["inner[3]"], 3);
  EXPECT_EQ(iterations["inner[4]"], 3);  // decides to end
  EXPECT_EQ(iterations["inner[5]"], 0);
  for (const Json& e : Slices(events, "node")) {
    if (e["args"]["function"] != "inner_body") continue;
    EXPECT_TRUE(Holds(places.at(e["args"]["place"]), e)) << e;
  }
}

TEST_P(DataflowTraceTest, FiringsNameWhatTheyWaitedFor) {
  auto session = Load(kTokenLoop);
  TraceRecorder recorder;
  const RunOptions options{.observer = &recorder};
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Int(3)}}, "exit:0", options), 3);
  std::map<int, Json> firings;
  for (const Json& e : Slices(Written(recorder), "node")) firings[e["args"]["id"]] = e;
  int merges = 0;
  for (const auto& [id, e] : firings) {
    std::vector<std::string> after;
    for (const int source : e["args"]["after"]) {
      ASSERT_LE(End(firings.at(source)), Begin(e));
      after.push_back(firings.at(source)["name"].get<std::string>() + " " +
                      firings.at(source)["args"]["in"].get<std::string>());
    }
    if (e["name"] == "merge" && e["args"]["in"] == "loop[0]") {
      EXPECT_THAT(after, UnorderedElementsAre("enter "));
      ++merges;
    } else if (e["name"] == "merge" && e["args"]["in"] == "loop[2]") {
      EXPECT_THAT(after, UnorderedElementsAre("next loop[1]"));
      ++merges;
    } else if (e["name"] == "add" && e["args"]["in"] == "loop[1]") {
      EXPECT_THAT(after, UnorderedElementsAre("switch loop[1]", "one loop[1]", "square loop[1]"));
    }
  }
  EXPECT_EQ(merges, 2);
}

TEST_P(DataflowTraceTest, AnyOrderOfNodesGivesTracksThatNest) {
  bool overlapped = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto session =
        Load(kNestedLoops, {.parallel = {.window = 8}, .testing = {.schedule_seed = seed}});
    TraceRecorder recorder;
    const Feeds feeds = {{"outer_n:0", Int(4)}, {"inner_n:0", Int(3)}};
    const RunOptions options{.observer = &recorder};
    EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "x:0", options), 12);
    const Json events = Written(recorder);
    ExpectSlicesNest(events);
    const std::vector<Json> iterations = Slices(events, "iteration");
    for (size_t i = 1; i < iterations.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (iterations[i]["args"]["parent"] != iterations[j]["args"]["parent"]) continue;
        if (End(iterations[i]) <= Begin(iterations[j])) continue;
        if (End(iterations[j]) <= Begin(iterations[i])) continue;
        overlapped = true;
        EXPECT_NE(iterations[i]["tid"], iterations[j]["tid"]);
      }
    }
  }
  EXPECT_TRUE(overlapped) << "no seed made iterations overlap";
}

TEST_P(TraceTest, WhatIsBeyondTheLimitIsCounted) {
  auto session = Load(kTokenLoop);
  TraceRecorder all, some("some", {.max_firings = 10});
  ObserverList both;
  both.Add(&all);
  both.Add(&some);
  const RunOptions options{.observer = &both};
  EXPECT_EQ(RunScalar<int32_t>(*session, {{"n:0", Int(100)}}, "exit:0", options), 100);
  EXPECT_GT(all.recorded(), 800);
  EXPECT_EQ(all.left_out(), 0);
  EXPECT_EQ(some.recorded(), 10);
  EXPECT_EQ(some.left_out(), all.recorded() - 10);
  const Json events = Written(some);
  EXPECT_EQ(Slices(events, "node").size(), 10u);
  EXPECT_EQ(file_["otherData"]["left_out"], all.recorded() - 10);
}

INSTANTIATE_TEST_SUITE_P(Engines, TraceTest, ::testing::Values("dataflow", "reference"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(Engines, DataflowTraceTest, ::testing::Values("dataflow"));

// What an engine would tell of a node called `name`.
Firing FiringOf(absl::string_view name, int64_t start, int64_t end) {
  Firing firing;
  firing.node = name;
  firing.op = "NoOp";
  firing.start_nanos = start;
  firing.end_nanos = end;
  return firing;
}

TEST(TraceFile, AnyNameMakesSoundJson) {
  test::TempFolder folder;
  TraceRecorder recorder("run \"1\"\n");
  const std::string names[] = {"quote\"back\\slash", "line\nfeed\x01", "bad\xff\xfe utf8", "é…"};
  int64_t now = 1000;
  for (const std::string& name : names) {
    ASSERT_TRUE(recorder.OnFired(FiringOf(name, now, now + 5)).ok());
    now += 10;
  }
  const std::string path = folder.Path("t.json");
  ASSERT_TRUE(WriteTrace(path, {&recorder}).ok());
  const Json file = Json::parse(*ReadFile(path));
  std::vector<std::string> found;
  for (const Json& e : Slices(file["traceEvents"], "node")) found.push_back(e["name"]);
  EXPECT_THAT(found, ::testing::ElementsAre(names[0], names[1], "bad\uFFFD\uFFFD utf8", names[3]));
}

TEST(TraceFile, WhatIsWaitedForDoesNotHideWhatRunsMeanwhile) {
  test::TempFolder folder;
  TraceRecorder recorder;
  ASSERT_TRUE(recorder.OnFired(FiringOf("first", 120, 180)).ok());
  ASSERT_TRUE(recorder.OnFired(FiringOf("waited_for", 100, 150)).ok());
  recorder.OnJoined(1, 130, 160);
  const std::string path = folder.Path("t.json");
  ASSERT_TRUE(WriteTrace(path, {&recorder}).ok());
  const Json file = Json::parse(*ReadFile(path));
  ExpectSlicesNest(file["traceEvents"]);
  const std::vector<Json> slices = Slices(file["traceEvents"], "node");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  int woken = 0;
  for (const Json& e : file["traceEvents"]) {
    if (e["ph"] != "i") continue;
    ++woken;
    EXPECT_EQ(e["tid"], 1);
    EXPECT_DOUBLE_EQ(e["ts"].get<double>(), 0.06);
    EXPECT_DOUBLE_EQ(e["args"]["latency_us"].get<double>(), 0.03);
  }
  EXPECT_EQ(woken, 1);
}

TEST(TraceFile, ThreadsThatFireAtOnceLoseNothing) {
  constexpr int kThreads = 4, kEach = 2000;
  TraceRecorder recorder("run", {.max_firings = kThreads * kEach - 100});
  RunOnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      Surrounding loop{.name = "loop", .iteration = i, .instance = 1};
      Firing firing = FiringOf("node", 10 * i, 10 * i + 5);
      firing.around = absl::MakeSpan(&loop, 1);
      firing.thread = thread;
      EXPECT_TRUE(recorder.OnFired(firing).ok());
    }
  });
  EXPECT_EQ(recorder.recorded(), kThreads * kEach - 100);
  EXPECT_EQ(recorder.left_out(), 100);
  test::TempFolder folder;
  const std::string path = folder.Path("t.json");
  ASSERT_TRUE(WriteTrace(path, {&recorder}).ok());
  const Json file = Json::parse(*ReadFile(path));
  ExpectSlicesNest(file["traceEvents"]);
  std::map<int, int> by_thread;
  for (const Json& e : Slices(file["traceEvents"], "node")) ++by_thread[e["tid"]];
  EXPECT_EQ(by_thread.size(), 4u);
  EXPECT_EQ(Slices(file["traceEvents"], "loop").size(), 1u);  // one loop, whoever works on it
}

TEST(TraceFile, AFolderThatIsNotThereIsNamed) {
  const TraceRecorder recorder;
  const absl::Status status = WriteTrace("/nowhere/at/all/t.json", {&recorder});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/nowhere/at/all/t.json"));
}

}  // namespace
}  // namespace gyre::testing
