// A loop that runs on registers, as text.
#pragma once

#include <string>

#include "absl/strings/str_replace.h"
#include "support/run_text.h"

namespace gyre::testing {

// A loop of int32 i from 0 to n, x (float32) and a list; BODY makes %y of %x and %i, and %m of the
// list %l; EXTRA are more functions.
inline std::string LoopText(const std::string& body, const std::string& extra = "",
                            const std::string& x_shape = "()") {
  return absl::StrReplaceAll(R"(
graph {
  %n = Placeholder() dtype=int32 : int32
  %x = Placeholder() dtype=float32 shape=X_SHAPE : float32
  %zero = Const() value=int32{0} : int32
  %none = Const() value=int32[0]{} : int32
  %any = Const() value=int32{-1} : int32
  %l = EmptyTensorList(%none, %any) element_dtype=float32 : variant
  %loop = While(%zero, %n, %x, %l) cond=@more body=@step : (int32, int32, float32, variant)
  %length = TensorListLength(%loop:3) : int32
}
func @more(%i: int32, %n: int32, %x: float32, %l: variant) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %l: variant) -> (j: int32, n: int32, y: float32, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  BODY
  return %j, %n, %y, %m
}
EXTRA
)",
                             {{"BODY", body}, {"EXTRA", extra}, {"X_SHAPE", x_shape}});
}

inline Feeds LoopFeeds(int32_t n, float x) {
  return {{"n:0", Tensor::Scalar(n)}, {"x:0", Tensor::Scalar(x)}};
}

}  // namespace gyre::testing
