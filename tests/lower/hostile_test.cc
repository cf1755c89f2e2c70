// Programs that nest too deeply, or would grow beyond measure, are lowered as far as it goes.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/parse.h"
#include "lower/lowering.h"
#include "session/names.h"

namespace gyre::testing {
namespace {

// f0 calls f1 `width` times, f1 calls f2 …
std::string Tower(int height, int width, const std::string& op) {
  std::string text = "graph { %x = Placeholder() dtype=int32 shape=() ";
  absl::StrAppend(&text, "%y = PartitionedCall(%x) f=@f0 : int32 }\n");
  for (int i = 0; i < height; ++i) {
    absl::StrAppend(&text, "func @f", i, "(%x: int32) -> (y: int32) {\n  %y0 = Neg(%x)\n");
    for (int k = 0; k < width; ++k) {
      absl::StrAppend(&text, "  %y", k + 1, " = ");
      if (op == "If") {
        absl::StrAppend(&text, "StatelessIf(%y", k, ", %y", k, ") then_branch=@f", i + 1,
                        " else_branch=@f", i + 1, " : int32\n");
      } else {
        absl::StrAppend(&text, "PartitionedCall(%y", k, ") f=@f", i + 1, " : int32\n");
      }
    }
    absl::StrAppend(&text, "  return %y", width, "\n}\n");
  }
  absl::StrAppend(&text, "func @f", height, "(%x: int32) -> (y: int32) { return %x }\n");
  return text;
}

int32_t RunBoth(const std::string& text, LowerOptions options = {}) {
  const auto program = Parse(text);
  const auto signature = MainNames(*program).FindSignature({"x:0"}, {"y:0"}, {});
  const auto lowered = LowerMain(*program, *signature, options);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  if (!lowered.ok()) return -1;
  EXPECT_LT(lowered->program->main().nodes.size(), 1'000'000u);
  const Tensor x = Tensor::Scalar<int32_t>(5);
  const auto want = Runner().Run(program, *signature, {x});
  const auto got = Runner().Run(lowered->program, lowered->signature, {x});
  EXPECT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE(got.ok()) << got.status();
  if (!want.ok() || !got.ok()) return -1;
  EXPECT_EQ((*want)[0].scalar<int32_t>(), (*got)[0].scalar<int32_t>());
  return (*got)[0].scalar<int32_t>();
}

TEST(LowerHostile, DeepNestingEndsInCalls) {
  EXPECT_EQ(RunBoth(Tower(2000, 1, "Call")), 5);
  EXPECT_EQ(RunBoth(Tower(500, 1, "If")), 5);
}

TEST(LowerHostile, WhatDoublesAtEachLevelStopsAtTheLimit) {
  EXPECT_EQ(RunBoth(Tower(12, 2, "Call"), {.max_depth = 64, .max_inlined = 1000}), -5);
  const auto program = Parse(Tower(60, 2, "If"));
  const auto signature = MainNames(*program).FindSignature({"x:0"}, {"y:0"}, {});
  const auto lowered = LowerMain(*program, *signature);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_LT(lowered->program->main().nodes.size(), 2'000'000u);
}

}  // namespace
}  // namespace gyre::testing
