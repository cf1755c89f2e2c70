// Ops that run at once: values, errors, the cache of kernels, options, hosts, threads.
#include "eager/context.h"

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eager/eager.h"
#include "gmock/gmock.h"
#include "ops/registry.h"

namespace gyre::eager::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Context, RunsAnOpAtOnce) {
  Context context;
  EXPECT_THAT(Floats(context.Execute1("AddV2", {Vec({1, 2}), F(10)})), ElementsAre(11, 12));
}

TEST(Context, InfersAttributesFromInputs) {
  Context context;
  const EagerTensor joined = context.Execute1(
      "ConcatV2", {Vec({1}), Vec({2, 3}), EagerTensor(Tensor::Scalar(int32_t{0}))});
  EXPECT_THAT(Floats(joined), ElementsAre(1, 2, 3));
}

TEST(Context, GivesAllOutputsOfAnOp) {
  Context context;
  EagerTensors inputs = {EagerTensor(Tensor::Scalar(int32_t{0})), Vec({1, 2, 3, 4})};
  const EagerTensors halves =
      context.Execute(*Ops().Find("Split"), absl::MakeSpan(inputs), {{"num_split", int64_t{2}}});
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_THAT(Floats(halves[1]), ElementsAre(3, 4));
  EXPECT_NE(halves[0].id, halves[1].id);
}

TEST(Context, LeavesTensorsThatOthersHoldAlone) {
  Context context;
  const EagerTensor x = Vec({1, 2});
  context.Execute1("Neg", {x});
  EXPECT_THAT(Floats(x), ElementsAre(1, 2));
}

TEST(Context, NamesTheOpThatThereIsNot) {
  Context context;
  const absl::Status status = Thrown([&] { context.Execute1("NoSuchOp", {F(1)}); });
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("NoSuchOp"));
}

TEST(Context, ThrowsWhatAKernelSays) {
  Context context;
  const absl::Status status =
      Thrown([&] { context.Execute1("AddV2", {Vec({1, 2}), Vec({1, 2, 3})}); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Float(Mul(context, F(2), F(3))), 6);
}

TEST(Context, RefusesOpsThatRunOnlyInGraphs) {
  Context context;
  const absl::Status status = Thrown([&] {
    context.Execute1(
        "StatelessIf", {EagerTensor(Tensor::Scalar(true)), F(1)},
        {{"then_branch", FunctionRef{"f", {}}}, {"else_branch", FunctionRef{"f", {}}}});
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
}

TEST(Context, RefusesOptionsThatMeanNothing) {
  EXPECT_FALSE(Thrown([] { Context context(SessionOptions{.parallel = {.threads = -1}}); }).ok());
  Context context;
  EXPECT_FALSE(Thrown([&] { context.Change(SessionOptions{.parallel = {.threads = -1}}); }).ok());
  EXPECT_EQ(context.options().parallel.threads, 0);
}

TEST(EagerOps, FindsAKernelAgain) {
  Context context;
  const OpDef& mul = *Ops().Find("Mul");
  const Tensor floats[] = {Tensor::Scalar(1.0f), Tensor::Scalar(2.0f)};
  bool is_kept = false;
  const auto first = context.ops().Find(mul, floats, {}, is_kept);
  EXPECT_TRUE(is_kept);
  EXPECT_EQ(context.ops().Find(mul, floats, {}, is_kept), first);
  EXPECT_EQ(context.ops().size(), 1u);
  const Tensor doubles[] = {Tensor::Scalar(1.0), Tensor::Scalar(2.0)};
  EXPECT_NE(context.ops().Find(mul, doubles, {}, is_kept), first);
  EXPECT_EQ(context.ops().size(), 2u);
}

TEST(EagerOps, KeepsABoundedNumberOfKernels) {
  Context context;
  for (int64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(context.Execute1("Fill", {Ints({2}), F(1)}).value.num_elements(), 2);
    context.Execute1("Print", {F(0), F(1)},
                     {{"U", std::vector<DType>{DType::kFloat}},
                      {"message", absl::StrCat(i)},
                      {"first_n", int64_t{0}}});
  }
  EXPECT_EQ(context.ops().size(), 64u + 1);  // of Print, and Fill
}

TEST(EagerOps, GivesEachQueueWithoutANameItsOwn) {
  Context context;
  const auto make = [&] {
    return context.Execute1("FIFOQueueV2", {},
                            {{"component_types", std::vector<DType>{DType::kFloat}}});
  };
  const EagerTensor a = make(), b = make();
  EagerTensors inputs = {a, F(1)};
  context.Execute(*Ops().Find("QueueEnqueueV2"), absl::MakeSpan(inputs), {});
  EXPECT_EQ(context.Execute1("QueueSizeV2", {a}).value.values<int32_t>()[0], 1);
  EXPECT_EQ(context.Execute1("QueueSizeV2", {b}).value.values<int32_t>()[0], 0);
}

TEST(Context, WaitsForAsynchronousKernels) {
  Context context;
  const EagerTensor queue =
      context.Execute1("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  std::thread producer([&] {
    EagerTensors inputs = {queue, F(7)};
    context.Execute(*Ops().Find("QueueEnqueueV2"), absl::MakeSpan(inputs), {});
  });
  EXPECT_EQ(Float(context.Execute1("QueueDequeueV2", {queue},
                                   {{"component_types", std::vector<DType>{DType::kFloat}}})),
            7);
  producer.join();
}

Tensor Drawn(Context& context) {
  return context.Execute1("RandomUniform", {Ints({4})}, {{"dtype", DType::kFloat}}).value;
}

TEST(Context, DrawsTheSameNumbersFromTheSameSeed) {
  Context a(SessionOptions{.seed = 7}), b(SessionOptions{.seed = 7});
  const Tensor first = Drawn(a), second = Drawn(a);
  EXPECT_EQ(Floats(EagerTensor(first)), Floats(EagerTensor(Drawn(b))));
  EXPECT_NE(Floats(EagerTensor(first)), Floats(EagerTensor(second)));
  a.Change(SessionOptions{.seed = 7});
  EXPECT_EQ(Floats(EagerTensor(Drawn(a))), Floats(EagerTensor(first)));
}

TEST(Context, PrintsWhereItsOptionsSay) {
  std::string printed;
  Context context(SessionOptions{.print = [&](absl::string_view, absl::string_view text) {
    absl::StrAppend(&printed, text);
  }});
  EagerTensors inputs = {EagerTensor(Tensor::Scalar(std::string("hello")))};
  context.Execute(*Ops().Find("PrintV2"), absl::MakeSpan(inputs), {});
  EXPECT_THAT(printed, HasSubstr("hello"));
}

TEST(Context, FailsWhereANanArisesIfAsked) {
  Context context;
  TrapNans(true);
  const absl::Status status = Thrown([&] { context.Execute1("Log", {F(-1)}); });
  TrapNans(false);
  EXPECT_THAT(status.message(), HasSubstr("of Log, run at once"));
  EXPECT_TRUE(std::isnan(Float(context.Execute1("Log", {F(-1)}))));
}

TEST(Variables, KeepWhatTheyAreAssigned) {
  Context context;
  const EagerTensor v = MakeVariable(context, "v", Tensor::Scalar(2.0f), PartialShape(Shape()));
  EagerTensors inputs = {v, F(5)};
  context.Execute(*Ops().Find("AssignVariableOp"), absl::MakeSpan(inputs),
                  {{"dtype", DType::kFloat}});
  EXPECT_EQ(Float(Read(context, v)), 5);
}

TEST(Variables, LiveThroughAChangeOfOptions) {
  Context context;
  const EagerTensor v = MakeVariable(context, "v", Tensor::Scalar(2.0f), PartialShape(Shape()));
  context.Change(SessionOptions{.parallel = {.threads = 1}});
  EXPECT_EQ(Float(Read(context, v)), 2);
}

TEST(Variables, RefuseAValueThatTheirShapeDoesNotAllow) {
  Context context;
  EXPECT_EQ(Thrown([&] {
              MakeVariable(context, "v", Tensor::Scalar(2.0f), PartialShape(Shape::Vector(3)));
            }).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Variables, KeepTheirStoreWhenTheContextIsGone) {
  auto context = std::make_unique<Context>();
  EagerTensor v = MakeVariable(*context, "v", Tensor::Scalar(2.0f), PartialShape(Shape()));
  context.reset();
  v = EagerTensor();  // erases it from a store that is still there
}

// ---- Hosts

class Counting : public Host {
 public:
  int runs = 0, interrupted = 0;
  bool cancels = false;

  absl::Status Run(Cancellation& cancellation, absl::FunctionRef<absl::Status()> work) override {
    ++runs;
    if (cancels) cancellation.Cancel(absl::CancelledError("asked to stop"));
    return work();
  }
  void ThrowIfInterrupted() override {
    ++interrupted;
    if (inside != nullptr) inside();
  }
  std::function<void()> inside;
};

TEST(Hosts, HearOfWorkThatMayTakeLong) {
  Counting host;
  Context context({}, &host);
  Mul(context, F(2), F(3));
  EXPECT_EQ(host.runs, 0);
  context.Execute1("Sum", {Vec({1, 2}), Ints({0})});
  EXPECT_EQ(host.runs, 1);
  const EagerTensor big(Tensor::FromValues<float>(std::vector<float>(10000), Shape::Vector(10000)));
  Mul(context, big, big);
  EXPECT_EQ(host.runs, 2);
}

TEST(Hosts, MayCancelAKernelAndRunOthersAfterIt) {
  Counting host;
  Context context({}, &host);
  const EagerTensor queue =
      context.Execute1("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  float inside = 0;
  host.inside = [&] {
    host.cancels = false;
    inside = Floats(context.Execute1("Sum", {Vec({1, 2}), Ints({0})}))[0];
  };
  host.cancels = true;
  const absl::Status status = Thrown([&] {
    context.Execute1("QueueDequeueV2", {queue},
                     {{"component_types", std::vector<DType>{DType::kFloat}}});
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(host.interrupted, 1);
  EXPECT_EQ(inside, 3);
  EXPECT_EQ(Float(context.Execute1("Sum", {Vec({4, 5}), Ints({0})})), 9);
}

struct Stop {};

TEST(Hosts, MayThrowWhatTheyLike) {
  Counting host;
  Context context({}, &host);
  const EagerTensor queue =
      context.Execute1("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  host.cancels = true;
  host.inside = [] { throw Stop(); };
  EXPECT_THROW(context.Execute1("QueueDequeueV2", {queue},
                                {{"component_types", std::vector<DType>{DType::kFloat}}}),
               Stop);
  host.cancels = false;
  EXPECT_EQ(Float(context.Execute1("Sum", {Vec({4, 5}), Ints({0})})), 9);
}

TEST(ContextThreads, RunOpsSideBySide) {
  Context context;
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EagerTensor x = F(0);
      for (int i = 0; i < 200; ++i) x = context.Execute1("AddV2", {x, F(static_cast<float>(t))});
      results[t] = Float(x);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ElementsAre(0, 200, 400, 600));
  EXPECT_EQ(context.ops().size(), 1u);
}

TEST(ContextThreads, ChangeOptionsWhileOthersRun) {
  Context context;
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) Drawn(context);
  });
  for (int i = 0; i < 20; ++i) context.Change(SessionOptions{.parallel = {.threads = i % 2}});
  other.join();
}

}  // namespace
}  // namespace gyre::eager::testing
