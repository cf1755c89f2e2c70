// A program for two workers.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace gyre::test {

// Counts to n on worker 0, and multiplies by w on worker 1, where the body may do more than that,
// and give another value of its own than the product.
inline std::string LoopOnTwo(absl::string_view kind, absl::string_view more_of_the_body = "",
                             absl::string_view result = "product") {
  return absl::StrCat(
      R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %w = Placeholder() dtype=float32 shape=() : float32
  %zero = Const() value=int32{0} : int32
  %one = Const() value=float32{1} : float32
  %loop = )",
      kind, R"((%zero, %n, %one, %w) cond=@more body=@step : (int32, int32, float32, float32)
}
func @more(%i: int32, %n: int32, %x: float32, %w: float32) -> (p: bool) {
  %less = Less(%i, %n) : bool on "/job:worker/task:0"
  return %less
}
func @step(%i: int32, %n: int32, %x: float32, %w: float32) -> (i: int32, n: int32, x: float32, w: float32) {
  %k = Const() value=int32{1} : int32
  %next = AddV2(%i, %k) : int32 on "/job:worker/task:0"
  %product = Mul(%x, %w) : float32 on "/job:worker/task:1"
)",
      more_of_the_body, R"(
  return %next, %n, %)",
      result, R"(, %w
}
)");
}

}  // namespace gyre::test
