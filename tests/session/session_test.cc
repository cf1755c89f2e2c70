// What a user of Session can rely on.
#include "gyre/core/session.h"

#include <thread>

#include "absl/strings/match.h"
#include "ir/text/parser.h"
#include "ops/registry.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

constexpr char kCounter[] = R"(
graph {
  %v = VarHandleOp() dtype=int64 shape=() shared_name="v" : resource
  %zero = Const() value=int64{0} : int64
  %init = AssignVariableOp(%v, %zero) dtype=int64
  %one = Const() value=int64{1} : int64
  %add = AssignAddVariableOp(%v, %one) dtype=int64
  %read = ReadVariableOp(%v, ^%add) dtype=int64 : int64
  %peek = ReadVariableOp(%v) dtype=int64 : int64
  %x = Placeholder() dtype=float32 shape=(2,?) : float32
  %y = Square(%x) : float32
}
)";

TEST(Session, VariablesLiveFromRunToRunAndNotBeyondTheSession) {
  auto session = SessionFor(kCounter);
  ASSERT_NE(session, nullptr);
  const absl::Status early = RunStatus(*session, {}, "peek:0");
  EXPECT_EQ(early.code(), absl::StatusCode::kFailedPrecondition) << early;
  ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 1);
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 2);
  auto other = SessionFor(kCounter);
  EXPECT_EQ(RunStatus(*other, {}, "peek:0").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Session, RunsInTheFormThatItIsTold) {
  for (const ProgramForm form : kProgramForms) {
    auto session = SessionFor(kCounter, {.form = form});
    ASSERT_NE(session, nullptr);
    ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
    EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 1) << to_string(form);
    EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 2) << to_string(form);
    EXPECT_EQ(RunScalar<float>(*session, {{"y:0", Tensor::Scalar(2.0f)}}, "y:0"), 2.0f)
        << to_string(form);
  }
  const auto program = ParseProgram(kCounter, Ops());
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(Session::Create(*program, {.passes = {.only = "flod"}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Session, AnotherSnapshotOfTheProgramKeepsTheVariables) {
  auto session = SessionFor(kCounter);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 1);
  const auto grown = ParseProgram(R"(
graph {
  %v = VarHandleOp() dtype=int64 shape=() shared_name="v" : resource
  %peek = ReadVariableOp(%v) dtype=int64 : int64
  %twice = AddV2(%peek, %peek) : int64
}
)",
                                  Ops());
  ASSERT_TRUE(grown.ok()) << grown.status();
  auto next = session->WithProgram(*grown);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(RunScalar<int64_t>(**next, {}, "twice:0"), 2);
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "read:0"), 2);  // the first goes on, too
  session.reset();
  EXPECT_EQ(RunScalar<int64_t>(**next, {}, "twice:0"), 4);
}

TEST(Session, ConcurrentRunsLoseNoUpdate) {
  auto session = SessionFor(kCounter);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->Run({}, {}, {"init"}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) EXPECT_TRUE(session->Run({}, {}, {"add"}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(RunScalar<int64_t>(*session, {}, "peek:0"), 800);
}

TEST(Session, PreparedCallableTakesFeedsInOrder) {
  auto session = SessionFor(kCounter);
  ASSERT_NE(session, nullptr);
  auto callable = session->Prepare({"x:0"}, {"y:0"});
  ASSERT_TRUE(callable.ok()) << callable.status();
  const Tensor x = Tensor::FromValues<float>({1, 2, 3, 4}, *Shape::Make({2, 2}));
  const Tensor feeds[] = {x};
  auto y = callable->Run(feeds);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ((*y)[0].values<float>()[3], 16.0f);
  EXPECT_EQ(callable->Run({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Session, FeedsAreCheckedAgainstTypeAndShape) {
  auto session = SessionFor(kCounter);
  ASSERT_NE(session, nullptr);
  const absl::Status type = RunStatus(*session, {{"x:0", Tensor::Scalar<int32_t>(1)}}, "y:0");
  EXPECT_EQ(type.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(type.message(), "x:0 takes float32, but is fed int32")) << type;
  const absl::Status shape = RunStatus(*session, {{"x:0", Tensor::Scalar<float>(1)}}, "y:0");
  EXPECT_TRUE(absl::StrContains(shape.message(), "x:0 takes shape [2,?], but is fed []")) << shape;
  const absl::Status none = RunStatus(*session, {}, "y:0");
  EXPECT_TRUE(absl::StrContains(none.message(), "'x'")) << none;
}

TEST(Session, RefusesOptionsThatMeanNothing) {
  const std::string text = "graph {\n  %x = Const() value=float32{1} : float32\n}";
  const std::shared_ptr<const Program> program = SessionFor(text)->shared_program();
  const auto refused = [&](const SessionOptions& options) {
    return Session::Create(program, options).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({.engine = static_cast<EngineKind>(99)}));
  EXPECT_TRUE(refused({.form = static_cast<ProgramForm>(99)}));
  EXPECT_TRUE(refused({.compile = static_cast<CompileMode>(99)}));
  EXPECT_TRUE(refused({.parallel = {.threads = 40'000'000}}));
  EXPECT_TRUE(refused({.parallel = {.threads = -1}}));
  EXPECT_EQ(Session::Create(nullptr).status().code(), absl::StatusCode::kInvalidArgument);
  auto session = SessionFor(text);
  EXPECT_EQ(session->WithProgram(nullptr).status().code(), absl::StatusCode::kInvalidArgument);
  RunOptions late, small;
  late.timeout_ms = -1;
  small.budget_bytes = -5;
  for (const RunOptions& options : {late, small})
    EXPECT_EQ(RunStatus(*session, {}, "x:0", options).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Session, ACallableThatWasMovedAwaySaysSo) {
  auto session = SessionFor("graph {\n  %x = Const() value=float32{1} : float32\n}");
  absl::StatusOr<Session::Callable> callable = session->Prepare({}, {"x:0"});
  ASSERT_TRUE(callable.ok());
  const Session::Callable moved = std::move(*callable);
  EXPECT_TRUE(moved.Run({}).ok());
  EXPECT_EQ(callable->Run({}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Session, NamesThatDoNotExistAreNotFound) {
  auto session = SessionFor(kCounter);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(RunStatus(*session, {}, "nowhere:0").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(RunStatus(*session, {}, "y:3").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunStatus(*session, {}, "y:-1").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->Run({}, {}, {"nowhere"}).status().code(), absl::StatusCode::kNotFound);
}

TEST(Session, ResultsOutliveTheSession) {
  Tensor kept;
  {
    auto session = SessionFor(kCounter);
    ASSERT_NE(session, nullptr);
    auto y = session->Run({{"x:0", Tensor::FromValues<float>({1, 2, 3, 4}, *Shape::Make({2, 2}))}},
                          {"y:0"});
    ASSERT_TRUE(y.ok()) << y.status();
    kept = (*y)[0];
  }
  EXPECT_EQ(kept.values<float>()[1], 4.0f);
}

TEST(Session, BudgetRefusesATensorThatIsTooLarge) {
  auto session = SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=(1) : int32
  %zero = Const() value=float32{0} : float32
  %big = Fill(%n, %zero) : float32
}
)");
  ASSERT_NE(session, nullptr);
  RunOptions options;
  options.budget_bytes = 1 << 20;
  EXPECT_TRUE(
      RunStatus(*session, {{"n:0", Tensor::Vector<int32_t>({1000})}}, "big:0", options).ok());
  const absl::Status status =
      RunStatus(*session, {{"n:0", Tensor::Vector<int32_t>({1'000'000})}}, "big:0", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(status.message(), "at node big (Fill)")) << status;
}

}  // namespace
}  // namespace gyre::testing
