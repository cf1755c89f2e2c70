// Conditionals that stand in no loop, as native code.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/dataflow/plan.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

// If %p, float32 x becomes what YES makes of it (as %y), else what NO does.
std::string IfText(const std::string& yes, const std::string& no) {
  return absl::StrReplaceAll(R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %x = Placeholder() dtype=float32 shape=() : float32
  %if = If(%p, %x) then_branch=@yes else_branch=@no : float32
}
func @yes(%x: float32) -> (y: float32) {
  YES
  return %y
}
func @no(%x: float32) -> (y: float32) {
  NO
  return %y
}
func @more(%x: float32) -> (p: bool) {
  %limit = Const() value=float32{1000} : float32
  %p = Less(%x, %limit) : bool
  return %p
}
func @stay(%x: float32) -> (p: bool) {
  %p = Equal(%x, %x) : bool
  return %p
}
func @step(%x: float32) -> (y: float32) {
  %one = Const() value=float32{1} : float32
  %y = AddV2(%x, %one) : float32
  return %y
}
)",
                             {{"YES", yes}, {"NO", no}});
}
constexpr char kSin[] = "%y = Sin(%x) : float32";
constexpr char kNeg[] = "%y = Neg(%x) : float32";

Feeds IfFeeds(bool p, float x) { return {{"p:0", Tensor::Scalar(p)}, {"x:0", Tensor::Scalar(x)}}; }

// What the engine `compiled` asks for.
constexpr CompileWhen kAll = {.mode = CompileMode::kAlways, .conditionals = true};

// How many loops and conditionals are no tokens where the node `if` is fetched.
int NumKept(const std::string& text, const CompileWhen& when) {
  const std::unique_ptr<Session> session = SessionFor(text);
  const Function& main = session->program().main();
  RunSignature signature{.fetches = {{main.FindNode("if")->id, 0}}};
  for (const char* const fed : {"p", "x"})
    if (const Node* const node = main.FindNode(fed)) signature.feeds.push_back({node->id, 0});
  const auto plan = dataflow::Plan::Make(
      std::shared_ptr<const Program>(std::shared_ptr<void>(), &session->program()), signature,
      {.compile = when});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? (*plan)->num_kept_loops() : -1;
}

// What a run gives whose conditionals are tokens, or native.
absl::StatusOr<std::vector<Tensor>> RunWith(const std::string& text, EngineKind engine,
                                            const Feeds& feeds, const std::string& fetch) {
  const std::unique_ptr<Session> session = SessionFor(text, {.engine = engine});
  if (session == nullptr) return absl::InvalidArgumentError("it does not parse");
  return session->Run(feeds, {fetch});
}
void ExpectAgreement(const std::string& text, const Feeds& feeds, const std::string& fetch) {
  const auto want = RunWith(text, EngineKind::kDataflow, feeds, fetch);
  const auto got = RunWith(text, EngineKind::kCompiled, feeds, fetch);
  EXPECT_EQ(NumKept(text, kAll), 1);
  EXPECT_EQ(got.status(), want.status());
  if (!want.ok() || !got.ok()) return;
  ASSERT_EQ((*got)[0].bytes(), (*want)[0].bytes());
  EXPECT_EQ(std::memcmp((*got)[0].raw_data(), (*want)[0].raw_data(), (*got)[0].bytes()), 0);
}

TEST(NativeConditional, TakesTheBranchThatItIsTold) {
  for (const bool p : {true, false}) ExpectAgreement(IfText(kSin, kNeg), IfFeeds(p, 0.5f), "if:0");
}

TEST(NativeConditional, IsMadeByTheEngineThatCompilesAll) {
  const std::string text = IfText(kSin, kNeg);
  EXPECT_EQ(NumKept(text, kAll), 1);
  for (const CompileMode mode : kCompileModes) EXPECT_EQ(NumKept(text, {.mode = mode}), 0);
}

TEST(NativeConditional, ClampsTheIndexOfACase) {
  const std::string text =
      absl::StrReplaceAll(IfText(kSin, kNeg), {{"%p = Placeholder() dtype=bool shape=() : bool",
                                                "%p = Placeholder() dtype=int32 shape=() : int32"},
                                               {"If(%p, %x) then_branch=@yes else_branch=@no",
                                                "Case(%p, %x) branches=[@yes, @no, @step]"}});
  for (const int32_t index : {0, 1, 2, 3, -1, INT32_MIN})
    ExpectAgreement(text, {{"p:0", Tensor::Scalar(index)}, {"x:0", Tensor::Scalar(0.5f)}}, "if:0");
}

TEST(NativeConditional, HasLoopsAndConditionalsWithinIt) {
  const std::string text =
      IfText("%y = While(%x) cond=@more body=@step : float32",
             "%z = Const() value=float32{0} : float32\n%q = Less(%x, %z) : bool\n"
             "%n = If(%q, %x) then_branch=@step else_branch=@inner : float32\n"
             "%y = Square(%n) : float32") +
      "func @inner(%x: float32) -> (y: float32) {\n  %y = Exp(%x) : float32\n  return %y\n}\n";
  for (const bool p : {true, false})
    for (const float x : {-2.5f, 0.25f}) ExpectAgreement(text, IfFeeds(p, x), "if:0");
}

TEST(NativeConditional, StopsInALoopWithoutEnd) {
  const std::string text = IfText("%y = While(%x) cond=@stay body=@step : float32", kNeg);
  const std::unique_ptr<Session> session = SessionFor(text, {.engine = EngineKind::kCompiled});
  RunOptions options;
  options.timeout_ms = 200;
  EXPECT_EQ(RunStatus(*session, IfFeeds(true, 1), "if:0", options).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(RunScalar<float>(*session, IfFeeds(false, 1), "if:0", options), -1);
}

TEST(NativeConditional, SaysWhereItsErrorsHappened) {
  const std::string text =
      IfText("%y = CheckNumerics(%x) message=\"of x\" : float32",
             "%z = Const() value=int32{0} : int32\n%i = Cast(%x) SrcT=float32 DstT=int32 : int32\n"
             "%d = FloorDiv(%i, %z) : int32\n%y = Cast(%d) SrcT=int32 DstT=float32 : float32");
  ExpectAgreement(text, IfFeeds(true, INFINITY), "if:0");
  ExpectAgreement(text, IfFeeds(false, 1), "if:0");
  const auto failed = RunWith(text, EngineKind::kCompiled, IfFeeds(false, 1), "if:0");
  EXPECT_NE(failed.status().message().find("else branch (function no) of If node if"),
            std::string::npos)
      << failed.status();
}

TEST(NativeConditional, DrawsTheSameNumbers) {
  const std::string draw =
      "%s = Const() value=int32[0]{} : int32\n"
      "%r = RandomUniform(%s) seed=3 seed2=5 dtype=float32 : float32\n"
      "%y = AddV2(%r, %x) : float32";
  ExpectAgreement(IfText(draw, kNeg), IfFeeds(true, 1), "if:0");
}

TEST(NativeConditional, TakesSmallTensorsAndGivesThem) {
  const std::string text =
      absl::StrReplaceAll(IfText(kSin, kNeg), {{"%x = Placeholder() dtype=float32 shape=()",
                                                "%x = Placeholder() dtype=float32 shape=(3)"}});
  for (const bool p : {true, false})
    ExpectAgreement(text,
                    {{"p:0", Tensor::Scalar(p)},
                     {"x:0", Tensor::FromValues<float>({0.5f, -1, 2}, Shape::Vector(3))}},
                    "if:0");
}

// Each run writes once.
TEST(NativeConditional, WritesVariables) {
  const std::string text = R"(
graph {
  %p = Placeholder() dtype=bool shape=() : bool
  %v = VarHandleOp() dtype=float32 shape=() shared_name="v" : resource
  %zero = Const() value=float32{0} : float32
  %init = AssignVariableOp(%v, %zero) dtype=float32
  %if = If(%p, %v) then_branch=@up else_branch=@down : float32
}
func @up(%v: resource) -> (y: float32) {
  %one = Const() value=float32{1} : float32
  %add = AssignAddVariableOp(%v, %one) dtype=float32
  %y = ReadVariableOp(%v, ^%add) dtype=float32 : float32
  return %y
}
func @down(%v: resource) -> (y: float32) {
  %one = Const() value=float32{1} : float32
  %sub = AssignSubVariableOp(%v, %one) dtype=float32
  %y = ReadVariableOp(%v, ^%sub) dtype=float32 : float32
  return %y
}
)";
  EXPECT_EQ(NumKept(text, kAll), 1);
  const std::unique_ptr<Session> session = SessionFor(text, {.engine = EngineKind::kCompiled});
  ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
  float want = 0;
  for (const bool p : {true, true, false, true}) {
    want += p ? 1 : -1;
    EXPECT_EQ(RunScalar<float>(*session, {{"p:0", Tensor::Scalar(p)}}, "if:0"), want);
  }
}

TEST(NativeConditional, IsTokensWhereABranchWaits) {
  const std::string text = IfText(
      "%q = FIFOQueueV2() component_types=[float32] shared_name=\"q\" : resource\n"
      "%put = QueueEnqueueV2(%q, %x)\n"
      "%y = QueueDequeueV2(%q, ^%put) component_types=[float32] : float32",
      kNeg);
  EXPECT_EQ(NumKept(text, kAll), 0);
  const std::unique_ptr<Session> session = SessionFor(text, {.engine = EngineKind::kCompiled});
  EXPECT_EQ(RunScalar<float>(*session, IfFeeds(true, 3), "if:0"), 3);
}

}  // namespace
}  // namespace gyre::testing
