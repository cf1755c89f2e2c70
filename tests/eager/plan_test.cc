// Plans of tapes: made once for a structure, bounded in number, and given back.
#include "eager/plan.h"

#include <memory>
#include <thread>
#include <vector>

#include "eager/eager.h"
#include "front/error.h"
#include "gmock/gmock.h"
#include "gyre/ops.h"
#include "ops/registry.h"

namespace gyre::eager::testing {
namespace {

using ::testing::ElementsAre;

// The gradient of x · x · w by x, at a tape of its own.
Adjoint Step(Context& context, const EagerTensor& x, float w = 2) {
  Tape tape;
  const EagerTensor y = Recorded(tape, {x}, [&] { return Mul(context, Mul(context, x, x), F(w)); });
  return tape.Gradient(context, {{{y}}}, {{x}})[0];
}

EagerTensor SumOver(Context& context, const EagerTensor& x, const std::vector<int32_t>& axes) {
  return context.Execute1("Sum", {x, Ints(axes)});
}

TEST(Plans, AreMadeOnceForAStructure) {
  Context context;
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(Float(Step(context, F(static_cast<float>(i)))), 4.0f * static_cast<float>(i));
  EXPECT_EQ(context.plans().size(), 1u);
  EXPECT_EQ(context.plans().misses(), 1);
  EXPECT_EQ(context.plans().hits(), 4);
}

TEST(Plans, DoNotDependOnTheValuesOfOthers) {
  Context context;
  EXPECT_EQ(Float(Step(context, F(1), 2)), 4);
  EXPECT_EQ(Float(Step(context, F(1), 3)), 6);
  EXPECT_EQ(context.plans().misses(), 1);
}

TEST(Plans, DifferByShape) {
  Context context;
  Step(context, F(1));
  EXPECT_THAT(Floats(Step(context, Vec({1, 2})).values), ElementsAre(4, 8));
  EXPECT_EQ(context.plans().misses(), 2);
}

TEST(Plans, DifferByAxis) {
  Context context;
  const EagerTensor x = Square({1, 2, 3, 4});
  for (const int32_t axis : {0, 1, 0, 1}) {
    Tape tape;
    const EagerTensor y = Recorded(tape, {x}, [&] {
      const EagerTensor sum = SumOver(context, x, {axis});
      return Mul(context, sum, sum);
    });
    const Adjoint dx = tape.Gradient(context, {{{y}}}, {{x}})[0];
    if (axis == 0) {
      EXPECT_THAT(Floats(dx.values), ElementsAre(8, 12, 8, 12));
    } else {
      EXPECT_THAT(Floats(dx.values), ElementsAre(6, 6, 14, 14));
    }
  }
  EXPECT_EQ(context.plans().misses(), 2);
}

TEST(Plans, DifferByAttributes) {
  Context context;
  const EagerTensor a = Square({1, 2, 3, 4});
  const EagerTensor b = Square({1, 0, 0, 2});
  for (const bool transposed : {false, true, false}) {
    Tape tape;
    const EagerTensor y = Recorded(tape, {b}, [&] {
      return context.Execute1("MatMul", {a, b}, {{"transpose_a", transposed}});
    });
    const Adjoint db = tape.Gradient(context, {{{y}}}, {{b}})[0];
    if (transposed) {
      EXPECT_THAT(Floats(db.values), ElementsAre(3, 3, 7, 7));
    } else {
      EXPECT_THAT(Floats(db.values), ElementsAre(4, 4, 6, 6));
    }
  }
  EXPECT_EQ(context.plans().misses(), 2);
}

TEST(Plans, DifferByWhetherTargetsAreWeighed) {
  Context context;
  const EagerTensor x = F(3);
  for (int i = 0; i < 2; ++i) {
    Tape tape(true);
    const EagerTensor y = Recorded(tape, {x}, [&] { return Mul(context, x, x); });
    const Target weighed{y, {.values = F(10), .indices = {}, .shape = {}}};
    EXPECT_EQ(Float(tape.Gradient(context, {{{y}}}, {{x}})[0]), 6);
    EXPECT_EQ(Float(tape.Gradient(context, {&weighed, 1}, {{x}})[0]), 60);
  }
  EXPECT_EQ(context.plans().misses(), 2);
  EXPECT_EQ(context.plans().hits(), 2);
}

TEST(Plans, RunNothingAgain) {
  Context context(SessionOptions{.seed = 5});
  const EagerTensor x = F(1);
  Tape tape;
  EagerTensor drawn;
  const EagerTensor y = Recorded(tape, {x}, [&] {
    drawn = context.Execute1("RandomUniform", {Ints({3})}, {{"dtype", DType::kFloat}});
    return Mul(context, x, drawn);
  });
  const std::vector<float> numbers = Floats(drawn);
  EXPECT_FLOAT_EQ(Float(tape.Gradient(context, {{{y}}}, {{x}})[0]),
                  numbers[0] + numbers[1] + numbers[2]);
}

TEST(Plans, AreBoundedInNumber) {
  Context context;
  const size_t most = PlanCache::kMost;
  for (size_t n = 1; n <= most + 3; ++n)
    Step(context, EagerTensor(Tensor::FromValues<float>(std::vector<float>(n),
                                                        Shape::Vector(static_cast<int64_t>(n)))));
  EXPECT_EQ(context.plans().size(), most);
  Step(context, Vec({1}));  // the oldest is gone
  EXPECT_EQ(context.plans().hits(), 0);
}

TEST(Plans, AreCompiledAgainWhereOptionsChange) {
  Context context;
  EXPECT_EQ(Float(Step(context, F(1))), 4);
  context.Change(SessionOptions{.engine = EngineKind::kReference});
  EXPECT_EQ(Float(Step(context, F(2))), 8);
  EXPECT_EQ(context.plans().misses(), 1);
}

TEST(Plans, HoldNoValues) {
  Context context;
  RefPtr<MemoryBudget> budget = MakeRef<MemoryBudget>(1 << 20);
  EagerTensor x(*Tensor::Make(DType::kFloat, Shape::Vector(1000), {nullptr, budget.get()}));
  const int64_t held = budget->used();
  EXPECT_GE(held, 4000);
  {
    Tape tape;
    const EagerTensor y = Recorded(tape, {x}, [&] { return Mul(context, x, x); });
    x = EagerTensor(Tensor::Scalar(0.0f));
    EXPECT_EQ(budget->used(), held);
    tape.Gradient(context, {{{y}}}, {{x}});
    EXPECT_EQ(budget->used(), held);  // the tape's
  }
  EXPECT_EQ(context.plans().size(), 0u);
  EagerTensor z(*Tensor::Make(DType::kFloat, Shape::Vector(1000), {nullptr, budget.get()}));
  Step(context, z);
  z = EagerTensor();
  EXPECT_EQ(context.plans().size(), 1u);
  EXPECT_EQ(budget->used(), 0);
}

// Twice what a variable holds, as a step that a plan holds, too.
class Doubled : public OwnStep, public std::enable_shared_from_this<Doubled> {
 public:
  bool GoesBack() const override { return false; }
  std::vector<Adjoint> Backward(absl::Span<const EagerTensor>, absl::Span<const EagerTensor>,
                                std::vector<Adjoint>) const override {
    return {};
  }
  Key key() const override { return {nullptr, 2}; }
  std::shared_ptr<const OwnStep> WithoutMemory() const override { return shared_from_this(); }
  std::vector<Value> Replay(PlanGraph&, const std::vector<Value>& inputs,
                            std::vector<Value>&) const override {
    return {op::ReadVariableOp(inputs[0], DType::kFloat) * 2.0f};
  }
};

TEST(Plans, DifferentiateStepsThatTheyHoldByVariables) {
  Context context;
  for (const float value : {3.0f, 4.0f}) {
    const EagerTensor v = MakeVariable(context, "v", Tensor::Scalar(value), PartialShape(Shape()));
    Tape tape;
    const EagerTensor y = Recorded(tape, {v}, [&] {
      const EagerTensor twice(Tensor::Scalar(2 * value));
      Recording::Tell(std::make_shared<const Doubled>(), {&v, 1}, {&twice, 1});
      return Mul(context, twice, twice);
    });
    EXPECT_EQ(Float(tape.Gradient(context, {{{y}}}, {{v}})[0]), 8 * value);
  }
  EXPECT_EQ(context.plans().misses(), 2);  // a handle is part of a plan
}

TEST(PlanThreads, ShareThem) {
  Context context;
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) sums[t] += Float(Step(context, F(static_cast<float>(t))));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(sums, ElementsAre(0, 200, 400, 600));
  EXPECT_EQ(context.plans().size(), 1u);
  EXPECT_EQ(context.plans().hits() + context.plans().misses(), 200);
}

class Failing : public Host {
 public:
  void Prepare(absl::FunctionRef<void()>) override {
    gyre::internal::Throw(absl::CancelledError("not now"));
  }
};

TEST(Plans, ThatCouldNotBeMadeAreMadeLater) {
  Failing host;
  Context failing({}, &host);
  EXPECT_EQ(Thrown([&] { Step(failing, F(1)); }).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(failing.plans().size(), 0u);
}

}  // namespace
}  // namespace gyre::eager::testing
