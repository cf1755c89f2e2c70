// `gyre check` on small folders of golden cases, good ones and bad ones: what passes, what fails,
// and what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/gyre.h"
#include "golden/cuts.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

using test::TempFolder;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// y = x + 1 on float32, where x is fed.
constexpr char kGraph[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { unknown_rank: true } } } }
node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
node { name: "y" op: "AddV2" input: "x" input: "one" attr { key: "T" value { type: DT_FLOAT } } }
)";
// An op that nobody knows.
constexpr char kUnknownOp[] = R"(node { name: "boom" op: "NoSuchOp" })";

class Check : public testing::Test {
 protected:
  // A case in group `g` whose one step feeds x with `x` and has these further members.
  void Add(const std::string& name, const std::string& x, const std::string& rest,
           const std::string& more = "") {
    AddCase(name, absl::StrCat(R"("steps":[{"feeds":{"x:0":{"dtype":"float32","shape":[2],"data":)",
                               x, R"(}},"fetches":["y:0"],)", rest, "}]", more));
  }
  void AddCase(const std::string& name, const std::string& members,
               const std::string& graph = kGraph) {
    folder_.Write(absl::StrCat("g/", name, "/case.json"),
                  absl::StrCat(R"({"group":"g","name":")", name,
                               R"(","doc":"Adds.","tags":["sums"],)", members, "}"));
    folder_.Write(absl::StrCat("g/", name, "/graph.pb"), graph);
  }
  static std::string Expect(const std::string& data, const std::string& dtype = "float32") {
    return absl::StrCat(R"("expect":[{"dtype":")", dtype, R"(","shape":[2],"data":)", data,
                        R"(}],"rtol":1e-6,"atol":0)");
  }
  Ran Run(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"check", folder_.path()});
    return Gyre(options);
  }

  TempFolder folder_;
};

TEST_F(Check, GoodCasesPass) {
  Add("a", "[1,2]", Expect("[2,3]"));
  Add("b", "[0,-1]", Expect("[1,0]"));
  const Ran ran = Run();
  EXPECT_EQ(ran.out, "2 passed, 0 failed, 0 skipped\n");
  EXPECT_EQ(ran.code, kSuccess);
  EXPECT_EQ(ran.err, "");
}

TEST_F(Check, GoodCasesPassInEveryForm) {
  EXPECT_EQ(Run({"--form=imported"}).out, Run({}).out);
  EXPECT_EQ(Run({"--form=optimized", "--passes-order-seed=5"}).out, Run({}).out);
}

// Of y = x + 1, where x is fed, one edge may be cut: that from the constant.
TEST_F(Check, SaysWhichEdgesAreCut) {
  Add("a_sum", "[1,2]", Expect("[2,3]"));
  AddCase("b_constant", R"("steps":[{"fetches":["one:0"],"expect":[)"
                        R"({"dtype":"float32","shape":[],"data":[1]}],"rtol":0,"atol":0}])");
  EXPECT_THAT(Run({"--verbose"}).out, Not(HasSubstr("cut")));
  std::set<std::string> seen;
  for (int seed = 1; seed <= 20; ++seed) {
    const Ran ran = Run({"--devices=cpu:2", absl::StrCat("--spread=", seed), "--verbose"});
    EXPECT_EQ(ran.code, kSuccess);
    const bool is_cut = absl::StrContains(ran.out, "): 1 of 1 edges cut\n");
    EXPECT_NE(is_cut, absl::StrContains(ran.out, "): 0 of 1 edges cut\n")) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("): no edge to cut: a run needs no more than one node\n"));
    const std::string summary = is_cut ? "1 of 1 cases that have some to cut (100 %); 1 have none"
                                       : "0 of 1 cases that have some to cut (0 %); 1 have none";
    EXPECT_THAT(ran.out, EndsWith(absl::StrCat("\nan edge is cut in ", summary,
                                               "\n2 passed, 0 failed, 0 skipped\n")));
    seen.insert(summary);
  }
  EXPECT_EQ(seen.size(), 2u);
}

// What `gyre check --spread` is worth: most programs are cut somewhere, whatever the seed.
TEST(CheckSpread, CutsFourOfFiveGoldenCases) {
  const auto folders = golden::FindCases(test::SourcePath("tests/golden"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  SessionOptions options;
  options.devices = "cpu:2";
  options.soft_placement = true;
  std::map<uint64_t, int> cut;
  int eligible = 0, without = 0;
  for (const std::string& folder : *folders) {
    const auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    const auto session = Session::Load(golden->graph_path(), options);
    if (!session.ok() || golden->load_error || golden->steps.empty()) continue;
    bool has_edges = false;
    for (const uint64_t seed : {1, 2, 3}) {
      options.testing.spread_seed = seed;
      const golden::CaseCuts cuts = golden::CountCuts(*golden, **session, options);
      EXPECT_EQ(cuts.why_not.empty(), cuts.edges > 0);
      has_edges = cuts.edges > 0;
      cut[seed] += cuts.cut > 0 ? 1 : 0;
    }
    ++(has_edges ? eligible : without);
  }
  std::printf("  %d cases with edges to cut, %d without\n", eligible, without);
  EXPECT_GT(eligible, 900);
  for (const auto& [seed, n] : cut) EXPECT_GE(n * 10, eligible * 8) << "seed " << seed;
}

TEST_F(Check, SaysHowManyLoopsAreNative) {
  const std::string loops = test::SourcePath("tests/golden/while_v2");
  const auto line = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words = {"check", loops};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = Gyre(words);
    EXPECT_EQ(ran.code, kSuccess) << ran.out;
    const size_t begin = ran.out.find("native: ");
    return begin == ran.out.npos ? "" : ran.out.substr(begin, ran.out.find('\n', begin) - begin);
  };
  const std::string told = line({"--engine=compiled"});
  EXPECT_THAT(told,
              MatchesRegex("native: [0-9]+ of [0-9]+ \\([0-9]+ %\\) loops and [0-9]+ of [0-9]+ "
                           "\\([0-9]+ %\\) conditionals"));
  EXPECT_EQ(line({}), "");
  Add("no_loop", "[1,2]", Expect("[2,3]"));
  EXPECT_EQ(Run({"--engine=compiled"}).out, "1 passed, 0 failed, 0 skipped\n");
}

TEST_F(Check, AWrongValueFailsAndSaysWhichElement) {
  Add("good", "[1,2]", Expect("[2,3]"));
  Add("bad", "[1,2]", Expect("[2,4]"));
  const Ran ran = Run();
  EXPECT_EQ(ran.code, kFailure);
  EXPECT_THAT(ran.out,
              StartsWith("FAIL  g/bad: step 0: y:0 at [1] got 3, want 4; 1 of 2 elements differ"));
  EXPECT_THAT(ran.out, EndsWith("\n1 passed, 1 failed, 0 skipped\n"));
}

TEST_F(Check, AWrongTypeFails) {
  Add("bad", "[1,2]", Expect("[2,3]", "float64"));
  EXPECT_THAT(Run().out, HasSubstr("y:0 got float32[2], want float64[2]"));
}

TEST_F(Check, StepsAreRunInOrderUpToTheFirstFailure) {
  const std::string feed =
      R"({"feeds":{"x:0":{"dtype":"float32","shape":[],"data":[1]}},"fetches":["y:0"],)";
  const auto expect = [](int value) {
    return absl::StrCat(R"("expect":[{"dtype":"float32","shape":[],"data":[)", value, "]}]}");
  };
  AddCase("bad", absl::StrCat(R"("steps":[)", feed, expect(2), ",", feed, expect(5), ",", feed,
                              expect(7), "]"));
  const Ran ran = Run();
  EXPECT_THAT(ran.out, HasSubstr("g/bad: step 1: y:0 got 2, want 5"));
  EXPECT_THAT(ran.out, Not(HasSubstr("step 2")));
}

TEST_F(Check, AnExpectedErrorMustComeWithItsCodeAndWords) {
  const std::string unfed = R"("steps":[{"fetches":["y:0"],"error":{"code":)";
  AddCase("a_good", unfed + R"("INVALID_ARGUMENT","message_contains":"X"}}])");
  AddCase("b_either", unfed + R"("ABORTED","tf_code":"INVALID_ARGUMENT"}}])");
  AddCase("c_code", unfed + R"("ABORTED"}}])");
  AddCase("d_words", unfed + R"("INVALID_ARGUMENT","message_contains":"elephant"}}])");
  Add("e_none", "[1,2]", R"("error":{"code":"ABORTED","tf_code":"OK"})");
  const Ran ran = Run();
  EXPECT_THAT(ran.out, HasSubstr("g/c_code: step 0: got INVALID_ARGUMENT ("));
  EXPECT_THAT(ran.out, HasSubstr("want a message with 'elephant'"));
  EXPECT_THAT(ran.out, HasSubstr("g/e_none: step 0: it succeeded, want ABORTED"));
  EXPECT_THAT(ran.out, EndsWith("2 passed, 3 failed, 0 skipped\n"));
}

TEST_F(Check, AnUnexpectedErrorFails) {
  AddCase("bad", absl::StrCat(R"("steps":[{"fetches":["y:0"],)", Expect("[1,2]"), "}]"));
  EXPECT_THAT(Run().out, HasSubstr("g/bad: step 0: got INVALID_ARGUMENT ("));
}

TEST_F(Check, GraphsToBeRefused) {
  const std::string error =
      R"("steps":[],"load_error":{"code":"NOT_FOUND","message_contains":"NoSuchOp")";
  AddCase("a_refused", error + "}", kUnknownOp);
  AddCase("b_accepted", error + "}");
  AddCase("c_optional", error + R"(,"optional":true})");
  AddCase("d_other_code", R"("steps":[],"load_error":{"code":"INVALID_ARGUMENT"})", kUnknownOp);
  const Ran ran = Run();
  EXPECT_THAT(
      ran.out,
      HasSubstr("FAIL  g/b_accepted: the graph loads, but must be refused with NOT_FOUND\n"));
  EXPECT_THAT(
      ran.out,
      HasSubstr("skip  g/c_optional: the graph may be refused or accepted, and it loads\n"));
  EXPECT_THAT(ran.out, HasSubstr("FAIL  g/d_other_code: got NOT_FOUND"));
  EXPECT_THAT(ran.out, EndsWith("1 passed, 2 failed, 1 skipped\n"));
}

TEST_F(Check, AGraphToBeRefusedMayInsteadFailInEveryStep) {
  const std::string refused = R"("load_error":{"code":"INVALID_ARGUMENT"},"steps":[)";
  const std::string failing = R"({"fetches":["y:0"],"error":{"code":"INVALID_ARGUMENT"}})";
  const std::string running =
      R"({"feeds":{"x:0":{"dtype":"float32","shape":[],"data":[1]}},"fetches":["y:0"],"error":{"code":"INVALID_ARGUMENT"}})";
  AddCase("a", refused + failing + "]");
  AddCase("b", refused + failing + "," + running + "]");
  const Ran ran = Run();
  EXPECT_THAT(ran.out, HasSubstr("g/b: step 1: it succeeded"));
  EXPECT_THAT(ran.out, EndsWith("1 passed, 1 failed, 0 skipped\n"));
}

TEST_F(Check, EachGradientIsAResult) {
  const auto gradient = [](const std::string& y, int order, const std::string& expect) {
    return absl::StrCat(R"({"ys":[")", y, R"("],"xs":["x:0"],"order":)", order,
                        R"(,"feeds":{"x:0":{"dtype":"float32","shape":[2],"data":[1,2]}},)",
                        R"("expect":[)", expect, R"(],"rtol":0,"atol":0})");
  };
  const auto value = [](const std::string& data) {
    return absl::StrCat(R"({"dtype":"float32","shape":[2],"data":)", data, "}");
  };
  Add("a", "[1,2]", Expect("[2,3]"),
      absl::StrCat(R"(,"gradients":[)", gradient("y:0", 1, value("[1,1]")), ",",
                   gradient("y:0", 1, value("[1,5]")), ",",
                   // Not connected and zero are one answer.
                   gradient("y:0", 2, value("[0,0]")), ",", gradient("y:0", 2, "null"), ",",
                   gradient("one:0", 1, value("[1,1]")), ",", gradient("y:0", 1, "null"), "]"));
  const Ran ran = Run();
  EXPECT_THAT(ran.out, HasSubstr("FAIL  g/a gradients[1]: of x:0 "));
  EXPECT_THAT(ran.out,
              HasSubstr("FAIL  g/a gradients[4]: of x:0 is not connected: nothing of what is "
                        "differentiated depends on 'x'\n"));
  EXPECT_THAT(ran.out, HasSubstr("FAIL  g/a gradients[5]: of x:0 is not zero\n"));
  EXPECT_THAT(ran.out, EndsWith("4 passed, 3 failed, 0 skipped\n"));
  EXPECT_THAT(Run({"--only", "gradients"}).out, EndsWith("3 passed, 3 failed, 0 skipped\n"));
}

TEST_F(Check, OnlySelectsByGroupTagAndName) {
  Add("a", "[1,2]", Expect("[2,3]"));
  Add("b", "[1,2]", Expect("[2,3]"));
  for (const char* word : {"g", "sums", "a,b", "g/a,g/b"}) {
    EXPECT_EQ(Run({"--only", word}).out, "2 passed, 0 failed, 0 skipped\n") << word;
  }
  EXPECT_EQ(Run({"--only", "a"}).out, "1 passed, 0 failed, 0 skipped\n");
  const Ran ran = Run({"--only", "summs"});
  EXPECT_EQ(ran.code, kMisuse);
  EXPECT_THAT(ran.err,
              HasSubstr("--only summs: no case has this group, tag or name; did you mean 'sums'?"));
}

TEST_F(Check, ListRunsNothing) {
  Add("bad", "[1,2]", Expect("[0,0]"));
  const Ran ran = Run({"--list"});
  EXPECT_EQ(ran.out, "g/bad: Adds.\n");
  EXPECT_EQ(ran.code, kSuccess);
}

TEST_F(Check, VerboseNamesWhatPassedAndTheSlowest) {
  Add("a", "[1,2]", Expect("[2,3]"));
  const Ran ran = Run({"-v"});
  EXPECT_THAT(ran.out, StartsWith("ok    g/a ("));
  EXPECT_THAT(ran.out, HasSubstr("slowest:\n"));
  EXPECT_THAT(ran.out, EndsWith("1 passed, 0 failed, 0 skipped\n"));
}

TEST_F(Check, AnUnreadableCaseFails) {
  Add("good", "[1,2]", Expect("[2,3]"));
  folder_.Write("g/broken/case.json", "{");
  AddCase("no_graph", absl::StrCat(R"("steps":[{"fetches":["y:0"],)", Expect("[1,2]"), "}]"));
  folder_.Write("g/no_graph/graph.pb", "\xff\xff\xff");
  const Ran ran = Run();
  EXPECT_EQ(ran.code, kFailure);
  EXPECT_THAT(ran.out, HasSubstr("broken/case.json: not JSON"));
  EXPECT_THAT(ran.out, HasSubstr("g/no_graph: loading: got INVALID_ARGUMENT"));
  EXPECT_THAT(ran.out, EndsWith("1 passed, 2 failed, 0 skipped\n"));
}

TEST_F(Check, ReportsAreInOrderHoweverManyJobs) {
  for (int i = 10; i < 40; ++i)
    Add(absl::StrCat("c", i), "[1,2]", Expect(i % 3 == 0 ? "[2,4]" : "[2,3]"));
  const Ran one = Run({"--jobs", "1"});
  const Ran many = Run({"--jobs", "8"});
  EXPECT_EQ(one.out, many.out);
  EXPECT_THAT(one.out, EndsWith("20 passed, 10 failed, 0 skipped\n"));
}

TEST(CheckMisuse, IsExplained) {
  const TempFolder empty;
  EXPECT_THAT(Gyre({"check"}).err, HasSubstr("gyre check DIR"));
  EXPECT_THAT(Gyre({"check", empty.path()}).err, HasSubstr("there is no case.json below"));
  EXPECT_THAT(Gyre({"check", empty.Path("none")}).err, HasSubstr("there is no folder"));
  EXPECT_THAT(
      Gyre({"check", empty.path(), "--engine", "warp"}).err,
      HasSubstr("there is no engine called 'warp'; there is dataflow, reference, compiled"));
  EXPECT_THAT(Gyre({"check", empty.path(), "--jobs", "0"}).err,
              HasSubstr("--jobs wants a whole number"));
  EXPECT_EQ(Gyre({"check", empty.path(), "--jobs", "0"}).code, kMisuse);
  EXPECT_THAT(Gyre({"check", empty.path(), "--form", "neat"}).err,
              HasSubstr("there is no form called 'neat'; there is imported, raised, relowered, "
                        "reraised, optimized"));
  EXPECT_THAT(
      Gyre({"check", empty.path(), "--form", "optimized", "--passes-off", "prune,flod"}).err,
      HasSubstr("there is no pass 'flod'; there is prune, raise, fold, "));
}

// What --help shows is what is done, or refused: no option stands there for nothing.
TEST(CheckMisuse, OfOptionsThatHaveNothingToDo) {
  const TempFolder empty;
  const auto refused = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.begin(), {"check", empty.path()});
    const Ran ran = Gyre(words);
    EXPECT_EQ(ran.code, kMisuse) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  for (const Option& option : kCheckCommand.options) {
    if (option.name == "--list" || option.name == "--only") continue;
    std::vector<std::string> words = {"--list", std::string(option.name)};
    // A value that is right for it, beside what it needs besides.
    if (option.name == "--engine") {
      words.back() += "=dataflow";
    } else if (!option.value.empty()) {
      words.back() += option.name == "--devices" ? "=cpu:2" : "=1";
    }
    refused(words, absl::StrCat(option.name, " has no effect with --list, which runs nothing"));
  }
  for (const char* option : {"--threads=2", "--schedule-seed=3", "--devices=cpu:2"})
    refused({"--engine=reference", option}, " has no effect with --engine=reference, which runs");
  for (const char* option : {"--window=2", "--schedule-seed=3", "--devices=cpu:2"})
    refused({"--engine=compiled", option}, "--engine has no effect as compiled with --window, ");
  for (const char* option : {"--engine=dataflow", "--devices=cpu:2"})
    refused({"--cluster=localhost:1", option}, " has no effect with --cluster, whose workers");
  refused({"--schedule-seed=3", "--threads=2"}, "--threads has no effect with --schedule-seed");
  for (const char* option : {"--passes-off=fold", "--passes-only=fold", "--passes-order-seed=3"}) {
    for (const char* form : {"--form=imported", "--form=raised"})
      refused({form, option}, " has no effect without --form=optimized");
    refused({option}, " has no effect without --form=optimized");
  }
  refused({"--form=optimized", "--passes-only=fold", "--passes-off=share"},
          "--passes-off has no effect with --passes-only");
  refused({"--form=optimized", "--passes-off=share,all", "--passes-order-seed=3"},
          "--passes-order-seed has no effect with --passes-off=all");
  refused({"--devices=cpu:1", "--spread=3"}, "--spread has no effect with --devices that are only");
  refused({"--cluster=local:2", "--token-file=mine"},
          "--token-file has no effect with --cluster=local:2");
}

// Before any case runs, and before a graph is read.
TEST(CheckMisuse, OfMemoryPoliciesIsToldOnce) {
  const TempFolder empty;
  for (const auto& words : {std::vector<std::string>{"check", empty.path()},
                            {"show", empty.Path("none.pb"), "--gradient", "y:x"}}) {
    for (const std::string policy : {"bogus", "recompute", "recompute(0)", "checkpoint(1K)"}) {
      std::vector<std::string> all = words;
      all.push_back("--memory=" + policy);
      const Ran ran = Gyre(all);
      EXPECT_EQ(ran.code, kMisuse);
      EXPECT_THAT(ran.err,
                  HasSubstr("--memory \"" + policy +
                            "\" is no memory policy; there is save, recompute(ITERATIONS) and "
                            "checkpoint(BYTES)"));
      EXPECT_EQ(ran.out, "");
    }
  }
}

TEST(CheckMisuse, OfOptionsThatConcernWhatIsNotAskedFor) {
  const TempFolder empty;
  for (const auto& option :
       {std::pair("--transport", "tcp"), {"--spin", "5"}, {"--token-file", "t"}}) {
    const Ran ran = Gyre({"check", empty.path(), option.first, option.second});
    EXPECT_EQ(ran.code, kMisuse);
    EXPECT_THAT(ran.err, HasSubstr(std::string(option.first) +
                                   " is about the workers of --cluster, which is not given"));
  }
  const Ran ran = Gyre({"show", empty.Path("none.pb"), "--memory", "recompute(2)"});
  EXPECT_EQ(ran.code, kMisuse);
  EXPECT_THAT(ran.err, HasSubstr("--memory is for --gradient"));
}

}  // namespace
}  // namespace gyre::cli
