// Variables that are read and written in loops on registers: the value of each moment, in the order
// of the program, with and without native code.
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

// A loop whose iterations make the variables v (float32) and c (TYPE) what BODY says; %w is what it
// hands to the next one, of which the first has x.
std::string WritingLoop(const std::string& body, const std::string& type = "int32") {
  return absl::StrReplaceAll(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %c = VarHandleOp() dtype=TYPE shape=() shared_name="c" : resource
  %first = Placeholder() dtype=float32 shape=() : float32
  %count = Cast(%first) DstT=TYPE : TYPE
  %set = AssignVariableOp(%v, %first) dtype=float32
  %start = AssignVariableOp(%c, %count) dtype=TYPE
  %now = ReadVariableOp(%v) dtype=float32 : float32
  %counted = ReadVariableOp(%c) dtype=TYPE : TYPE
  %counted_too = Cast(%counted) DstT=float64 : float64
  %zero = Const() value=int32{0} : int32
  %loop = While(%zero, %n, %x, %v, %c) cond=@more body=@step : (int32, int32, float32, resource, resource)
}
func @more(%i: int32, %n: int32, %x: float32, %v: resource, %c: resource) -> (p: bool) {
  %p = Less(%i, %n) : bool
  return %p
}
func @step(%i: int32, %n: int32, %x: float32, %v: resource, %c: resource) -> (j: int32, n: int32, w: float32, v: resource, c: resource) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  BODY
  return %j, %n, %w, %v, %c
}
)",
                             {{"BODY", body}, {"TYPE", type}});
}

// v grows by x, is read, halved, and reduced by 1; c counts.
constexpr char kChanges[] = R"(
  %add = AssignAddVariableOp(%v, %x) dtype=float32
  %r = ReadVariableOp(%v, ^%add) dtype=float32 : float32
  %half = Const() value=float32{0.5} : float32
  %h = Mul(%r, %half) : float32
  %to_half = AssignVariableOp(%v, %h) dtype=float32
  %whole = Const() value=float32{1} : float32
  %less = AssignSubVariableOp(%v, %whole, ^%to_half) dtype=float32
  %w = ReadVariableOp(%v, ^%less) dtype=float32 : float32
  %k = Cast(%one) DstT=TYPE : TYPE
  %counts = AssignAddVariableOp(%c, %k) dtype=TYPE
)";

// What the loop has handed on, v and c behind a run of n iterations that begins with v = c = first.
std::vector<double> Written(const std::string& text, const SessionOptions& options, int n,
                            float first) {
  auto session = SessionFor(text, options);
  EXPECT_TRUE(session->Run(First(first), {}, {"set", "start"}).ok());
  const float w = RunScalar<float>(*session, LoopFeeds(n, 0.75f), "loop:2");
  return {w, RunScalar<float>(*session, {}, "now:0"),
          RunScalar<double>(*session, {}, "counted_too:0")};
}

TEST(NativeVariables, AreWrittenInTheOrderOfTheProgram) {
  for (const char* const type : {"int32", "float16", "bfloat16", "float64", "int8", "int16",
                                 "int64", "uint8", "uint16", "uint32", "uint64"}) {
    SCOPED_TRACE(type);
    const std::string text = WritingLoop(absl::StrReplaceAll(kChanges, {{"TYPE", type}}), type);
    ASSERT_TRUE(RunsOnRegisters(text));
    for (const int n : {0, 1, 100}) {
      const std::vector<double> want = Written(text, {.engine = EngineKind::kReference}, n, 3.0f);
      EXPECT_EQ(want[2], 3 + n);
      for (const SessionOptions& options : AllWays())
        EXPECT_EQ(Written(text, options, n, 3.0f), want) << n;
    }
  }
}

// Nothing of the iteration that fails is done twice, whoever notices.
TEST(NativeVariables, AreAsTheLastOpLeftThemWhenALoopFails) {
  const std::string text = WritingLoop(R"(
  %add = AssignAddVariableOp(%v, %x) dtype=float32
  %counts = AssignAddVariableOp(%c, %one, ^%add) dtype=int32
  %seven = Const() value=int32{7} : int32
  %left = Sub(%seven, %i, ^%counts) : int32
  %q = FloorDiv(%one, %left) : int32
  %w = Cast(%q) DstT=float32 : float32
)");
  std::string want;
  for (const EngineKind engine :
       {EngineKind::kReference, EngineKind::kDataflow, EngineKind::kCompiled}) {
    auto session = SessionFor(text, {.engine = engine});
    ASSERT_TRUE(session->Run(First(0), {}, {"set", "start"}).ok());
    const absl::Status status = RunStatus(*session, LoopFeeds(20, 0.5f), "loop:2");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    if (want.empty()) want = status.ToString();
    EXPECT_EQ(status.ToString(), want);
    EXPECT_EQ(RunScalar<double>(*session, {}, "counted_too:0"), 8);
  }
}

TEST(NativeVariables, HaveToBeInitialisedToBeChanged) {
  const std::string text = WritingLoop(absl::StrReplaceAll(kChanges, {{"TYPE", "int32"}}));
  std::string want;
  for (const SessionOptions& options : AllWays()) {
    auto session = SessionFor(text, options);
    ASSERT_TRUE(session->Run(First(0), {}, {"set"}).ok());
    const absl::Status status = RunStatus(*session, LoopFeeds(3, 1), "loop:2");
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    if (want.empty()) want = status.ToString();
    EXPECT_EQ(status.ToString(), want);
  }
}

TEST(NativeVariables, OfRunsAtOnceLoseNothing) {
  const std::string text = WritingLoop(
      "%counts = AssignAddVariableOp(%c, %one) dtype=int32\n%w = Identity(%x) : float32");
  for (const SessionOptions& options : AllWays()) {
    auto session = SessionFor(text, options);
    ASSERT_TRUE(session->Run(First(0), {}, {"set", "start"}).ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] { EXPECT_TRUE(session->Run(LoopFeeds(2000, 1), {"loop:2"}).ok()); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(RunScalar<double>(*session, {}, "counted_too:0"), 6000);
  }
}

}  // namespace
}  // namespace gyre::testing
