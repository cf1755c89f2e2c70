// Variables that are read in loops on registers: the value of each moment, in the order of the
// program, with and without native code.
#include <chrono>
#include <thread>

#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// A loop of i from 0 to n that adds the variable v to x; `more` are more nodes of the main graph,
// and `waits` is for what the loop waits.
std::string ReadingLoop(const std::string& more = "", const std::string& waits = "") {
  return absl::StrReplaceAll(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %first = Placeholder() dtype=float32 shape=() : float32
  %init = AssignVariableOp(%v, %first) dtype=float32
  %zero = Const() value=int32{0} : int32
  %two = Const() value=float32{2} : float32
  %three = Const() value=float32{3} : float32
  %loop = While(%zero, %n, %x, %vWAITS) cond=@more body=@step : (int32, int32, float32, resource)
MORE}
func @more(%i: int32, %n: int32, %x: float32, %v: resource) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %v: resource) -> (j: int32, n: int32, y: float32, v: resource) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  %w = ReadVariableOp(%v) dtype=float32 : float32
  %y = AddV2(%x, %w) : float32
  return %j, %n, %y, %v
}
)",
                             {{"MORE", more}, {"WAITS", waits}});
}

Feeds First(float v) { return {{"first:0", Tensor::Scalar(v)}}; }

std::vector<SessionOptions> AllWays() {
  SessionOptions tokens, reference, native;
  tokens.parallel.window = 4;
  reference.engine = EngineKind::kReference;
  native.engine = EngineKind::kCompiled;
  return {SessionOptions(), tokens, reference, native};
}

TEST(NativeVariables, AreReadAsTheyAreInEachRun) {
  ASSERT_TRUE(RunsOnRegisters(ReadingLoop()));
  for (const SessionOptions& options : AllWays()) {
    auto session = SessionFor(ReadingLoop(), options);
    for (const float v : {0.5f, -2.0f, 0.25f}) {
      ASSERT_TRUE(session->Run(First(v), {}, {"init"}).ok());
      EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(100, 1), "loop:2"), 1 + 100 * v);
    }
  }
}

TEST(NativeVariables, HaveToBeInitialised) {
  std::string want;
  for (const SessionOptions& options : AllWays()) {
    auto session = SessionFor(ReadingLoop(), options);
    const absl::Status status = RunStatus(*session, LoopFeeds(3, 1), "loop:2");
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    if (want.empty()) want = status.ToString();
    EXPECT_EQ(status.ToString(), want);
    EXPECT_EQ(RunScalar<int32_t>(*session, LoopFeeds(0, 1), "loop:0"), 0) << "nobody reads it";
  }
}

TEST(NativeVariables, AreReadWhereTheProgramSaysSo) {
  // v = 2; the loop; v = 3.
  const std::string text = ReadingLoop(R"(  %set = AssignVariableOp(%v, %two) dtype=float32
  %reset = AssignVariableOp(%v, %three, ^%loop) dtype=float32
  %late = ReadVariableOp(%v, ^%reset) dtype=float32 : float32
)",
                                       ", ^%set");
  for (const SessionOptions& options : AllWays()) {
    auto session = SessionFor(text, options);
    for (int i = 0; i < 20; ++i) {
      const auto got = session->Run(LoopFeeds(50, 0), {"loop:2", "late:0"}, {"reset"});
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ((*got)[0].scalar<float>(), 100);
      EXPECT_EQ((*got)[1].scalar<float>(), 3);
    }
  }
}

// A loop that waits for a variable ends when another run writes it.
TEST(NativeVariables, AreReadAnewInEachIteration) {
  const std::string text = R"(
graph {
  %v = VarHandleOp() dtype=bool shape=() shared_name="v" : resource
  %value = Placeholder() dtype=bool shape=() : bool
  %set = AssignVariableOp(%v, %value) dtype=bool
  %zero = Const() value=int64{0} : int64
  %loop = While(%zero, %v) cond=@waits body=@count : (int64, resource)
}
func @waits(%i: int64, %v: resource) -> (p: bool) {
  %ready = ReadVariableOp(%v) dtype=bool : bool
  %p = LogicalNot(%ready) : bool
  return %p
}
func @count(%i: int64, %v: resource) -> (j: int64, v: resource) {
  %one = Const() value=int64{1} : int64
  %j = AddV2(%i, %one) : int64
  return %j, %v
}
)";
  for (const SessionOptions& options : AllWays()) {
    auto session = SessionFor(text, options);
    ASSERT_TRUE(session->Run({{"value:0", Tensor::Scalar(false)}}, {}, {"set"}).ok());
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      EXPECT_TRUE(session->Run({{"value:0", Tensor::Scalar(true)}}, {}, {"set"}).ok());
    });
    RunOptions patient;
    patient.timeout_ms = 20'000;
    EXPECT_GE(RunScalar<int64_t>(*session, {}, "loop:0", patient), 0);
    writer.join();
  }
}

}  // namespace
}  // namespace gyre::testing
