// Loops that run on registers, as one node: which do, and that they mean what they mean as tokens.
#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exec/register_loop.h"
#include "exec/sequential/loop.h"
#include "gyre/core/observer.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

std::string Body(const std::string& y, const std::string& m = "Identity(%l) : variant") {
  return absl::StrCat("%y = ", y, "\n  %m = ", m, "\n");
}

// The loop of LoopText, compiled; null if it is none of those that run on registers.
struct Compiled {
  std::unique_ptr<Session> session;  // keeps the program
  std::shared_ptr<const sequential::RegisterLoop> loop;
};
Compiled Compile(const std::string& text) {
  Compiled compiled{SessionFor(text), nullptr};
  if (compiled.session == nullptr) return compiled;
  lower::ProgramFacts facts(compiled.session->program());
  const Function& main = compiled.session->program().main();
  facts.InferMainShapes({Endpoint{main.FindNode("n")->id, 0}, Endpoint{main.FindNode("x")->id, 0}});
  compiled.loop = sequential::CompileLoop(facts, main, *main.FindNode("loop"));
  return compiled;
}
constexpr char kMul[] = "Mul(%x, %x) : float32";

TEST(SequentialLoop, IsOneOfSmallTensorsAndListsThatDoesNotWait) {
  EXPECT_TRUE(RunsOnRegisters(LoopText(Body(kMul))));
  EXPECT_TRUE(RunsOnRegisters(LoopText(Body(kMul, "TensorListPushBack(%l, %x) : variant"))));
  EXPECT_TRUE(RunsOnRegisters(LoopText(Body(kMul), "", "(4)")));
  EXPECT_FALSE(RunsOnRegisters(LoopText(Body(kMul), "", "(64, 64)"))) << "worth threads";
  EXPECT_FALSE(RunsOnRegisters(LoopText(Body(kMul), "", "(?)"))) << "who knows";
  EXPECT_TRUE(RunsOnRegisters(LoopText(Body("Identity(%x) : float32"), "", "(64, 64)")))
      << "nobody works on it";
  EXPECT_TRUE(RunsOnRegisters(LoopText("%s = Const() value=int32[0]{} : int32\n" +
                                       Body("RandomUniform(%s) dtype=float32 : float32"))));
  const auto calls = [](const std::string& say) {
    return LoopText(Body("StatefulPartitionedCall(%x) f=@say : float32"),
                    absl::StrCat("\nfunc @say(%x: float32) -> (y: float32) {\n", say,
                                 "%y = Neg(%x) : float32\n  return %y\n}\n"));
  };
  EXPECT_TRUE(RunsOnRegisters(calls("%z = Print(%x, %x) message=\"x\" : float32\n")));
  EXPECT_FALSE(RunsOnRegisters(calls("%f = PyFunc(%x) token=\"f\" Tin=[float32] Tout=[]\n")))
      << "calls the host program";
  EXPECT_TRUE(RunsOnRegisters(LoopText(Body("StatelessWhile(%x) cond=@big body=@half : float32"),
                                       R"(
func @big(%x: float32) -> (p: bool) {
  %one = Const() value=float32{1} : float32
  %p = Greater(%x, %one) : bool
  return %p
}
func @half(%x: float32) -> (y: float32) {
  %two = Const() value=float32{2} : float32
  %y = Div(%x, %two) : float32
  return %y
})"))) << "tests/exec/nested_loops_test.cc";
}

// As a damaged graph has it: nothing may read it as what it says that it is.
TEST(SequentialLoop, HasNoConstantOfAnotherTypeThanItSays) {
  const std::string text = LoopText(
      "%wrong = Const() value=quint8{3} dtype=float32 : float32\n"
      "%y = Mul(%x, %wrong) : float32\n%m = Identity(%l) : variant");
  EXPECT_FALSE(RunsOnRegisters(text));
  for (const EngineKind engine : kEngineKinds) {
    const absl::Status status =
        RunStatus(*SessionFor(text, {.engine = engine}), LoopFeeds(3, 1), "loop:2");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

constexpr char kParts[] = R"(  %y = Identity(%f) : float32
  %m = Identity(%f:1) : variant
)";
constexpr char kBranches[] = R"(
func @keep(%x: float32, %l: variant) -> (y: float32, m: variant) {
  %y = Neg(%x) : float32
  return %y, %l
}
func @push(%x: float32, %l: variant) -> (y: float32, m: variant) {
  %two = Const() value=float32{1.5} : float32
  %y = Mul(%x, %two) : float32
  %m = TensorListPushBack(%l, %y) : variant
  return %y, %m
}
func @twice(%x: float32, %l: variant) -> (y: float32, m: variant) {
  %a = PartitionedCall(%x, %l) f=@push : (float32, variant)
  %b = PartitionedCall(%a, %a:1) f=@push : (float32, variant)
  return %b, %b:1
}
)";

TEST(SequentialLoop, AgreesWithTokensOnBranchesCallsAndLists) {
  const std::string odd = R"(%two = Const() value=int32{2} : int32
  %r = FloorMod(%i, %two) : int32
  %p = Equal(%r, %one) : bool
)";
  const std::vector<std::string> fetches = {"loop:0", "loop:2", "length:0"};
  for (const int n : {0, 1, 7, 40}) {
    ExpectAgreement(LoopText(Body("Sin(%x) : float32")), LoopFeeds(n, 0.3f), fetches);
    ExpectAgreement(LoopText(odd +
                                 "%f = StatelessIf(%p, %x, %l) then_branch=@push "
                                 "else_branch=@keep : (float32, variant)\n" +
                                 kParts,
                             kBranches),
                    LoopFeeds(n, 0.3f), fetches);
    ExpectAgreement(LoopText("%three = Const() value=int32{3} : int32\n"
                             "  %r = Sub(%i, %three) : int32\n"
                             "  %f = StatelessCase(%r, %x, %l) branches=[@push, @keep, @twice]"
                             " : (float32, variant)\n" +
                                 std::string(kParts),
                             kBranches),
                    LoopFeeds(n, 0.3f), fetches);
  }
  // A bound of which nothing is known, and which is no scalar: true while it has elements.
  EXPECT_EQ(RunScalar<float>(*SessionFor(LoopText(Body("Neg(%x) : float32"))),
                             {{"n:0", Tensor::FromValues<int32_t>({}, Shape::Vector(0))},
                              {"x:0", Tensor::Scalar(3.0f)}},
                             "loop:2"),
            3.0f);
}

TEST(SequentialLoop, HandsVariablesOverAllAtOnce) {
  ExpectAgreement(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 shape=() : float32
  %a = Const() value=float32{1} : float32
  %b = Const() value=float32{2} : float32
  %loop = StatelessWhile(%n, %a, %b, %x, %x) cond=@more body=@turn : (int32, float32, float32, float32, float32)
}
func @more(%n: int32, %a: float32, %b: float32, %c: float32, %d: float32) -> (p: bool) {
  %zero = Const() value=int32{0} : int32
  %p = Greater(%n, %zero) : bool
  return %p
}
func @turn(%n: int32, %a: float32, %b: float32, %c: float32, %d: float32) -> (m: int32, a: float32, b: float32, c: float32, d: float32) {
  %one = Const() value=int32{1} : int32
  %m = Sub(%n, %one) : int32
  %s = AddV2(%c, %d) : float32
  return %m, %b, %a, %s, %s
}
)",
                  LoopFeeds(5, 0.5f), {"loop:0", "loop:1", "loop:2", "loop:3", "loop:4"});
}

TEST(SequentialLoop, OwnsTheListsThatItChanges) {
  const std::string text = LoopText(
      "%zero = Const() value=float32{0} : float32\n"
      "  %p = Greater(%x, %zero) : bool\n"
      "  %f = StatelessIf(%p, %x, %l) then_branch=@push else_branch=@keep : "
      "(float32, variant)\n" +
          std::string(kParts),
      kBranches);
  const Compiled compiled = Compile(text);
  ASSERT_NE(compiled.loop, nullptr);
  int pushes = 0;
  for (const sequential::Instruction& op : compiled.loop->code) {
    if (op.node == nullptr || op.node->op_name != "TensorListPushBack") continue;
    ++pushes;
    EXPECT_TRUE(compiled.loop->inputs[op.first_input].is_last) << "else each push copies the list";
  }
  EXPECT_EQ(pushes, 1);
}

TEST(SequentialLoop, SaysWhereItFails) {
  const std::string text = LoopText(
      "%three = Const() value=int32{3} : int32\n"
      "  %d = Sub(%three, %i) : int32\n"
      "  %q = FloorDiv(%one, %d) : int32\n" +
      Body("Cast(%q) : float32"));
  SessionOptions tokens, native;
  tokens.parallel.window = 4;
  native.engine = EngineKind::kCompiled;
  for (const SessionOptions& options : {SessionOptions(), tokens, native}) {
    const absl::Status status = RunStatus(*SessionFor(text, options), LoopFeeds(9, 1), "loop:2");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::EndsWith(status.message(),
                               "\n  at node q (FloorDiv)\n  in iteration 3 of the body (function "
                               "step) of While node loop"))
        << status;
  }
}

// On registers: interpreted, or as native code.
class RegisterLoops : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Session> SessionOf(const std::string& text) {
    return SessionFor(text, {.engine = *ParseEngineKind(GetParam())});
  }
};

TEST_P(RegisterLoops, KeepToTheirBudgetAndSaySo) {
  auto session =
      SessionOf(LoopText(Body("Neg(%x) : float32", "TensorListPushBack(%l, %x) : variant")));
  RunOptions options;
  options.budget_bytes = 1 << 20;
  const absl::Status status = RunStatus(*session, LoopFeeds(INT32_MAX, 1), "length:0", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(status.message(), "of the body (function step) of While node loop"))
      << status;
}

TEST_P(RegisterLoops, EndAtTheirDeadline) {
  const std::string endless = absl::StrReplaceAll(LoopText(Body("Neg(%x) : float32")),
                                                  {{"%j = AddV2(%i, %one)", "%j = Mul(%i, %one)"}});
  RunOptions options;
  options.timeout_ms = 50;
  const absl::Status status = RunStatus(*SessionOf(endless), LoopFeeds(1, 1), "loop:2", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

TEST_P(RegisterLoops, LearnFromTheFirstRunThatFeedsAreScalars) {
  auto session = SessionOf(LoopText(Body(kMul), "", "?"));
  const auto run = [&](const Tensor& x) {
    return *session->Run({{"n:0", Tensor::Scalar(2)}, {"x:0", x}}, {"loop:2"});
  };
  // What happens to be a scalar first may be none later, and the other way round.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run(Tensor::Scalar(2.0f))[0].scalar<float>(), 16);
    const Tensor row = run(Tensor::Vector<float>({2, 3}))[0];
    ASSERT_EQ(row.shape(), Shape::Vector(2));
    EXPECT_EQ(row.values<float>()[1], 81);
  }
}

TEST(SequentialLoop, IsTokensForWhoWatches) {
  class Counter final : public RunObserver {
   public:
    absl::Status OnFired(const Firing& firing) override {
      count += firing.op == "Mul" ? 1 : 0;
      return absl::OkStatus();
    }
    std::atomic<int> count{0};
  } counter;
  auto session = SessionFor(LoopText(Body(kMul)));
  RunOptions options;
  options.observer = &counter;
  EXPECT_TRUE(RunStatus(*session, LoopFeeds(20, 1), "loop:2", options).ok());
  EXPECT_EQ(counter.count, 20);
  EXPECT_EQ(RunScalar<float>(*session, LoopFeeds(3, 2), "loop:2"), 256) << "and on registers again";
}

INSTANTIATE_TEST_SUITE_P(Engines, RegisterLoops, ::testing::Values("dataflow", "compiled"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gyre::testing
