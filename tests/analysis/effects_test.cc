// What functions do beside their results, asked by passes and by lowering.
#include "analysis/effects.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre {
namespace {

std::shared_ptr<const Program> Parse(const std::string& text) {
  const auto program = ParseProgram(text, Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

std::shared_ptr<const Program> Example() {
  return Parse(R"(
graph {
  %x = Placeholder() : float32
  %y = PartitionedCall(%x) f=@pure : float32
}
func @pure(%x: float32) -> (r: float32) {
  %r = Sin(%x)
  return %r
}
func @prints(%x: float32) -> (r: float32) {
  %r = Print(%x, %x)
  return %r
}
func @calls(%x: float32) -> (r: float32) {
  %r = PartitionedCall(%x) f=@prints : float32
  return %r
}
func @draws(%x: float32) -> (r: float32) {
  %shape = Const() value=int32[1]{2}
  %drawn = RandomUniform(%shape) dtype=float32
  %r = Sum(%drawn, %zero)
  %zero = Const() value=int32{0}
  return %r
}
func @unused(%x: float32) -> (r: float32) {
  %unused = StatefulPartitionedCall(%x) f=@pure : float32
  %r = Sin(%x)
  return %r
}
func @around(%x: float32) -> (r: float32) {
  %r = PartitionedCall(%x) f=@unused : float32
  return %r
}
func @misfit(%x: float32) -> (r: float32) {
  %r = PartitionedCall(%x, %x) f=@pure : float32
  return %r
}
)");
}

TEST(EffectsTest, SpreadFromCalleesToCallers) {
  const auto program = Example();
  const Effects effects(*program);
  EXPECT_TRUE(effects.OfFunction("pure").IsPure());
  EXPECT_FALSE(effects.OfFunction("pure").HasToFinish());
  for (const char* name : {"prints", "calls"}) {
    EXPECT_TRUE(effects.OfFunction(name).TouchesState()) << name;
    EXPECT_TRUE(effects.OfFunction(name).HasToFinish()) << name;
    EXPECT_FALSE(effects.OfFunction(name).MayDrop()) << name;
  }
}

TEST(EffectsTest, DrawingHasNothingToFinish) {
  const auto program = Example();
  const EffectSet draws = Effects(*program).OfFunction("draws");
  EXPECT_FALSE(draws.IsPure());
  EXPECT_TRUE(draws.MayDrop());
  EXPECT_FALSE(draws.HasToFinish());
}

// A call that nobody reads runs all the same, and may fail; what it computes is pure.
TEST(EffectsTest, WhatNoResultNeedsHasToFinish) {
  const auto program = Example();
  const Effects effects(*program);
  for (const char* name : {"unused", "around"}) {
    EXPECT_TRUE(effects.OfFunction(name).IsPure()) << name;
    EXPECT_TRUE(effects.OfFunction(name).MayDrop()) << name;
    EXPECT_TRUE(effects.OfFunction(name).HasToFinish()) << name;
  }
}

TEST(EffectsTest, WhatNobodyKnowsMayDoAnything) {
  const auto program = Example();
  const Effects effects(*program);
  for (const char* name : {"misfit", "nobody"}) {
    EXPECT_TRUE(effects.OfFunction(name).Has(EffectSet::kUnclear)) << name;
    EXPECT_TRUE(effects.OfFunction(name).HasToFinish()) << name;
  }
}

}  // namespace
}  // namespace gyre
