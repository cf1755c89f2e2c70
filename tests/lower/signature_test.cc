// What is asked of a lowered function: feeds, fetches, targets; where its nodes come from; what
// Lower refuses.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "ir/parse.h"
#include "lower/lowering.h"
#include "session/names.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kLoop[] = R"(
graph {
  %x = Placeholder() dtype=int32 shape=()
  %loop = StatelessWhile(%x, %x) cond=@small body=@step : (int32, int32)
  %sum = AddV2(%loop, %loop:1)
  %call = PartitionedCall(%sum) f=@twice : int32
}
func @small(%x: int32, %y: int32) -> (p: bool) {
  %ten = Const() value=int32{10}
  %p = Less(%x, %ten)
  return %p
}
func @step(%x: int32, %y: int32) -> (x: int32, y: int32) {
  %two = Const() value=int32{2}
  %x1 = Mul(%x, %two)
  %y1 = PartitionedCall(%y) f=@twice : int32
  return %x1, %y1
}
func @twice(%x: int32) -> (y: int32) {
  %y = AddV2(%x, %x)
  return %y
})";

int32_t RunLowered(const std::string& text, const std::vector<std::string>& feeds,
                   const std::vector<Tensor>& values, const std::string& fetch) {
  const auto program = Parse(text);
  const auto signature = MainNames(*program).FindSignature(feeds, {fetch}, {});
  EXPECT_TRUE(signature.ok()) << signature.status();
  const auto lowered = LowerMain(*program, *signature);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  if (!lowered.ok()) return -1;
  const auto result = Runner().Run(lowered->program, lowered->signature, values);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? (*result)[0].scalar<int32_t>() : -1;
}

TEST(LowerSignature, FeedsOfStructuredNodesArePlaceholders) {
  const Tensor one = Tensor::Scalar<int32_t>(1);
  const Tensor hundred = Tensor::Scalar<int32_t>(100);
  EXPECT_EQ(RunLowered(kLoop, {"x:0"}, {one}, "call:0"), 2 * (16 + 16));
  EXPECT_EQ(RunLowered(kLoop, {"x:0", "loop:1"}, {one, hundred}, "call:0"), 2 * (16 + 100));
  EXPECT_EQ(RunLowered(kLoop, {"loop:0", "loop:1"}, {one, hundred}, "call:0"), 2 * 101);
  EXPECT_EQ(RunLowered(kLoop, {"sum:0"}, {one}, "call:0"), 2);
  EXPECT_EQ(RunLowered(kLoop, {"call:0"}, {one}, "call:0"), 1);
  EXPECT_EQ(RunLowered(kLoop, {"x:0", "loop:0"}, {one, hundred}, "loop:1"), 16);
}

TEST(LowerSignature, EveryNodeKnowsWhereItComesFrom) {
  const auto program = Parse(kLoop);
  const auto signature = MainNames(*program).FindSignature({}, {"call:0"}, {});
  const auto lowered = Lower(*program, program->main(), *signature);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  std::string text;
  for (const Node& node : lowered->function.nodes) {
    const NodeOrigin& origin = lowered->origins[node.id];
    std::string scopes;
    for (int s = origin.scope; s > 0; s = lowered->scopes[s].parent) {
      const LoweredScope& scope = lowered->scopes[s];
      absl::StrAppend(&scopes, " in ", scope.function->name, scope.is_loop() ? " (loop)" : "");
    }
    absl::StrAppend(&text, node.name, ": ", origin.node->name,
                    origin.is_plumbing ? " plumbing" : "", scopes, "\n");
  }
  EXPECT_THAT(text, HasSubstr("x: x\n"));
  EXPECT_THAT(text, HasSubstr("loop/enter_0: loop plumbing\n"));
  EXPECT_THAT(text, HasSubstr("loop/merge_0: loop plumbing in small (loop)\n"));
  EXPECT_THAT(text, HasSubstr("loop/p: p in small (loop)\n"));
  EXPECT_THAT(text, HasSubstr("loop/loop_cond: loop plumbing in small (loop)\n"));
  EXPECT_THAT(text, HasSubstr("loop/two: two\n"));
  EXPECT_THAT(text, HasSubstr("loop/y1/y: y in twice in step (loop)\n"));
  EXPECT_THAT(text, HasSubstr("loop/exit_1: loop plumbing in step (loop)\n"));
  EXPECT_THAT(text, HasSubstr("call/y: y in twice\n"));
}

// What is fed need not be known, nor what would have computed it.
TEST(LowerSignature, FeedsOfUnknownOps) {
  const std::string text = R"(
    graph {
      %x = Unheard()
      %y = Unheard(%x)
      %z = Neg(%y:1) T=int32
      %p = Const() value=bool{true}
      %switch = Switch(%z, %p)
      %w = Neg(%y:2) T=int32
      %sum = AddV2(%switch:1, %w)
    })";
  const Tensor one = Tensor::Scalar<int32_t>(1);
  const Tensor two = Tensor::Scalar<int32_t>(2);
  EXPECT_EQ(RunLowered(text, {"y:1", "y:2"}, {one, two}, "sum:0"), -3);
  EXPECT_EQ(RunLowered(text, {"y:2", "z:0"}, {one, two}, "sum:0"), 1);
  EXPECT_EQ(RunLowered(text, {"w:0", "z:0"}, {one, two}, "sum:0"), 3);
  EXPECT_EQ(RunLowered(text, {"y:2"}, {two}, "y:2"), 2);
}

std::string LowerError(const std::string& text, const std::string& fetch) {
  const auto program = Parse(text);
  const auto signature = MainNames(*program).FindSignature({}, {fetch}, {});
  EXPECT_TRUE(signature.ok()) << signature.status();
  const absl::Status lowered = LowerMain(*program, *signature).status();
  const absl::Status as_is = Runner().Run(program, *signature, {}).status();
  EXPECT_EQ(lowered, as_is);
  return lowered.ToString();
}

TEST(LowerErrors, AreThoseOfTheReferenceEngine) {
  EXPECT_THAT(LowerError("graph { %y = PartitionedCall() f=@missing : int32 }", "y:0"),
              HasSubstr("NOT_FOUND: node y (PartitionedCall): function missing is not in"));
  EXPECT_THAT(LowerError(R"(graph {
                  %x = Const() value=int32{1}
                  %y = PartitionedCall(%x) f=@none : int32
                }
                func @none() -> (y: int32) {
                  %y = Const() value=int32{1}
                  return %y
                })",
                         "y:0"),
              HasSubstr("f none has 0 arguments, but 1 are needed"));
  EXPECT_THAT(LowerError("graph { %y = Unheard() }", "y:0"),
              HasSubstr("node y needs the op Unheard, which is not registered"));
}

}  // namespace
}  // namespace gyre::testing
