// What a pass may count on when it changes a function: edges, order and names afterwards.
#include "passes/edit/rewrite.h"

#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "ops/registry.h"

namespace gyre::testing {
namespace {

using passes::Rewrite;

constexpr char kText[] = R"(
    func @f(%x: float32) -> (y: float32) {
      %say = PrintV2(%word)
      %cry = PrintV2(%word)
      %word = Const() value=string{"word"}
      %a = Neg(%x, ^%say)
      %b = AddV2(%a, %x, ^%cry)
      %y = Exp(%x, ^%b)
      return %y
    })";

Function F() { return *Parse(kText)->FindFunction("f"); }

std::string Finished(Rewrite rewrite) {
  auto finished = std::move(rewrite).Finish();
  EXPECT_TRUE(finished.ok()) << finished.status();
  return finished.ok() ? "\n" + PrintFunction(finished->function) : "";
}

TEST(Rewrite, WhoWaitedForADroppedNodeWaitsForWhatItWaitedFor) {
  Rewrite rewrite(Ops(), F());
  rewrite.Drop(Id(rewrite.function(), "a"));
  rewrite.Drop(Id(rewrite.function(), "b"));
  EXPECT_EQ(Finished(std::move(rewrite)), R"(
func @f(%x: float32) -> (y: float32) {
  %say = PrintV2(%word)
  %cry = PrintV2(%word)
  %word = Const() value=string{"word"} : string
  %a = NoOp(^%x, ^%say)
  %b = NoOp(^%x, ^%cry, ^%a)
  %y = Exp(%x, ^%b) : float32
  return %y
}
)");
}

TEST(Rewrite, OneNodeIsWaitedForWithoutANoOp) {
  Rewrite rewrite(Ops(), F());
  const NodeId b = Id(rewrite.function(), "b");
  rewrite.Drop(b, {Id(rewrite.function(), "say")});
  rewrite.Drop(Id(rewrite.function(), "a"));
  EXPECT_EQ(Finished(std::move(rewrite)), R"(
func @f(%x: float32) -> (y: float32) {
  %say = PrintV2(%word)
  %cry = PrintV2(%word)
  %word = Const() value=string{"word"} : string
  %y = Exp(%x, ^%say) : float32
  return %y
}
)");
}

TEST(Rewrite, AddedNodesHaveNamesOfTheirOwnAndStandWhereTheyBelong) {
  Rewrite rewrite(Ops(), F());
  const NodeId y = Id(rewrite.function(), "y");
  const Endpoint x{rewrite.function().arg_nodes[0], 0};
  const auto a = rewrite.Add("Abs", {x}, {}, {.name = "a", .before = y});
  ASSERT_TRUE(a.ok()) << a.status();
  const Endpoint two = rewrite.AddConstant(Tensor::Scalar(2.0f), {.name = "y", .before = y});
  const auto mul = rewrite.Add("Mul", {{*a, 0}, two}, {}, {.name = "y", .before = y});
  ASSERT_TRUE(mul.ok()) << mul.status();
  rewrite.Replace({y, 0}, {*mul, 0});
  rewrite.Drop(y);
  EXPECT_EQ(Finished(std::move(rewrite)), R"(
func @f(%x: float32) -> (y: float32) {
  %say = PrintV2(%word)
  %cry = PrintV2(%word)
  %word = Const() value=string{"word"} : string
  %a = Neg(%x, ^%say) : float32
  %b = AddV2(%a, %x, ^%cry) : float32
  %a_1 = Abs(%x) : float32
  %y = Const() value=float32{2} : float32
  %y_1 = Mul(%a_1, %y) : float32
  return %y_1
}
)");
}

TEST(Rewrite, WhatIsReadCannotGo) {
  Rewrite rewrite(Ops(), F());
  rewrite.Drop(Id(rewrite.function(), "y"));
  EXPECT_EQ(std::move(rewrite).Finish().status().code(), absl::StatusCode::kInternal);
}

TEST(Rewrite, TargetsAndControlResultsStayNodes) {
  Function function = F();
  function.control_results.emplace_back("b", Id(function, "b"));
  Rewrite rewrite(Ops(), std::move(function));
  rewrite.Drop(Id(rewrite.function(), "y"), {});
  rewrite.Replace({Id(rewrite.function(), "y"), 0}, {rewrite.function().arg_nodes[0], 0});
  rewrite.Drop(Id(rewrite.function(), "b"), {});
  EXPECT_EQ(Finished(std::move(rewrite)), R"(
func @f(%x: float32) -> (y: float32) {
  %say = PrintV2(%word)
  %cry = PrintV2(%word)
  %word = Const() value=string{"word"} : string
  %a = Neg(%x, ^%say) : float32
  %b = NoOp()
  return %x, ^%b
}
)");
}

}  // namespace
}  // namespace gyre::testing
