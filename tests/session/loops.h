// Programs with loops, and what is known of them, for tests of observers. Constants; any thread.
#pragma once

namespace gyre::testing {

// n iterations of one frame of primitives; `square` is made in each.
inline constexpr char kTokenLoop[] = R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %enter = Enter(%zero) frame_name="loop" : int32
  %limit = Enter(%n) frame_name="loop" is_constant=true : int32
  %merge = Merge(%enter, %next) : (int32, int32)
  %less = Less(%merge, %limit) : bool
  %cond = LoopCond(%less) : bool
  %switch = Switch(%merge, %cond) : (int32, int32)
  %one = Const(^%switch) value=int32{1} : int32
  %square = Mul(%switch:1, %switch:1) : int32
  %add = AddV2(%switch:1, %one, ^%square) : int32
  %next = NextIteration(%add) : int32
  %exit = Exit(%switch) : int32
}
)";

// An outer While of `outer_n` iterations, each with an inner one of `inner_n`; x counts both.
inline constexpr char kNestedLoops[] = R"(
graph {
  %outer_n = Placeholder() dtype=int32 shape=() : int32
  %inner_n = Placeholder() dtype=int32 shape=() : int32
  %zero = Const() value=int32{0} : int32
  %outer = While(%zero, %zero, %outer_n, %inner_n) T=[int32, int32, int32, int32] cond=@less body=@outer_body : (int32, int32, int32, int32)
  %x = Identity(%outer:1) : int32
}

func @less(%i: int32, %x: int32, %n: int32, %m: int32) -> (go: bool) {
  %go = Less(%i, %n) : bool
  return %go
}

func @outer_body(%i: int32, %x: int32, %n: int32, %m: int32) -> (i1: int32, x1: int32, n1: int32, m1: int32) {
  %zero = Const() value=int32{0} : int32
  %inner = While(%zero, %x, %m, %n) T=[int32, int32, int32, int32] cond=@less body=@inner_body : (int32, int32, int32, int32)
  %one = Const() value=int32{1} : int32
  %i_next = AddV2(%i, %one) : int32
  return %i_next, %inner:1, %n, %m
}

func @inner_body(%i: int32, %x: int32, %n: int32, %m: int32) -> (i1: int32, x1: int32, n1: int32, m1: int32) {
  %one = Const() value=int32{1} : int32
  %i_next = AddV2(%i, %one) : int32
  %x_next = AddV2(%x, %one) : int32
  return %i_next, %x_next, %n, %m
}
)";

// x = log(3), log(log(3)), …: a NaN in the iteration with number 3, of a negative number.
inline constexpr char kLogarithms[] = R"(
graph {
  %start = Const() value=float32{3} : float32
  %minus = Const() value=float32{-3} : float32
  %zero = Const() value=int32{0} : int32
  %loop = While(%zero, %start) T=[int32, float32] cond=@fewer body=@logarithm : (int32, float32)
  %x = Maximum(%loop:1, %minus) : float32
}

func @fewer(%i: int32, %x: float32) -> (go: bool) {
  %n = Const() value=int32{5} : int32
  %go = Less(%i, %n) : bool
  return %go
}

func @logarithm(%i: int32, %x: float32) -> (i1: int32, x1: float32) {
  %one = Const() value=int32{1} : int32
  %i_next = AddV2(%i, %one) : int32
  %log = Log(%x) : float32
  return %i_next, %log
}
)";

}  // namespace gyre::testing
