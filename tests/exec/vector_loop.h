// A loop over a small tensor and a list, as text, and how much of it is native.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "exec/sequential/native.h"
#include "support/run_text.h"

namespace gyre::testing {

// A loop of int32 i from 0 to n over v of shape V and the list l; BODY makes %w of %v and %i, and
// %m of %l; EXTRA are more functions.
inline std::string VectorLoop(const std::string& body, const std::string& v_shape = "(8)",
                              const std::string& extra = "", const std::string& dtype = "float32") {
  return absl::StrReplaceAll(
      R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=TYPE shape=V_SHAPE : TYPE
  %zero = Const() value=int32{0} : int32
  %any = Const() value=int32{-1} : int32
  %none = Const() value=int32{0} : int32
  %l = EmptyTensorList(%any, %any) element_dtype=TYPE : variant
  %loop = While(%zero, %n, %x, %l) cond=@more body=@step : (int32, int32, TYPE, variant)
  %length = TensorListLength(%loop:3) : int32
}
func @more(%i: int32, %n: int32, %v: TYPE, %l: variant) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %v: TYPE, %l: variant) -> (j: int32, n: int32, w: TYPE, m: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  BODY
  return %j, %n, %w, %m
}
EXTRA
)",
      {{"BODY", body}, {"EXTRA", extra}, {"V_SHAPE", v_shape}, {"TYPE", dtype}});
}
inline constexpr char kKeepList[] = "\n%m = Identity(%l) : variant";

inline Feeds VectorFeeds(int32_t n, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.125f * static_cast<float>(i % 50) - 2;
  return {{"n:0", Tensor::Scalar(n)}, {"x:0", Tensor::FromValues<float>(values, shape)}};
}

inline const std::vector<std::string> kResults = {"loop:0", "loop:2", "length:0"};

// How many of a loop's instructions native code leaves to the interpreter.
inline int NumCalls(const std::string& text) {
  const std::unique_ptr<Session> session = SessionFor(text);
  lower::ProgramFacts facts(session->program());
  facts.InferMainShapes({});
  const auto loop = sequential::CompileLoop(facts, session->program().main(),
                                            *session->program().main().FindNode("loop"));
  if (loop == nullptr) return -1;
  const auto native = std::make_shared<sequential::NativeLoop>();
  if (!native->MakeRegion(*loop)) return -2;
  int calls = 0;
  for (const compiled::Instruction& op : native->region().instructions)
    calls += op.action == compiled::Action::kCall ? 1 : 0;
  return calls;
}

}  // namespace gyre::testing
