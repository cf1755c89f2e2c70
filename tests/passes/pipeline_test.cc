// The runner: which passes run, what it reports, and that it catches what a pass breaks.
#include "passes/pipeline.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/staged_edit.h"
#include "passes/staged_text.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] = R"(
    graph {
      %x = Placeholder() dtype=float32
      %two = Const() value=float32{2}
      %three = Const() value=float32{3}
      %six = Mul(%two, %three)
      %y = Mul(%x, %six)
      %z = Identity(%y)
      %unused = Neg(%z)
    })";

Staged Example() { return StagedText(kText, {"x"}, {"z"}); }

std::vector<std::string> NamesOf(const PipelineReport& report) {
  std::vector<std::string> names;
  for (const PassReport& pass : report) names.emplace_back(pass.name);
  return names;
}

std::vector<std::string> Ran(const PipelineOptions& options) {
  PipelineReport report;
  const auto staged = Optimize(Example(), options, &report);
  EXPECT_TRUE(staged.ok()) << staged.status();
  return NamesOf(report);
}

TEST(Pipeline, RunsTheTableInOrderAndReports) {
  PipelineReport report;
  std::vector<std::string> dumped;
  PipelineOptions options;
  options.dump = [&](absl::string_view pass, const Program&) { dumped.emplace_back(pass); };
  const auto staged = Optimize(Example(), options, &report);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(CountNodes(*staged->program), 3);
  ASSERT_EQ(report.size(), PipelinePasses().size());
  std::vector<std::string> changed;
  for (size_t i = 0; i < report.size(); ++i) {
    EXPECT_EQ(report[i].name, PipelinePasses()[i].name);
    EXPECT_GE(report[i].nanos, 0);
    EXPECT_EQ(report[i].nodes_before, report[i == 0 ? 0 : i - 1].nodes_after + (i == 0 ? 1 : 0));
    if (report[i].changed) changed.emplace_back(report[i].name);
  }
  EXPECT_EQ(report.front().nodes_before, 7);
  EXPECT_EQ(report.front().nodes_after, 6);
  EXPECT_EQ(changed, dumped);
}

TEST(Pipeline, OffOnlyAndOrder) {
  EXPECT_THAT(Ran({.choice = {.off = {"all"}}}), ElementsAre());
  EXPECT_THAT(Ran({.choice = {.only = "fold"}}), ElementsAre("fold"));
  EXPECT_THAT(Ran({.order = {"share", "prune"}}), ElementsAre("share", "prune"));
  EXPECT_THAT(Ran({.choice = {.off = {"prune"}}, .order = {"share", "prune"}}),
              ElementsAre("share"));
  const std::vector<std::string> all = Ran({});
  const std::vector<std::string> drawn = Ran({.order_seed = 3});
  EXPECT_EQ(drawn, Ran({.order_seed = 3}));
  EXPECT_NE(drawn, all);
  EXPECT_THAT(drawn, ::testing::UnorderedElementsAreArray(all));
}

TEST(Pipeline, NamesThatDoNotExist) {
  for (const PipelineOptions& options : {PipelineOptions{.choice = {.off = {"flod"}}},
                                         PipelineOptions{.choice = {.only = "flod"}}}) {
    EXPECT_EQ(CheckPipelineOptions(options).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(Optimize(Example(), options).status().message()),
                HasSubstr("there is no pass 'flod'; there is prune, "));
  }
}

TEST(Pipeline, ValuesOfTheImportedGraphAreFollowed) {
  const Staged before = Example();
  const auto after = Optimize(before);
  ASSERT_TRUE(after.ok()) << after.status();
  const auto now = [&](const std::string& name) -> std::string {
    const auto it = after->values.find({Id(before.program->main(), name), 0});
    if (it == after->values.end()) return "gone";
    return after->program->main().node(it->second.node).name;
  };
  EXPECT_EQ(now("x"), "x");
  EXPECT_EQ(now("six"), "six");
  EXPECT_EQ(now("z"), "y");
  EXPECT_EQ(now("unused"), "gone");
  EXPECT_EQ(now("two"), "gone");
}

TEST(Pipeline, PassesLeaveGraphsOfPrimitivesAlone) {
  const Staged primitives = StagedText(R"(
    graph {
      %x = Placeholder() dtype=float32
      %p = Placeholder() dtype=bool
      %switch = Switch(%x, %p) : (float32, float32)
      %left = Identity(%switch)
      %right = Identity(%switch:1)
      %merge = Merge(%left, %right) : (float32, int32)
    })",
                                       {"x", "p"}, {"merge"});
  for (const PipelinePass& pass : PipelinePasses()) {
    if (pass.name == "raise") continue;
    const auto after = pass.run(primitives);
    ASSERT_TRUE(after.ok()) << pass.name << ": " << after.status();
    EXPECT_EQ(after->program, primitives.program) << pass.name;
  }
}

// Leaves an edge to a node that does not exist.
absl::StatusOr<Staged> BreakEdges(const Staged& staged) {
  Function main = staged.program->main();
  main.nodes.back().inputs[0].node = 99;
  ProgramBuilder builder(*staged.program);
  builder.SetMain(std::move(main));
  Staged broken = staged;
  broken.program = builder.Build();
  return broken;
}

// Drops what is still read.
absl::StatusOr<Staged> DropTooMuch(const Staged& staged) {
  return passes::RewriteEach(staged, [](absl::string_view, passes::Rewrite& rewrite) {
    rewrite.Drop(Id(rewrite.function(), "y"));
    return absl::OkStatus();
  });
}

TEST(Pipeline, WhatAPassBreaksIsItsBug) {
  const PipelinePass broken[] = {{"break-edges", BreakEdges, ""},
                                 {"drop-too-much", DropTooMuch, ""}};
  PipelineOptions options;
  options.passes = broken;
  options.choice.verify = true;
  options.choice.only = "break-edges";
  const absl::Status edges = Optimize(Example(), options).status();
  EXPECT_EQ(edges.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(edges.message()),
              HasSubstr("after pass break-edges, rule edges-in-range"));
  options.choice.only = "drop-too-much";
  const absl::Status dropped = Optimize(Example(), options).status();
  EXPECT_EQ(dropped.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(dropped.message()), HasSubstr("pass drop-too-much: "));
}

// Each of a thousand functions calls the next one, twice.
TEST(Pipeline, ThousandsOfFunctionsTakeLinearTime) {
  std::string text = R"(
    graph {
      %x = Placeholder() dtype=float32
      %y = PartitionedCall(%x) f=@f0 : float32
    })";
  constexpr int kFunctions = 3000;
  for (int i = 0; i < kFunctions; ++i) {
    absl::StrAppend(&text, "\nfunc @f", i, "(%x: float32) -> (y: float32) {\n");
    if (i + 1 < kFunctions) {
      absl::StrAppend(&text, "%a = PartitionedCall(%x) f=@f", i + 1, " : float32\n",
                      "%b = PartitionedCall(%a) f=@f", i + 1, " : float32\n");
    } else {
      absl::StrAppend(&text, "%b = Neg(%x)\n");
    }
    absl::StrAppend(&text, "return %b\n}\n");
  }
  const auto staged = Optimize(StagedText(text, {"x"}, {"y"}), {.choice = {.verify = false}});
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_LT(CountNodes(*staged->program), 100 * kFunctions);
}

}  // namespace
}  // namespace gyre::testing
