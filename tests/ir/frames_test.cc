#include "ir/frames.h"

#include "absl/strings/str_replace.h"
#include "base/hash_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/parse.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// i = 0; while (i < 10) i += 1, with the limit carried in as an invariant.
constexpr absl::string_view kLoop = R"(
  graph {
    %zero = Const() value=int32{0} : int32
    %ten = Const() value=int32{10} : int32
    %enter = Enter(%zero) frame_name="loop" parallel_iterations=3 : int32
    %limit = Enter(%ten) frame_name="loop" is_constant=true parallel_iterations=7 : int32
    %merge = Merge(%enter, %next) : (int32, int32)
    %less = Less(%merge, %limit) : bool
    %cond = LoopCond(%less) : bool
    %switch = Switch(%merge, %cond) : (int32, int32)
    %one = Const(^%merge) value=int32{1} : int32
    %add = AddV2(%switch:1, %one) : int32
    %next = NextIteration(%add) : int32
    %exit = Exit(%switch) : int32
    %out = Identity(%exit) : int32
  })";

TEST(Frames, EnterOpensAndExitLeaves) {
  const auto program = Parse(kLoop);
  const Function& f = program->main();
  const auto table = AnalyzeFrames(f);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->frames.size(), 2u);
  const Frame& loop = table->frames[1];
  EXPECT_EQ(loop.name, "loop");
  EXPECT_EQ(loop.parent, 0);
  EXPECT_THAT(loop.enters, ElementsAre(Id(f, "enter"), Id(f, "limit")));
  EXPECT_THAT(loop.exits, ElementsAre(Id(f, "exit")));
  EXPECT_THAT(loop.next_iterations, ElementsAre(Id(f, "next")));
  EXPECT_EQ(loop.loop_cond, Id(f, "cond"));
  EXPECT_EQ(loop.parallel_iterations, 3);
  const auto frames = [&](absl::string_view name) {
    return std::make_pair(table->frame_of_node[Id(f, name)],
                          table->output_frame_of_node[Id(f, name)]);
  };
  EXPECT_EQ(frames("zero"), std::make_pair(0, 0));
  EXPECT_EQ(frames("enter"), std::make_pair(0, 1));
  EXPECT_EQ(frames("one"), std::make_pair(1, 1)) << "a control edge brings a node into the frame";
  EXPECT_EQ(frames("next"), std::make_pair(1, 1));
  EXPECT_EQ(frames("exit"), std::make_pair(1, 0));
  EXPECT_EQ(frames("out"), std::make_pair(0, 0));
  EXPECT_THAT(table->unreachable, IsEmpty());
}

// Each Enter's number is a promise, wherever it stands.
TEST(Frames, TheSmallestNumberOfIterationsCounts) {
  std::string text(kLoop);
  absl::StrReplaceAll({{"parallel_iterations=7", "parallel_iterations=2"}}, &text);
  const auto table = AnalyzeFrames(Parse(text)->main());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->frames[1].parallel_iterations, 2);
}

// It would get as far as the window lets the counter run ahead.
TEST(Frames, ALoopThatWaitsForItsOwnEndIsRefused) {
  const std::string text = absl::StrReplaceAll(
      kLoop, {{"%ten = Const() value=int32{10}", "%ten = Identity(%exit)"},
              {"%less = Less(%merge, %limit) : bool", "%more = AddV2(%add, %limit) : int32"},
              {"LoopCond(%less)", "LoopCond(%less2)"},
              {"%one = ",
               "%five = Const(^%merge) value=int32{5} : int32\n"
               "%less2 = Less(%merge, %five) : bool\n%one = "}});
  const absl::Status status = AnalyzeFrames(Parse(text)->main()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("{{node limit}} brings into loop \"loop\" what depends on {{node exit}} of "
                        "that loop"));
}

TEST(Frames, FramesNest) {
  const auto program = Parse(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Enter(%x) frame_name="outer"
      %b = Enter(%a) frame_name="inner"
      %c = Exit(%b)
      %d = Exit(%c)
      %y = Neg(%d)
    })");
  const auto table = AnalyzeFrames(program->main());
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->frames.size(), 3u);
  EXPECT_EQ(table->frames[2].name, "inner");
  EXPECT_EQ(table->frames[2].parent, 1);
  EXPECT_THAT(table->frame_of_node, ElementsAre(0, 0, 1, 2, 1, 0));
}

absl::Status Check(absl::string_view text) { return CheckFrames(Parse(text)->main()); }

TEST(Frames, InputsFromDifferentFrames) {
  const absl::Status status = Check(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Enter(%x) frame_name="one"
      %b = Enter(%x) frame_name="two"
      %y = AddV2(%a, %b)
    })");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("{{node y}} has inputs from different frames. The input {{node b}} is in "
                        "frame 'two'. The input {{node a}} is in frame 'one'."));
}

TEST(Frames, MissingEnter) {
  const absl::Status status = Check(R"(
    graph {
      %x = Const() value=float32{1}
      %k = Const() value=float32{2}
      %a = Enter(%x) frame_name="one"
      %y = AddV2(%a, %k)
      %z = Exit(%y)
    })");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("has inputs from different frames"));
}

TEST(Frames, ControlEdgeAcrossFrames) {
  EXPECT_THAT(Check(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Enter(%x) frame_name="one"
      %y = Neg(%x, ^%a)
    })")
                  .message(),
              HasSubstr("{{node y}} has inputs from different frames"));
}

TEST(Frames, ExitWithoutEnter) {
  EXPECT_THAT(Check("graph { %x = Const() value=float32{1} %y = Exit(%x) }").message(),
              HasSubstr("Invalid Exit op: Cannot find a corresponding Enter op."));
}

TEST(Frames, EnterWithoutName) {
  EXPECT_THAT(
      Check(R"(graph { %x = Const() value=float32{1} %y = Enter(%x) frame_name="" })").message(),
      HasSubstr("The Enter {{node y}} must have a frame name."));
}

TEST(Frames, WindowOfNothing) {
  EXPECT_THAT(Check(R"(
    graph { %x = Const() value=float32{1} %y = Enter(%x) frame_name="f" parallel_iterations=0 })")
                  .message(),
              HasSubstr("must have parallel_iterations > 0"));
}

TEST(Frames, OneNameUnderTwoParents) {
  const absl::Status status = Check(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Enter(%x) frame_name="f"
      %b = Enter(%x) frame_name="g"
      %c = Enter(%b) frame_name="f"
    })");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("Mismatched parent frames for \"f\""));
}

TEST(Frames, SecondLoopCondOnlyForCounters) {
  const auto check = [](absl::string_view second) {
    return Check(absl::StrCat(R"(
      graph {
        %x = Const() value=bool{true}
        %a = Enter(%x) frame_name="f"
        %)",
                              second, R"( = LoopCond(%a)
        %c = LoopCond(%a)
      })"));
  };
  EXPECT_THAT(check("b").message(),
              HasSubstr("Loop \"f\" has more than one LoopCond node: {{node c}} and {{node b}}"));
  EXPECT_TRUE(check("BackPropLoopCounter/b").ok());
}

TEST(Frames, OnlyTheNodesThatCount) {
  const auto program = Parse(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Enter(%x) frame_name="one"
      %bad = AddV2(%a, %x)
      %y = Exit(%a)
    })");
  EXPECT_FALSE(CheckFrames(program->main()).ok());
  const std::vector<bool> without_bad = {true, true, false, true};
  const auto table = AnalyzeFrames(program->main(), {&without_bad, nullptr});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->frame_of_node, ElementsAre(0, 0, 0, 1));
}

TEST(Frames, FedNodesStayInTheirFrame) {
  // Pruned after feeding `a`, whose consumers then have no way to tell that they are in a loop.
  const auto program = Parse(R"(
    graph {
      %x = Const() value=float32{1}
      %a = Enter(%x) frame_name="one"
      %n = Neg(%a)
      %e = Enter(%x) frame_name="one"
      %y = AddV2(%n, %e)
      %z = Exit(%y)
    })");
  const std::vector<bool> needed = {true, false, true, true, true, true};
  const HashSet<Endpoint> fed = {Endpoint{1, 0}};
  const auto table = AnalyzeFrames(program->main(), {&needed, &fed});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->frame_of_node, ElementsAre(0, 0, 1, 0, 1, 1));
}

TEST(Frames, NodesThatNothingReaches) {
  const auto program = Parse(R"(
    graph {
      %m = Merge(%n) : (float32, int32)
      %n = NextIteration(%m) : float32
      %x = Const() value=float32{1}
    })");
  const auto table = AnalyzeFrames(program->main());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->unreachable, ElementsAre(0, 1));
}

}  // namespace
}  // namespace gyre
