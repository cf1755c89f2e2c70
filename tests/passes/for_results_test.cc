// Effects in branches and loops that run for their results.
#include "passes/for_results.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/text/printer.h"
#include "passes/staged_text.h"

namespace gyre::testing {
namespace {

constexpr char kText[] = R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=int32 shape=()
      %if = If(%p, %x) then_branch=@say else_branch=@same _lower_using_switch_merge=true
          : (int32, int32)
      %first = Identity(%if)
      %second = Identity(%if:1)
      %all = Identity(%x, ^%if)
      %while = While(%x, %x) cond=@less body=@next _lower_using_switch_merge=true : (int32, int32)
      %count = Identity(%while)
      %other = Identity(%while:1)
    }
    func @say(%x: int32) -> (a: int32, b: int32) {
      %one = Const() value=string{"one"}
      %two = Const() value=string{"two"}
      %print_one = PrintV2(%one)
      %print_two = PrintV2(%two)
      %a = Identity(%x, ^%print_one)
      %b = Identity(%x, ^%print_two)
      return %a, %b
    }
    func @same(%x: int32) -> (a: int32, b: int32) {
      return %x, %x
    }
    func @less(%i: int32, %y: int32) -> (go: bool) {
      %ten = Const() value=int32{10}
      %go = Less(%i, %ten)
      return %go
    }
    func @next(%i: int32, %y: int32) -> (i: int32, y: int32) {
      %three = Const() value=string{"three"}
      %four = Const() value=string{"four"}
      %print_three = PrintV2(%three)
      %print_four = PrintV2(%four)
      %more = AddV2(%i, %i, ^%print_three)
      %same = Identity(%y, ^%print_four)
      return %more, %same
    })";

// The words that are printed by what a run for these fetches calls.
std::vector<std::string> Printed(const std::vector<std::string>& fetches) {
  const Staged staged = StagedText(kText, {"p", "x"}, fetches);
  const auto made = ForResultsPass(staged);
  EXPECT_TRUE(made.ok()) << made.status();
  std::vector<std::string> words;
  if (!made.ok()) return words;
  const Function& main = made->program->main();
  const std::vector<bool> needed = NeededNodes(main, made->signature);
  for (const Node& node : main.nodes) {
    if (!needed[node.id]) continue;
    for (const char* attr : {"then_branch", "body"}) {
      const auto* ref = node.attrs.Get<FunctionRef>(attr);
      if (ref == nullptr) continue;
      for (const Node& inner : made->program->FindFunction(ref->name)->nodes) {
        if (inner.op_name == "PrintV2") words.push_back(inner.name);
      }
    }
  }
  std::sort(words.begin(), words.end());
  return words;
}

using Words = std::vector<std::string>;

TEST(ForResults, BranchesDoWhatNeededOutputsAskFor) {
  EXPECT_EQ(Printed({"first"}), Words{"print_one"});
  EXPECT_EQ(Printed({"second"}), Words{"print_two"});
  EXPECT_EQ(Printed({"first", "second"}), (Words{"print_one", "print_two"}));
}

TEST(ForResults, WhatIsWaitedForRunsWhole) {
  EXPECT_EQ(Printed({"all"}), (Words{"print_one", "print_two"}));
}

TEST(ForResults, LoopsDoWhatTheirConditionAsksFor) {
  EXPECT_EQ(Printed({"count"}), Words{"print_three"});
  EXPECT_EQ(Printed({"other"}), (Words{"print_four", "print_three"}));
}

TEST(ForResults, AnyOtherProgramIsLeftAlone) {
  const Staged staged = StagedText(R"(
    graph {
      %p = Placeholder() dtype=bool shape=()
      %x = Placeholder() dtype=int32 shape=()
      %if = If(%p, %x) then_branch=@say else_branch=@same : int32
      %y = Identity(%if)
    }
    func @say(%x: int32) -> (a: int32) {
      %one = Const() value=string{"one"}
      %print = PrintV2(%one)
      return %x
    }
    func @same(%x: int32) -> (a: int32) {
      return %x
    })",
                                   {"p", "x"}, {"y"});
  const auto made = ForResultsPass(staged);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->program, staged.program);
}

}  // namespace
}  // namespace gyre::testing
