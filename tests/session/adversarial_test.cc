// Programs that mean harm, or make no sense: each ends in a sentence, never in a crash, and no
// memory is taken that a run's budget does not know of.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "graphdef/import.h"
#include "ir/text/parser.h"
#include "ops/registry.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Why `text` makes no session.
std::string Refusal(const std::string& text) {
  const absl::StatusOr<std::shared_ptr<const Program>> program = ParseProgram(text, Ops());
  const absl::Status status = program.ok() ? Session::Create(*program).status() : program.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return Message(status);
}

TEST(AdversarialPrograms, UnsoundTextMakesNoSession) {
  EXPECT_THAT(Refusal(R"(graph { %a = Const() value=int32{1} : int32
                                 %b = Identity(%a:1000000) T=int32 : int32 })"),
              HasSubstr("output 1000000 of node a"));
  EXPECT_THAT(Refusal(R"(graph { %a = Const() value=float32{1} : float32
                                 %b = AddV2(%a) T=float32 : float32 })"),
              HasSubstr("node b (AddV2)"));
  EXPECT_THAT(Refusal(R"(graph { %a = Const() value=int32{1} : int32
                                 %b = StringLength(%a) : int32 })"),
              HasSubstr("string"));
  EXPECT_THAT(Refusal(R"(graph { %x = Const() value=int32{1} : int32
                                 %y = PartitionedCall(%x) f=@f : int32 }
                         func @f(%z: int32) -> (y: int32) { return %z:100000 })"),
              HasSubstr("function f"));
}

TEST(AdversarialPrograms, FeedOfAnUnknownOpIsWhatItsReadersWant) {
  const auto program = ImportGraphDef(R"(
node { name: "u" op: "Unknown" }
node { name: "v" op: "StringLength" input: "u:3" }
)",
                                      Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const auto session = *Session::Create(*program);
  const absl::Status status =
      RunStatus(*session, {{"u:3", Tensor::Vector<float>({5.5f, 6, 7})}}, "v:0");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("u:3 takes string, but is fed float32"));
}

TEST(AdversarialPrograms, NextIterationOutsideOfAnyLoopIsRefused) {
  const auto program = ParseProgram(R"(
graph {
  %c = Const() value=int32{1} : int32
  %m = Merge(%c, %n) : (int32, int32)
  %a = AddV2(%m, %c) : int32
  %n = NextIteration(%a) : int32
}
)",
                                    Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(Message(Session::Create(*program).status()),
              HasSubstr("it must be a variable of its loop"));
}

TEST(AdversarialPrograms, ExitOfEveryIterationIsAnErrorOfTheRun) {
  auto session = SessionFor(R"(
graph {
  %zero = Const() value=int32{0} : int32
  %e = Enter(%zero) frame_name="f" : int32
  %m = Merge(%e, %n) : (int32, int32)
  %limit = Const(^%m) value=int32{5} : int32
  %less = Less(%m, %limit) : bool
  %cond = LoopCond(%less) : bool
  %s = Switch(%m, %cond) : (int32, int32)
  %one = Const(^%s) value=int32{1} : int32
  %a = AddV2(%s:1, %one) : int32
  %n = NextIteration(%a) : int32
  %each = Exit(%s:1) : int32
  %last = Exit(%s) : int32
  %sum = AddV2(%each, %last) : int32
}
)");
  ASSERT_NE(session, nullptr);
  const absl::Status status = RunStatus(*session, {}, "sum:0");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("more than one iteration"));
  EXPECT_THAT(Message(status), HasSubstr("node each (Exit)"));
  EXPECT_EQ(RunScalar<int32_t>(*session, {}, "last:0"), 5) << "pruned, it does no harm";
}

TEST(AdversarialPrograms, TransfersOnAPathNotTakenStayDead) {
  auto session = SessionFor(R"(
graph {
  %x = Const() value=int32{3} : int32
  %no = Const() value=bool{false} : bool
  %s = Switch(%x, %no) : (int32, int32)
  %taken = Identity(%s:1) : int32
  %send = _Send(%s:1) tensor_name="t" send_device="a" send_device_incarnation=1 recv_device="b"
  %after = Const(^%send) value=int32{9} : int32
  %live = _Send(%x) tensor_name="u" send_device="a" send_device_incarnation=1 recv_device="b"
  %recv = _Recv(^%taken) tensor_name="u" send_device="a" send_device_incarnation=1 recv_device="b" tensor_type=int32 : int32
  %got = Identity(%recv) : int32
  %held = _Send(%x, ^%taken) tensor_name="v" send_device="a" send_device_incarnation=1 recv_device="b"
  %none = _Recv() tensor_name="v" send_device="a" send_device_incarnation=1 recv_device="b" tensor_type=int32 : int32
}
)");
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(Message(RunStatus(*session, {}, "after:0")), HasSubstr("path that was not taken"));
  EXPECT_THAT(Message(session->Run({}, {"got:0"}, {"live"}).status()),
              HasSubstr("path that was not taken"));
  EXPECT_THAT(Message(session->Run({}, {"none:0"}, {"held"}).status()),
              HasSubstr("path that was not taken"))
      << "its input is alive, but a control input of it is dead";
}

TEST(AdversarialPrograms, FedLoopOnAPathNotTakenRunsNothing) {
  std::string printed;
  SessionOptions options;
  options.print = [&](absl::string_view, absl::string_view text) {
    printed.append(text.data(), text.size());
  };
  auto session = SessionFor(R"(
graph {
  %zero = Const() value=int32{0} : int32
  %p = Placeholder() dtype=bool shape=() : bool
  %sw = Switch(%zero, %p) : (int32, int32)
  %e = Enter(%sw:1) frame_name="f" : int32
  %m = Merge(%e, %n) : (int32, int32)
  %limit = Const(^%m) value=int32{5} : int32
  %less = Less(%m, %limit) : bool
  %cond = LoopCond(%less) : bool
  %s = Switch(%m, %cond) : (int32, int32)
  %one = Const(^%s) value=int32{1} : int32
  %said = Print(%one, %one) message="in the body" : int32
  %a = AddV2(%s:1, %said) : int32
  %n = NextIteration(%a) : int32
  %x = Exit(%s) : int32
  %y = Merge(%x, %sw) : (int32, int32)
}
)",
                            options);
  ASSERT_NE(session, nullptr);
  const Feeds feeds = {{"p:0", Tensor::Scalar(false)},
                       {"less:0", Tensor::Scalar(true)},
                       {"one:0", Tensor::Scalar<int32_t>(1)}};
  EXPECT_EQ(RunScalar<int32_t>(*session, feeds, "y:0"), 0);
  EXPECT_EQ(printed, "");
}

TEST(AdversarialPrograms, ChainsOfVariablesEndWithoutRecursion) {
  std::string text =
      "graph {\n  %v0 = VarHandleOp() dtype=float32 shape=() shared_name=\"v0\" : resource\n";
  constexpr int kLength = 100'000;
  for (int i = 1; i < kLength; ++i) {
    absl::StrAppend(&text, "  %v", i, " = VarHandleOp() dtype=resource shape=() shared_name=\"v", i,
                    "\" : resource\n  %a", i, " = AssignVariableOp(%v", i, ", %v", i - 1,
                    i > 1 ? absl::StrCat(", ^%a", i - 1) : "", ")\n");
  }
  text += "}\n";
  auto session = SessionFor(text);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->Run({}, {}, {absl::StrCat("a", kLength - 1)}).ok());
  session.reset();  // one destructor inside another would take more stack than there is
}

// `body` makes the next value of a loop without end out of %i and %o.
absl::Status RunEndless(const std::string& first, const std::string& body) {
  auto session = SessionFor(absl::StrCat(R"(
graph {
  %zero = Const() value=int32{0} : int32
  )",
                                         first, R"(
  %w = While(%zero, %o) cond=@more body=@step : (int32, variant)
  %last = Identity(%w) : int32
}
func @more(%i: int32, %o: variant) -> (y: bool) {
  %n = Const() value=int32{2000000000} : int32
  %y = Less(%i, %n) : bool
  return %y
}
func @step(%i: int32, %o: variant) -> (j: int32, p: variant) {
  %one = Const() value=int32{1} : int32
  %j = AddV2(%i, %one) : int32
  )",
                                         body, "\n  return %j, %p\n}\n"));
  RunOptions options;
  options.budget_bytes = 4 << 20;
  options.timeout_ms = 120'000;
  return session == nullptr ? absl::OkStatus() : RunStatus(*session, {}, "last:0", options);
}

TEST(AdversarialPrograms, WhateverGrowsIsChargedToTheBudget) {
  const std::string none = "%o = OptionalNone() : variant";
  EXPECT_TRUE(absl::IsResourceExhausted(RunEndless(none, "%p = OptionalFromValue(%o) : variant")));
  EXPECT_TRUE(absl::IsResourceExhausted(RunEndless(
      none,
      "%p = Identity(%o) : variant\n  %s = _Send(%i) tensor_name=\"t\" send_device=\"a\" "
      "send_device_incarnation=1 recv_device=\"b\"")));
  EXPECT_TRUE(absl::IsResourceExhausted(RunEndless(
      "%any = Const() value=int32{-1} : int32\n"
      "  %o = EmptyTensorList(%any, %any) element_dtype=float32 shape_type=int32 : variant",
      "%n = Const() value=int32[1]{64} : int32\n"
      "  %f = Const() value=float32{1} : float32\n"
      "  %v = Fill(%n, %f) index_type=int32 : float32\n"
      "  %s = Const() value=int32[2]{8, 8} : int32\n"
      "  %r = Reshape(%v, %s) : float32\n"
      "  %p = TensorListPushBack(%o, %r) : variant")));
}

TEST(AdversarialPrograms, EnteringALoopManyTimesCostsNothingThatStays) {
  auto session = SessionFor(R"(
graph {
  %zero = Const() value=int32{0} : int32
  %e = Enter(%zero) frame_name="f" parallel_iterations=1 : int32
  %m = Merge(%e, %n) : (int32, int32)
  %limit = Const(^%m) value=int32{2000} : int32
  %less = Less(%m, %limit) : bool
  %cond = LoopCond(%less) : bool
  %s = Switch(%m, %cond) : (int32, int32)
  %b = Identity(%s:1) : int32
  %ie = Enter(%b) frame_name="g" parallel_iterations=1 : int32
  %im = Merge(%ie, %in) : (int32, int32)
  %no = Const(^%im) value=bool{false} : bool
  %icond = LoopCond(%no) : bool
  %is = Switch(%im, %icond) : (int32, int32)
  %in = NextIteration(%is:1) : int32
  %ix = Exit(%is) : int32
  %one = Const(^%b) value=int32{1} : int32
  %a = AddV2(%ix, %one) : int32
  %n = NextIteration(%a) : int32
  %x = Exit(%s) : int32
}
)");
  ASSERT_NE(session, nullptr);
  RunOptions options;
  options.budget_bytes = 64 << 10;
  EXPECT_EQ(RunScalar<int32_t>(*session, {}, "x:0", options), 2000);
}

}  // namespace
}  // namespace gyre::testing
