// Deadlines, cancellation and budgets hold before a run as they do in it.
#include <pthread.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "base/env.h"
#include "base/work.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "gyre/core/session.h"
#include "ops/registry.h"
#include "preparation/stages.h"
#include "session/program_file.h"
#include "support/run_text.h"
#include "support/temp_folder.h"

namespace gyre::testing {
namespace {

// A clock that another look at it moves on.
class CountingClock final : public Clock {
 public:
  int64_t NowNanos() const override { return ++looks_; }
  int64_t looks() const { return looks_; }

 private:
  mutable int64_t looks_ = 0;
};

class EveryStage : public ::testing::TestWithParam<Stage> {
 protected:
  static const Material& Large() {
    static const auto* const material = new Material(MaterialOf(Chain(20'000)));
    return *material;
  }
};

INSTANTIATE_TEST_SUITE_P(, EveryStage, ::testing::ValuesIn(Stages()),
                         [](const auto& info) { return info.param.name; });

TEST_P(EveryStage, EndsWithinSomeStepsOfItsDeadline) {
  const CountingClock clock;
  Cancellation cancellation(/*deadline_nanos=*/10, clock);
  const Material& material = Large();
  const WorkLimit limit(&cancellation);
  const int64_t before = WorkSpent();
  const absl::Status status = GetParam().run(material);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_LT(WorkSpent() - before, 30'000);
}

// A function that calls itself as deep as programs nest would end the process.
TEST_P(EveryStage, HasRoomOnTheStackOrSaysSo) {
  for (const std::string& text : {DeepCalls(20'000), SharedBranches(5'000), NestedLoops(3'000)}) {
    const Material material = MaterialOf(text);
    Cancellation cancellation(SystemClock().NowNanos() + 300'000'000);
    const WorkLimit limit(&cancellation);
    const absl::Status status = GetParam().run(material);
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status) ||
                absl::IsDeadlineExceeded(status))
        << status;
  }
}

// Runs it on a thread of its own with a stack of so many bytes.
void RunOnStack(size_t bytes, std::function<void()> run) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  const auto start = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &run), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// Frames of sanitized code are larger.
#if defined(__SANITIZE_ADDRESS__) || defined(GYRE_TSAN)
constexpr size_t kKib = 8 << 10;
#else
constexpr size_t kKib = 1 << 10;
#endif

// What does not nest deeply is prepared on any of them, and the rest but for its gradients.
TEST_P(EveryStage, DoesWithASmallStackOrSaysSo) {
  for (const std::string& text :
       {Chain(50), NestedLoops(30), DeepCalls(300), SharedBranches(100)}) {
    const Material material = MaterialOf(text);
    for (const size_t size : {64, 128, 256}) {
      absl::Status status;
      RunOnStack(size * kKib, [&] { status = GetParam().run(material); });
      const bool may_nest_too_deeply = GetParam().recurses && text != Chain(50);
      EXPECT_TRUE(status.ok() || (may_nest_too_deeply && absl::IsResourceExhausted(status)))
          << size << " KiB: " << status;
    }
  }
}

TEST_P(EveryStage, EndsWhenItIsCancelled) {
  Cancellation cancellation;
  const Material& material = Large();
  cancellation.Cancel(absl::CancelledError("that's enough"));
  const WorkLimit limit(&cancellation);
  const absl::Status status = GetParam().run(material);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_NE(status.message().find("that's enough\n  while "), absl::string_view::npos) << status;
}

TEST_P(EveryStage, IsAsItWasAfterwards) {
  const Material& material = Large();
  {
    Cancellation cancellation;
    cancellation.Cancel(absl::CancelledError("that's enough"));
    const WorkLimit limit(&cancellation);
    EXPECT_FALSE(GetParam().run(material).ok());
  }
  EXPECT_TRUE(GetParam().run(material).ok());
}

TEST(PreparationLimits, ABudgetIsForTheProgramToo) {
  const Material material = MaterialOf(Chain(50'000));
  Cancellation cancellation;
  const WorkLimit limit(&cancellation, WorkLimit::kLeastBudget);
  absl::Status status;
  for (int i = 0; i < 4 && status.ok(); ++i) status = Stages()[0].run(material);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

// Parsing is protobuf's: it gets no more bytes.
TEST(PreparationLimits, HoldWhileBytesAreParsed) {
  const Material material = MaterialOf(Chain(100'000));
  ASSERT_GT(material.graph_def.size(), 2u << 20);
  const std::string as_text = *ExportGraphDef(*material.program, GraphFormat::kText);
  const CountingClock clock;
  Cancellation cancellation(/*deadline_nanos=*/2, clock);
  const WorkLimit limit(&cancellation);
  for (const GraphFormat format : {GraphFormat::kBinary, GraphFormat::kText}) {
    const std::string& bytes = format == GraphFormat::kText ? as_text : material.graph_def;
    const int64_t before = WorkSpent();
    const absl::Status status = ImportGraphDef(bytes, Ops(), {.format = format}).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_EQ(WorkSpent(), before) << "not a node has been read";
  }
}

TEST(PreparationLimits, HoldWhileFilesAreWritten) {
  const Material material = MaterialOf(Chain(20'000));
  const test::TempFolder folder;
  for (const char* name : {"graph.gyre", "graph.pb", "graph.pbtxt"}) {
    const CountingClock clock;
    Cancellation cancellation(/*deadline_nanos=*/10, clock);
    const WorkLimit limit(&cancellation);
    const absl::Status status = SaveProgramFile(*material.program, folder.Path(name));
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_NE(access(folder.Path(name).c_str(), F_OK), 0) << name;
  }
}

// Protobuf prints what a GraphDef holds: as text it takes as long as making it.
TEST(PreparationLimits, HoldWhileProtobufPrints) {
  const Material material = MaterialOf(Chain(20'000));
  const auto looks_at_the_clock = [&](GraphFormat format) {
    const CountingClock clock;
    Cancellation cancellation(std::numeric_limits<int64_t>::max() - 1, clock);
    const WorkLimit limit(&cancellation);
    EXPECT_TRUE(ExportGraphDef(*material.program, format).ok());
    return clock.looks();
  };
  constexpr int64_t kPieceBytes = 1 << 16;
  const std::string as_text = *ExportGraphDef(*material.program, GraphFormat::kText);
  const int64_t more = static_cast<int64_t>(as_text.size() - material.graph_def.size());
  EXPECT_GT(more, 10 * kPieceBytes);
  EXPECT_GE(looks_at_the_clock(GraphFormat::kText),
            looks_at_the_clock(GraphFormat::kBinary) + more / kPieceBytes - 1);
}

TEST(PreparationLimits, NoLimitHoldsForOtherThreads) {
  const Material material = MaterialOf(Chain(5'000));
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("that's enough"));
  const WorkLimit limit(&cancellation);
  absl::Status other;
  std::thread([&] { other = Stages()[0].run(material); }).join();
  EXPECT_TRUE(other.ok()) << other;
  EXPECT_TRUE(absl::IsCancelled(Stages()[0].run(material)));
}

TEST(PreparationLimits, OfTwoTheNearerHolds) {
  const Material material = MaterialOf(Chain(5'000));
  Cancellation outer, inner;
  const WorkLimit outer_limit(&outer);
  {
    const WorkLimit inner_limit(&inner);
    inner.Cancel(absl::CancelledError("inner"));
    EXPECT_TRUE(absl::IsCancelled(Stages()[0].run(material)));
  }
  EXPECT_TRUE(Stages()[0].run(material).ok());
  const WorkLimit inner_limit(nullptr);
  outer.Cancel(absl::CancelledError("outer"));
  EXPECT_TRUE(absl::IsCancelled(Stages()[0].run(material)));
}

// What is prepared for a run is part of it.
TEST(PreparationLimits, ARunsTimeoutCountsItsCompilation) {
  const auto session = SessionFor(Chain(50'000));
  const auto late = session->Run({{"x:0", Tensor::Scalar(1.0f)}}, {"y:0"}, {}, {.timeout_ms = 1});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
  EXPECT_NE(late.status().message().find("while compiling the program\n  after "),
            absl::string_view::npos)
      << late.status();
  EXPECT_EQ(RunScalar<float>(*session, {{"x:0", Tensor::Scalar(1.0f)}}, "y:0"), 1.0f);
}

TEST(PreparationLimits, ACancelledRunCompilesNothing) {
  const auto session = SessionFor(Chain(50'000));
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("that's enough"));
  const int64_t before = WorkSpent();
  const auto run =
      session->Run({{"x:0", Tensor::Scalar(1.0f)}}, {"y:0"}, {}, {.cancellation = &cancellation});
  EXPECT_TRUE(absl::IsCancelled(run.status())) << run.status();
  EXPECT_LT(WorkSpent() - before, 10'000);
}

TEST(PreparationLimits, HoldWhatAThreadLoads) {
  const test::TempFolder folder;
  const std::string path = folder.Write("chain.gyre", Chain(50'000));
  {
    const PreparationLimit limit({.timeout_ms = 1});
    const auto session = Session::Load(path);
    EXPECT_TRUE(absl::IsDeadlineExceeded(session.status())) << session.status();
  }
  EXPECT_TRUE(Session::Load(path).ok());
}

// 410 bytes that stand for a gigabyte.
TEST(PreparationLimits, HoldForConstantsThatAFileOnlyNames) {
  const std::string text =
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
      "'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 200000000 } } "
      "float_val: 1 } } } }";
  Cancellation cancellation;
  const WorkLimit limit(&cancellation, WorkLimit::kLeastBudget);
  const absl::Status status = ImportGraphDef(text, Ops(), {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

// Text of a few bytes, whose node has so many outputs, all but one of them empty.
std::string PartsText(int parts) {
  return absl::StrCat(
      "node { name: 'p' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: "
      "'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } }"
      "node { name: 'd' op: 'DynamicPartition' input: 'p' input: 'p' attr { key: 'T' value { type: "
      "DT_INT32 } } attr { key: 'num_partitions' value { i: ",
      parts, " } } }");
}

TEST(PreparationLimits, CountTheOutputsOfANode) {
  Cancellation cancellation;
  const WorkLimit limit(&cancellation, WorkLimit::kLeastBudget);
  const absl::Status status = ImportGraphDef(PartsText(1'000'000), Ops(), {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(PreparationLimits, ARunIsChargedForOutputsThatAreEmpty) {
  const auto program = ImportGraphDef(PartsText(100'000), Ops(), {});
  ASSERT_TRUE(program.ok()) << program.status();
  for (const char* engine : {"dataflow", "reference"}) {
    const auto session = Session::Create(*program, {.engine = *ParseEngineKind(engine)});
    ASSERT_TRUE(session.ok()) << session.status();
    const auto enough = (*session)->Run({}, {"d:0"}, {}, {.budget_bytes = 64 << 20});
    EXPECT_TRUE(enough.ok()) << enough.status();
    const auto run = (*session)->Run({}, {"d:0"}, {}, {.budget_bytes = 1 << 20});
    EXPECT_TRUE(absl::IsResourceExhausted(run.status())) << engine << ": " << run.status();
  }
}

TEST(PreparationLimits, HoldBeforeAFileIsRead) {
  const test::TempFolder folder;
  const std::string path = folder.Write("hole.pb", "");
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 33), 0);  // takes no room on the disk
  const PreparationLimit limit({.budget_bytes = 64 << 20});
  const absl::Status status = Session::Load(path).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

// 2^40 calls: they run until the time is over, and compiling them is no part of it.
TEST(PreparationLimits, EndARunOfMoreCallsThanThereIsTime) {
  const auto session = SessionFor(CallsTwice(40));
  const auto run = session->Run({{"x:0", Tensor::Scalar(1.0f)}}, {"y:0"}, {},
                                {.timeout_ms = 2000, .budget_bytes = 100 << 20});
  EXPECT_TRUE(absl::IsDeadlineExceeded(run.status())) << run.status();
  EXPECT_NE(run.status().message().find("in function f"), absl::string_view::npos) << run.status();
}

}  // namespace
}  // namespace gyre::testing
