// Watching runs from the command line: `gyre run --trace | --stats | --trap-nan | --fetch-each`,
// `gyre trace`, and where a run says it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/gyre.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

using test::TempFolder;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// `total` = 0 + 1 + … while below n, in a While; `hello` prints.
constexpr char kGraph[] = R"(program

graph {
  %n = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=float32{0} : float32
  %loop = While(%zero, %zero, %n) T=[float32, float32, float32] cond=@below body=@add : (float32, float32, float32)
  %total = Identity(%loop:1) : float32
  %text = Const() value=string{"hello"} : string
  %hello = PrintV2(%text)
}

func @below(%i: float32, %x: float32, %n: float32) -> (go: bool) {
  %go = Less(%i, %n) : bool
  return %go
}

func @add(%i: float32, %x: float32, %n: float32) -> (i1: float32, x1: float32, n1: float32) {
  %one = Const() value=float32{1} : float32
  %next = AddV2(%i, %one) : float32
  %sum = AddV2(%x, %i) : float32
  return %next, %sum, %n
}
)";

class Watching : public ::testing::Test {
 protected:
  Watching() : graph_(folder_.Write("sum.gyre", kGraph)), trace_(folder_.Path("trace.json")) {}

  Ran Run(const std::vector<std::string>& more, const std::string& n = "4") {
    std::vector<std::string> words = {"run", graph_, "--feed", "n=" + n, "--fetch", "total"};
    words.insert(words.end(), more.begin(), more.end());
    return Gyre(words);
  }
  // What `gyre trace` says of a file with this content.
  Ran TraceOf(const std::string& content) {
    return Gyre({"trace", folder_.Write("any.json", content)});
  }

  TempFolder folder_;
  std::string graph_;
  std::string trace_;
};

TEST_F(Watching, TraceIsWrittenAndSummedUp) {
  const Ran ran = Run({"--trace", trace_, "--threads=1"});
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_EQ(ran.out, "total float32[] = 6\n");
  EXPECT_THAT(ran.err, ContainsRegex("wrote a timeline of [0-9]+ firings to .*trace.json"));
  const Ran summary = Gyre({"trace", trace_, "--top", "100"});
  EXPECT_EQ(summary.code, kSuccess) << summary.err;
  EXPECT_THAT(summary.out, AllOf(ContainsRegex("run: [0-9]+ firings in .* on 1 thread, "),
                                 ContainsRegex("\n  LoopCond +5 "),        // per op
                                 ContainsRegex("\n  NextIteration +8 "),   // two are carried
                                 ContainsRegex("\n  add/sum +AddV2 +4 "),  // per node
                                 ContainsRegex("\n  below/go +Less +5 "),
                                 ContainsRegex("\n  loop +1 +5 +[0-9.]+ [^ ]+ +[0-9.]+ +[0-9]+ ")));
  EXPECT_THAT(summary.out, HasSubstr("taken from another thread's queue: 0"));
}

TEST_F(Watching, EachRunOfASessionHasItsPartOfTheTimeline) {
  const Ran ran =
      Run({"--init", "hello", "--trace", trace_, "--then", "--feed", "n=2", "--fetch", "total"});
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  const Ran summary = Gyre({"trace", trace_, "--top", "100"});
  EXPECT_THAT(
      summary.out,
      AllOf(ContainsRegex("init hello: [0-9]+ firings"), ContainsRegex("run 1: [0-9]+ firings"),
            ContainsRegex("run 2: [0-9]+ firings"), ContainsRegex("PrintV2 +1 ")));
}

TEST_F(Watching, TraceLimitSaysHowManyAreMissing) {
  const Ran ran = Run({"--trace", trace_, "--trace-limit", "20"}, "100");
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("a timeline of 20 firings"),
                             ContainsRegex("[0-9]+ later firings were left out")));
  EXPECT_THAT(Gyre({"trace", trace_}).out, HasSubstr("The timeline is not complete"));
  EXPECT_EQ(Run({"--trace-limit", "20"}).code, kMisuse);
  EXPECT_EQ(Run({"--trace", trace_, "--trace-limit", "0"}).code, kMisuse);
}

TEST_F(Watching, ARunThatFailsLeavesItsTimeline) {
  const Ran ran = Run({"--trace", trace_, "--timeout", "20"}, "inf");
  EXPECT_EQ(ran.code, kFailure);
  EXPECT_THAT(ran.err, HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_EQ(Gyre({"trace", trace_}).code, kSuccess);
}

TEST_F(Watching, ATimelineThatCannotBeWrittenIsAFailure) {
  const Ran ran = Run({"--trace", folder_.path()});
  EXPECT_EQ(ran.code, kFailure);
  EXPECT_THAT(ran.err, HasSubstr("cannot write"));
  EXPECT_EQ(ran.out, "total float32[] = 6\n");
  // Who will not be able to write it is told before the run.
  const Ran early = Run({"--trace", folder_.Path("no/such/folder/t.json")});
  EXPECT_EQ(early.code, kMisuse);
  EXPECT_THAT(early.err, HasSubstr("there is no folder "));
  EXPECT_EQ(early.out, "");
}

TEST_F(Watching, StatisticsListNodesAndLoops) {
  const Ran ran = Run({"--stats"});
  EXPECT_EQ(ran.out, "total float32[] = 6\n");
  EXPECT_THAT(ran.err, AllOf(ContainsRegex("add/sum +AddV2 +4 .* 16 B\n"),
                             ContainsRegex("loop +1 +4 +4\n")));
}

TEST_F(Watching, TrapNanFailsTheRunWhereTheFirstInfinityIsMade) {
  EXPECT_EQ(Run({"--trap-nan"}).code, kSuccess);
  const std::string logs = folder_.Write("log.gyre", R"(program

graph {
  %x = Placeholder() dtype=float32 : float32
  %log = Log(%x) : float32
  %y = Neg(%log) : float32
}
)");
  const Ran ran = Gyre({"run", logs, "--feed", "x=[1,0]", "--fetch", "y", "--trap-nan"});
  EXPECT_EQ(ran.code, kFailure);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("0 NaN and 1 Inf in output 0, float32[2]"),
                             HasSubstr("at node log (Log)")));
}

TEST_F(Watching, FetchEachPrintsOneRowPerIteration) {
  const Ran ran = Run({"--fetch-each", "add/sum,below/go", "--fetch-each", "total:0"});
  EXPECT_EQ(ran.out,
            "total float32[] = 6\n"
            "add/sum in each iteration of loop: float32[4] = [0 1 3 6]\n"
            "below/go in each iteration of loop: bool[5] = [1 1 1 1 0]\n"
            "total:0 float32[] = 6\n");
}

// On processes that are started for it: `total` is added up on the second of them.
TEST_F(Watching, RunsOnWorkersAreWatchedToo) {
  const std::string graph =
      folder_.Write("two.gyre", absl::StrReplaceAll(kGraph, {{"%sum = AddV2(%x, %i) : float32",
                                                              "%sum = AddV2(%x, %i) : float32 on "
                                                              "\"/job:worker/task:1\""}}));
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run",    graph, "--cluster", "local:2",
                                      "--feed", "n=4", "--fetch",   "total"};
    words.insert(words.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int code =
        Main(words, Streams{.out = out, .err = err, .restart = {test::BuildPath("bin/gyre")}});
    return Ran{code, out.str(), err.str()};
  };
  const Ran ran = run({"--trace", trace_, "--stats", "--trap-nan"});
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_EQ(ran.out, "total float32[] = 6\n");
  // The slowest nodes alone are listed: those that wait for the other worker are among them.
  EXPECT_THAT(
      ran.err,
      AllOf(ContainsRegex("_Recv +[0-9]+ .* B +/job:worker/replica:0/task:1/device:CPU:0\n"),
            ContainsRegex("loop +1 +4 +4\n")));
  const Ran summary = Gyre({"trace", trace_, "--top", "100"});
  EXPECT_THAT(summary.out,
              AllOf(ContainsRegex("^run: [0-9]+ firings in "),
                    ContainsRegex("\n  add/sum +AddV2 +4 "), ContainsRegex("\n  loop +1 +5 ")));
  const Ran each = run({"--fetch-each", "add/sum"});
  EXPECT_EQ(each.code, kSuccess) << each.err;
  EXPECT_EQ(each.out,
            "total float32[] = 6\n"
            "add/sum in each iteration of loop: float32[4] = [0 1 3 6]\n");
}

// The same sum as a loop of primitives, whose nodes are those of functions in other forms.
constexpr char kPrimitives[] = R"(program

graph {
  %n = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=float32{0} : float32
  %one = Const() value=float32{1} : float32
  %enter = Enter(%zero) frame_name="f"
  %limit = Enter(%n) frame_name="f" is_constant=true
  %by = Enter(%one) frame_name="f" is_constant=true
  %merge = Merge(%enter, %next)
  %below = Less(%merge, %limit)
  %goes = LoopCond(%below)
  %switch = Switch(%merge, %goes)
  %add = AddV2(%switch:1, %by)
  %next = NextIteration(%add)
  %total = Exit(%switch)
}
)";

TEST_F(Watching, FetchEachTakesNamesOfTheFormThatRuns) {
  const std::string graph = folder_.Write("primitives.gyre", kPrimitives);
  const auto run = [&](const std::string& form, const std::string& name) {
    return Gyre(
        {"run", graph, "--feed", "n=3", "--fetch", "total", "--form", form, "--fetch-each", name});
  };
  for (const std::string form : {"imported", "raised", "optimized"}) {
    const Ran ran = run(form, "add");
    EXPECT_EQ(ran.code, kSuccess) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("add in each iteration of f: float32[3] = [1 2 3]\n"));
  }
  EXPECT_THAT(run("raised", "f/body/add").out, HasSubstr("float32[3] = [1 2 3]\n"));
  EXPECT_EQ(run("raised", "switch").code, kMisuse);
  const Ran fetched = Gyre({"run", graph, "--feed", "n=3", "--fetch", "add"});
  EXPECT_THAT(fetched.err, AllOf(HasSubstr("cannot fetch add"), HasSubstr("--fetch-each")));
}

TEST_F(Watching, FetchEachKnowsWhatThereIs) {
  const Ran wrong = Run({"--fetch-each", "add/sun"});
  EXPECT_EQ(wrong.code, kMisuse);
  EXPECT_THAT(wrong.err, HasSubstr("add/sum"));
  EXPECT_EQ(Run({"--fetch-each", "add/sum:1"}).code, kMisuse);
  EXPECT_EQ(Run({"--fetch-each", "add/sum:x"}).code, kMisuse);
  const Ran unused = Run({"--fetch-each", "hello"});
  EXPECT_EQ(unused.code, kMisuse) << "has no outputs";
  const Ran never = Run({"--fetch-each", "add/sum"}, "0");
  EXPECT_EQ(never.code, kSuccess);
  EXPECT_THAT(never.err, HasSubstr("add/sum made no value"));
}

TEST_F(Watching, MalformedTimelinesAreRefusedInWords) {
  EXPECT_EQ(Gyre({"trace", folder_.Path("missing.json")}).code, kMisuse);
  for (const char* content : {"", "{", "hello", "{\"a\":1}", "42", "[1,2", "{\"traceEvents\":[{}",
                              "\xff\xfe", "{\"traceEvents\":[{\"ph\":\"\xff\"}]}"}) {
    const Ran ran = TraceOf(content);
    EXPECT_EQ(ran.code, kFailure) << content;
    EXPECT_THAT(ran.err, HasSubstr("is no timeline")) << content;
  }
}

TEST_F(Watching, MalformedEventsAreNoReasonToFail) {
  const Ran empty = TraceOf("[]");
  EXPECT_EQ(empty.code, kSuccess);
  EXPECT_EQ(empty.out, "the timeline is empty\n");
  const std::string events = R"(
    1, null, [], "x", {}, {"ph":1}, {"ph":"X"}, {"ph":"X","ts":"0","dur":1},
    {"ph":"X","ts":1e300,"dur":1}, {"ph":"X","ts":0,"dur":-1}, {"ph":"X","ts":0,"dur":1e999},
    {"ph":"X","ts":0,"dur":1,"pid":"a","tid":1.5,"name":7,"args":[1]},
    {"ph":"X","ts":0,"dur":1e12,"args":{"op":"Far","id":3,"place":99,"after":[3,4,-1,"x",1e9]}},
    {"ph":"X","ts":0,"dur":1e12,"args":{"op":"Far","id":3,"place":2,"after":[3,3]}},
    {"ph":"X","ts":5,"dur":1,"pid":1,"cat":"loop","args":{"place":2,"parent":7}},
    {"ph":"X","ts":5,"dur":1,"pid":1,"cat":"iteration","args":{"place":3,"parent":2}},
    {"ph":"X","ts":5,"dur":1,"pid":1,"cat":"loop","args":{"place":9223372036854775807}},
    {"ph":"M","name":"process_name","args":{"name":[]}}, {"ph":"i","cat":"waking","args":{}})";
  for (const std::string& content :
       {absl::StrCat("[", events, "]"),
        absl::StrCat("{\"x\":{\"traceEvents\":[{}]},\"traceEvents\":[", events,
                     "],\"otherData\":{\"left_out\":\"x\"}}")}) {
    if (absl::StrContains(content, "1e999")) {
      EXPECT_EQ(TraceOf(content).code, kFailure);  // no number of JSON's fits in a double
    }
    const Ran ran = TraceOf(absl::StrReplaceAll(content, {{"1e999", "1e99"}}));
    EXPECT_EQ(ran.code, kSuccess) << ran.err;
    EXPECT_THAT(ran.out, ContainsRegex("Far +2 "));
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  EXPECT_EQ(TraceOf(deep).code, kFailure);
}

// Damage of all kinds: the answer is a summary or a sentence.
TEST_F(Watching, MalformedBytesNeverCrash) {
  ASSERT_EQ(Run({"--trace", trace_}).code, kSuccess);
  const std::string good = *ReadFile(trace_);
  uint64_t state = 12345;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    for (uint64_t n = 1 + random(5); n > 0; --n) {
      const size_t at = random(bad.size());
      if (random(3) == 0) {
        bad.erase(at, random(200));
      } else {
        bad[at] = "0123456789-e.,[]{}\"x\xff"[random(21)];
      }
    }
    const Ran ran = TraceOf(bad);
    EXPECT_TRUE(ran.code == kSuccess || ran.code == kFailure);
    EXPECT_NE(ran.out + ran.err, "");
  }
}

TEST_F(Watching, ChainOfASummaryIsTheLongestByTime) {
  // Two iterations of 10 µs: a and b run side by side in each, and b waits for the b before it.
  const Ran ran = TraceOf(R"([
    {"ph":"X","ts":0,"dur":20,"pid":2,"cat":"loop","args":{"name":"l","place":0,"parent":-1}},
    {"ph":"X","ts":0,"dur":12,"pid":2,"cat":"iteration","args":{"place":1,"parent":0}},
    {"ph":"X","ts":8,"dur":12,"pid":2,"cat":"iteration","args":{"place":2,"parent":0}},
    {"ph":"X","ts":0,"dur":9,"pid":1,"tid":0,"name":"a","args":{"op":"A","place":1,"id":0}},
    {"ph":"X","ts":0,"dur":8,"pid":1,"tid":1,"name":"b","args":{"op":"B","place":1,"id":1}},
    {"ph":"X","ts":9,"dur":9,"pid":1,"tid":0,"name":"a","args":{"op":"A","place":2,"id":2}},
    {"ph":"X","ts":8,"dur":8,"pid":1,"tid":1,"name":"b","args":{"op":"B","place":2,"id":3,"after":[1],"taken":true}}
  ])");
  EXPECT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("4 firings in 18.0 µs on 2 threads, 1.89 of them busy"),
                             ContainsRegex("l +1 +2 +10.0 µs +1.20 +2 +1.70 +16.0 µs in 2 +80 %"),
                             HasSubstr("taken from another thread's queue: 1")));
}

TEST(Progress, SaysWhereEachLoopIsAndHowFast) {
  ProgressSample last{{"mul", {{"outer", 10, 1}, {"inner", 100, 2}}}, 1'000'000'000};
  ProgressSample now{{"add", {{"outer", 10, 1}, {"inner", 10'100, 2}}}, 1'500'000'000};
  EXPECT_EQ(DescribeProgress(last, now),
            "1.5 s: iteration 10 of outer, 10100 of inner (20.0k/s), at add");
  now.progress.loops[0].iteration = 11;  // its inner loop is another one
  EXPECT_EQ(DescribeProgress(last, now),
            "1.5 s: iteration 11 of outer (2.0/s), 10100 of inner, at add");
  now.progress.is_waiting = true;
  now.progress.loops.clear();
  EXPECT_EQ(DescribeProgress(last, now), "1.5 s: waiting for add");
}

TEST(Tables, UnitsFitTheValue) {
  EXPECT_EQ(Duration(870), "870 ns");
  EXPECT_EQ(Duration(12'345), "12.3 µs");
  EXPECT_EQ(Duration(7.891e9), "7.89 s");
  EXPECT_EQ(ByteCount(1536), "1.50 KiB");
  EXPECT_EQ(ShortCount(999), "999");
}

TEST_F(Watching, SignalMakesARunSayWhereItIs) {
  for (const char* engine : {"dataflow", "reference"}) {
    test::Process process({test::BuildPath("bin/gyre"), "run", graph_, "--feed", "n=inf", "--fetch",
                           "total", "--init", "hello", "--engine", engine, "--timeout", "60000"},
                          STDERR_FILENO);
    ASSERT_EQ(process.NextLine(), "hello");
    // It may be asked before it has reached the loop.
    std::string line;
    for (int i = 0; i < 1000 && !absl::StrContains(line, "iteration"); ++i) {
      process.Signal(SIGUSR1);
      line = process.NextLine();
      ASSERT_NE(line, "");
    }
    EXPECT_THAT(line, ContainsRegex("^gyre run: [0-9.]+ s: iteration [0-9]+ of loop.*, at "));
  }
}

}  // namespace
}  // namespace gyre::cli
