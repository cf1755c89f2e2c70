// Passes that move computations: hoist, sink.
#include "passes/hoist.h"
#include "passes/sink.h"
#include "passes/text.h"

namespace gyre::testing {
namespace {

TEST(Hoist, OutOfBodyAndCondition) {
  EXPECT_EQ(After(HoistPass, R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=float32 shape=(2)
      %w = Placeholder() dtype=float32 shape=(2)
      %limits = Placeholder() dtype=int32 shape=(4)
      %loop = StatelessWhile(%n, %x, %w, %limits) cond=@below body=@step : (int32, float32, float32, int32)
    }
    func @below(%n: int32, %x: float32, %w: float32, %limits: int32) -> (p: bool) {
      %axis = Const() value=int32[1]{0}
      %limit = Max(%limits, %axis)
      %p = Less(%n, %limit)
      return %p
    }
    func @step(%n: int32, %x: float32, %w: float32, %limits: int32) -> (n: int32, x: float32, w: float32, limits: int32) {
      %one = Const() value=int32{1}
      %m = AddV2(%n, %one)
      %half = Const() value=float32{0.5}
      %scale = Mul(%w, %half)
      %root = Sqrt(%scale)
      %y = Mul(%x, %root)
      return %m, %y, %w, %limits
    })",
                  {{"n", "x", "w", "limits"}, {"loop:1"}}),
            R"(
graph {
  %n = Placeholder() shape=() : int32
  %x = Placeholder() shape=(2) : float32
  %w = Placeholder() shape=(2) : float32
  %limits = Placeholder() shape=(4) : int32
  %loop/axis = Const() value=int32[1]{0} : int32
  %loop/limit = Max(%limits, %loop/axis) : int32
  %loop/half = Const() value=float32{0.5} : float32
  %loop/scale = Mul(%w, %loop/half) : float32
  %loop/root = Sqrt(%loop/scale) : float32
  %loop = StatelessWhile(%n, %x, %w, %limits, %loop/limit, %loop/root) body=@step cond=@below : (int32, float32, float32, int32, int32, float32)
}

func @below(%n: int32, %x: float32, %w: float32, %limits: int32, %limit: int32, %root: float32) -> (p: bool) {
  %axis = Const() value=int32[1]{0} : int32
  %p = Less(%n, %limit) : bool
  return %p
}

func @step(%n: int32, %x: float32, %w: float32, %limits: int32, %limit: int32, %root: float32) -> (n: int32, x: float32, w: float32, limits: int32, limit: int32, root: float32) {
  %one = Const() value=int32{1} : int32
  %m = AddV2(%n, %one) : int32
  %half = Const() value=float32{0.5} : float32
  %y = Mul(%x, %root) : float32
  return %m, %y, %w, %limits, %limit, %root
}
)");
}

constexpr char kMayFail[] = R"(
    func @body(%i: int32, %x: float32, %w: float32) -> (x: float32, w: float32) {
      %product = MatMul(%w, %w)
      %y = AddV2(%x, %product)
      return %y, %w
    })";

std::string ForUpTo(const std::string& limit) {
  return absl::StrCat(R"(
    graph {
      %zero = Const() value=int32{0}
      %one = Const() value=int32{1}
      %limit = )",
                      limit, R"(
      %x = Placeholder() dtype=float32
      %w = Placeholder() dtype=float32
      %for = For(%zero, %limit, %one, %x, %w) body=@body : (float32, float32)
    })",
                      kMayFail);
}

TEST(Hoist, WhatMayFailOnlyIfItIsCertainToRun) {
  EXPECT_EQ(After(HoistPass, ForUpTo("Placeholder() dtype=int32"), {{"limit", "x", "w"}, {"for"}}),
            "unchanged");
  EXPECT_EQ(After(HoistPass, ForUpTo("Const() value=int32{9}"), {{"x", "w"}, {"for"}}), R"(
graph {
  %zero = Const() value=int32{0} : int32
  %one = Const() value=int32{1} : int32
  %limit = Const() value=int32{9} : int32
  %x = Placeholder() : float32
  %w = Placeholder() : float32
  %for/product = MatMul(%w, %w) : float32
  %for = For(%zero, %limit, %one, %x, %w, %for/product) body=@body : (float32, float32, float32)
}

func @body(%i: int32, %x: float32, %w: float32, %product: float32) -> (x: float32, w: float32, product: float32) {
  %y = AddV2(%x, %product) : float32
  return %y, %w, %product
}
)");
}

TEST(Hoist, NotWhatChangesDrawsOrReads) {
  EXPECT_EQ(After(HoistPass, R"(
    graph {
      %zero = Const() value=int32{0}
      %one = Const() value=int32{1}
      %nine = Const() value=int32{9}
      %x = Placeholder() dtype=float32
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v"
      %shape = Const() value=int32[1]{2}
      %for = For(%zero, %nine, %one, %x, %v, %shape) body=@body : (float32, resource, int32)
    }
    func @body(%i: int32, %x: float32, %v: resource, %shape: int32) -> (x: float32, v: resource, s: int32) {
      %changes = Neg(%x)
      %read = ReadVariableOp(%v) dtype=float32
      %draw = RandomUniform(%shape) dtype=float32
      %sum = AddN(%changes, %read, %draw)
      return %sum, %v, %shape
    })",
                  {{"x"}, {"for"}}),
            "unchanged");
}

TEST(Hoist, ABodyThatOthersUseIsCopied) {
  EXPECT_EQ(After(HoistPass, R"(
    graph {
      %n = Placeholder() dtype=int32 shape=()
      %x = Placeholder() dtype=float32
      %a = StatelessWhile(%n, %x) cond=@more body=@step : (int32, float32)
      %b = PartitionedCall(%n, %x) f=@step : (int32, float32)
    }
    func @more(%n: int32, %x: float32) -> (p: bool) {
      %zero = Const() value=int32{0}
      %p = Greater(%n, %zero)
      return %p
    }
    func @step(%n: int32, %x: float32) -> (n: int32, x: float32) {
      %k = Rank(%x)
      %m = Sub(%n, %k)
      return %m, %x
    })",
                  {{"n", "x"}, {"a", "b"}}),
            R"(
graph {
  %n = Placeholder() shape=() : int32
  %x = Placeholder() : float32
  %a/k = Rank(%x) : int32
  %a = StatelessWhile(%n, %x, %a/k) body=@step/rest cond=@more : (int32, float32, int32)
  %b = PartitionedCall(%n, %x) f=@step : (int32, float32)
}

func @more(%n: int32, %x: float32, %k: int32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%n, %zero) : bool
  return %p
}

func @step(%n: int32, %x: float32) -> (n: int32, x: float32) {
  %k = Rank(%x) : int32
  %m = Sub(%n, %k) : int32
  return %m, %x
}

func @step/rest(%n: int32, %x: float32, %k: int32) -> (n: int32, x: float32, k: int32) {
  %m = Sub(%n, %k) : int32
  return %m, %x, %k
}
)");
}

TEST(Sink, IntoTheBranchThatUsesIt) {
  EXPECT_EQ(After(SinkPass, R"(
    graph {
      %p = Placeholder() dtype=bool
      %x = Placeholder() dtype=float32
      %one = Const() value=float32{1}
      %sum = AddV2(%x, %one)
      %root = Sqrt(%sum)
      %if = StatelessIf(%p, %root, %x) then_branch=@neg else_branch=@same : float32
    }
    func @neg(%r: float32, %x: float32) -> (y: float32) {
      %y = Neg(%r)
      return %y
    }
    func @same(%r: float32, %x: float32) -> (y: float32) {
      return %x
    })",
                  {{"p", "x"}, {"if"}}),
            R"(
graph {
  %p = Placeholder() : bool
  %x = Placeholder() : float32
  %if = StatelessIf(%p, %x) else_branch=@same then_branch=@neg : float32
}

func @neg(%x: float32) -> (y: float32) {
  %one = Const() value=float32{1} : float32
  %sum = AddV2(%x, %one) : float32
  %root = Sqrt(%sum) : float32
  %y = Neg(%root) : float32
  return %y
}

func @same(%x: float32) -> (y: float32) {
  return %x
}
)");
}

TEST(Sink, NotWhatOthersNeedOrWhatActs) {
  EXPECT_EQ(After(SinkPass, R"(
    graph {
      %p = Placeholder() dtype=bool
      %x = Placeholder() dtype=float32
      %v = VarHandleOp() dtype=float32 shape=() shared_name="v"
      %fetched = Neg(%x)
      %both = Abs(%x)
      %awaited = Sign(%x)
      %read = ReadVariableOp(%v) dtype=float32
      %done = NoOp(^%awaited)
      %if = StatelessIf(%p, %fetched, %both, %awaited, %read) then_branch=@sum else_branch=@second : float32
    }
    func @sum(%a: float32, %b: float32, %c: float32, %d: float32) -> (y: float32) {
      %y = AddN(%a, %b, %c, %d)
      return %y
    }
    func @second(%a: float32, %b: float32, %c: float32, %d: float32) -> (y: float32) {
      return %b
    })",
                  {{"p", "x"}, {"if", "fetched"}, {"done"}}),
            "unchanged");
}

}  // namespace
}  // namespace gyre::testing
