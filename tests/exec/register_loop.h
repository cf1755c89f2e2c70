// A loop that runs on registers, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "exec/sequential/loop.h"
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
  %items = TensorListStack(%loop:3, %any) element_dtype=float32 : float32
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

// Whether the node `loop` of the text does.
inline bool RunsOnRegisters(const std::string& text) {
  const std::unique_ptr<Session> session = SessionFor(text);
  if (session == nullptr) return false;
  lower::ProgramFacts facts(session->program());
  const Function& main = session->program().main();
  facts.InferMainShapes({Endpoint{main.FindNode("n")->id, 0}, Endpoint{main.FindNode("x")->id, 0}});
  return sequential::CompileLoop(facts, main, *main.FindNode("loop")) != nullptr;
}

// On registers, as native code and as tokens `text` gives what the reference engine gives, to the
// bit.
inline void ExpectAgreement(const std::string& text, const Feeds& feeds,
                            const std::vector<std::string>& fetches) {
  ASSERT_TRUE(RunsOnRegisters(text)) << text;
  SessionOptions tokens, reference, native;
  tokens.parallel.window = 4;
  reference.engine = EngineKind::kReference;
  native.engine = EngineKind::kCompiled;
  const auto want = SessionFor(text, reference)->Run(feeds, fetches);
  for (const SessionOptions& options : {SessionOptions(), tokens, native}) {
    const auto got = SessionFor(text, options)->Run(feeds, fetches);
    ASSERT_EQ(got.status().ToString(), want.status().ToString());
    if (!want.ok()) continue;
    for (size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_EQ((*got)[i].shape(), (*want)[i].shape()) << fetches[i];
      ASSERT_EQ((*got)[i].dtype(), (*want)[i].dtype()) << fetches[i];
      EXPECT_EQ(
          std::string_view(static_cast<const char*>((*got)[i].raw_data()), (*got)[i].bytes()),
          std::string_view(static_cast<const char*>((*want)[i].raw_data()), (*want)[i].bytes()))
          << fetches[i];
    }
  }
}

}  // namespace gyre::testing
