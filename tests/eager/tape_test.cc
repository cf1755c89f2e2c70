// Tapes: what they record, and gradients of any order.
#include "eager/tape.h"

#include <memory>
#include <thread>
#include <vector>

#include "eager/eager.h"
#include "gmock/gmock.h"
#include "gyre/graph.h"
#include "ops/registry.h"

namespace gyre::eager::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Tapes : public ::testing::Test {
 protected:
  EagerTensor Product(const EagerTensor& a, const EagerTensor& b) { return Mul(context, a, b); }
  EagerTensor Variable(float value) {
    return MakeVariable(context, "v", Tensor::Scalar(value), PartialShape(Shape()));
  }
  float Derivative(Tape& tape, const EagerTensor& y, const EagerTensor& x) {
    return Float(tape.Gradient(context, {{{y}}}, {{x}})[0]);
  }

  Context context;
  const EagerTensor x = F(3);
};

TEST_F(Tapes, GiveTheDerivativeOfWhatRan) {
  Tape tape;
  const EagerTensor y = Recorded(tape, {x}, [&] { return Product(x, x); });
  EXPECT_EQ(Derivative(tape, y, x), 6);
}

TEST_F(Tapes, SumOverTargets) {
  Tape tape;
  const EagerTensor y = Recorded(tape, {x}, [&] { return Product(x, x); });
  const std::vector<Target> targets = {{y}, {y}, {x}};
  EXPECT_EQ(Float(tape.Gradient(context, targets, {{x}})[0]), 13);
}

TEST_F(Tapes, WeighTargets) {
  Tape tape;
  const EagerTensor v = Vec({1, 2});
  const EagerTensor y = Recorded(tape, {v}, [&] { return Product(v, v); });
  const Target target{y, {.values = Vec({10, 100}), .indices = {}, .shape = {}}};
  EXPECT_THAT(Floats(tape.Gradient(context, {&target, 1}, {{v}})[0].values), ElementsAre(20, 400));
}

TEST_F(Tapes, GiveNothingWhereNothingDepends) {
  Tape tape;
  const EagerTensor other = F(1);
  const EagerTensor y = Recorded(tape, {x, other}, [&] { return Product(x, x); });
  const auto found = tape.Gradient(context, {{{y}}}, {{x, other, F(2), EagerTensor()}});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(Float(found[0]), 6);
  for (int i = 1; i < 4; ++i) EXPECT_FALSE(found[i].has_value()) << i;
}

TEST_F(Tapes, RecordOnlyWhatDependsOnWhatTheyWatch) {
  Tape tape;
  const EagerTensor one = F(1);
  Recorded(tape, {x}, [&] {
    Product(one, one);
    Product(x, one);
    context.Execute1("Shape", {x});
    return 0;
  });
  EXPECT_EQ(tape.steps().size(), 1u);
}

TEST_F(Tapes, GiveGradientsOnce) {
  Tape tape;
  const EagerTensor y = Recorded(tape, {x}, [&] { return Product(x, x); });
  Derivative(tape, y, x);
  const absl::Status status = Thrown([&] { Derivative(tape, y, x); });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("persistent"));
}

TEST_F(Tapes, ThatArePersistentGiveThemOften) {
  Tape tape(true);
  const EagerTensor y = Recorded(tape, {x}, [&] { return Product(x, x); });
  EXPECT_EQ(Derivative(tape, y, x), 6);
  EXPECT_EQ(Derivative(tape, y, x), 6);
}

TEST_F(Tapes, ThatAreNotPersistentStopWhenTheyAreUsed) {
  Tape tape;
  tape.Watch(x);
  tape.Start();
  const EagerTensor y = Product(x, x);
  EXPECT_EQ(Derivative(tape, y, x), 6);
  EXPECT_FALSE(tape.is_recording());
  EXPECT_FALSE(Recording::IsOn());
}

TEST_F(Tapes, DoNotSeeWhatRunsWhileTheyDoNotRecord) {
  Tape tape(true);
  tape.Watch(x);
  tape.Start();
  const EagerTensor y = Product(x, x);
  tape.Stop();
  const EagerTensor constant = Product(x, x);
  tape.Start();
  const EagerTensor z = Product(y, constant);
  tape.Stop();
  EXPECT_EQ(Derivative(tape, z, x), 54);  // of 9 x²
}

TEST_F(Tapes, ArePausedTogether) {
  Tape outer, inner;
  outer.Start();
  inner.Start();
  {
    const Recording::Pause pause;
    EXPECT_FALSE(Recording::IsOn());
  }
  EXPECT_THAT(Recording::Tapes(), ElementsAre(&outer, &inner));
  inner.Stop();
  outer.Stop();
}

TEST_F(Tapes, StartAndStopOnce) {
  Tape tape;
  EXPECT_EQ(Thrown([&] { tape.Stop(); }).code(), absl::StatusCode::kFailedPrecondition);
  tape.Start();
  EXPECT_EQ(Thrown([&] { tape.Start(); }).code(), absl::StatusCode::kFailedPrecondition);
  tape.Stop();
}

TEST_F(Tapes, ThatGoWhileTheyRecordRecordNoMore) {
  {
    Tape tape;
    tape.Start();
  }
  EXPECT_FALSE(Recording::IsOn());
}

TEST_F(Tapes, ForgetWhenTheyAreReset) {
  Tape tape;
  const EagerTensor y = Recorded(tape, {x}, [&] { return Product(x, x); });
  tape.Reset();
  EXPECT_FALSE(tape.Gradient(context, {{{y}}}, {{x}})[0].has_value());
}

TEST_F(Tapes, BelongToAThread) {
  Tape tape;
  tape.Watch(x);
  tape.Start();
  std::thread([&] {
    EXPECT_FALSE(Recording::IsOn());
    Product(x, x);
  }).join();
  tape.Stop();
  EXPECT_TRUE(tape.steps().empty());
}

// ---- Variables

TEST_F(Tapes, WatchVariablesThatAreRead) {
  const EagerTensor v = Variable(3);
  Tape tape;
  const EagerTensor y =
      Recorded(tape, {}, [&] { return Product(Read(context, v), Read(context, v)); });
  ASSERT_EQ(tape.variables().size(), 1u);
  EXPECT_EQ(tape.variables()[0].id, v.id);
  EXPECT_EQ(Derivative(tape, y, v), 6);
}

TEST_F(Tapes, WatchNoVariableIfTheyAreNotTo) {
  const EagerTensor v = Variable(3);
  Tape tape(false, false);
  const EagerTensor y = Recorded(tape, {}, [&] { return Product(Read(context, v), x); });
  EXPECT_FALSE(tape.Gradient(context, {{{y}}}, {{v}})[0].has_value());
}

TEST_F(Tapes, DoNotWatchVariablesThatSayNo) {
  const EagerTensor v = MakeVariable(context, "v", Tensor::Scalar(1.0f), PartialShape(Shape()),
                                     {.device = "", .is_watched = false});
  Tape tape;
  Recorded(tape, {}, [&] { return Read(context, v); });
  EXPECT_TRUE(tape.variables().empty());
}

TEST_F(Tapes, DifferentiateAVariableByItself) {
  const EagerTensor v = Variable(3);
  Tape tape;
  Recorded(tape, {}, [&] { return Read(context, v); });
  EXPECT_EQ(Derivative(tape, v, v), 1);
}

TEST_F(Tapes, GiveRowsOfVariablesOfWhichRowsWereRead) {
  const EagerTensor v = MakeVariable(context, "table", Tensor::Vector<float>({1, 2, 3, 4}),
                                     PartialShape(Shape::Vector(4)));
  Tape tape;
  const EagerTensor y = Recorded(tape, {}, [&] {
    const EagerTensor rows =
        context.Execute1("ResourceGather", {v, Ints({3, 1, 3})}, {{"dtype", DType::kFloat}});
    return Product(rows, rows);
  });
  const Adjoint found = tape.Gradient(context, {{{y}}}, {{v}})[0];
  ASSERT_TRUE(found.is_sparse());
  EXPECT_THAT(Floats(found.values), ElementsAre(8, 4, 8));
  EXPECT_THAT(Floats(Dense(context, found)), ElementsAre(0, 4, 0, 16));
}

TEST_F(Tapes, JoinRowsAndAddThemToWhatIsDense) {
  const EagerTensor v = MakeVariable(context, "table", Tensor::Vector<float>({1, 2, 3}),
                                     PartialShape(Shape::Vector(3)));
  const auto rows = [&](const std::vector<int32_t>& which) {
    return context.Execute1("ResourceGather", {v, Ints(which)}, {{"dtype", DType::kFloat}});
  };
  Tape tape(true);
  tape.Start();
  const EagerTensor a = rows({0}), b = rows({2, 2});
  const EagerTensor whole = Read(context, v);
  tape.Stop();
  const std::vector<Target> gathers = {{a}, {b}}, all = {{a}, {b}, {whole}};
  const Adjoint joined = tape.Gradient(context, gathers, {{v}})[0];
  EXPECT_TRUE(joined.is_sparse());
  EXPECT_THAT(Floats(Dense(context, joined)), ElementsAre(1, 0, 2));
  const Adjoint sum = tape.Gradient(context, all, {{v}})[0];
  EXPECT_THAT(Floats(Dense(context, sum)), ElementsAre(2, 1, 3));
}

// ---- Orders

TEST_F(Tapes, NestForSecondDerivatives) {
  Tape outer, inner;
  outer.Watch(x);
  inner.Watch(x);
  outer.Start();
  inner.Start();
  const EagerTensor y = Product(Product(x, x), x);
  const Adjoint slope = inner.Gradient(context, {{{y}}}, {{x}})[0];
  EXPECT_EQ(Float(slope), 27);
  EXPECT_EQ(Derivative(outer, slope.values, x), 18);
}

TEST_F(Tapes, GiveDerivativesOfAnyOrder) {
  constexpr int kOrders = 5;
  std::vector<std::unique_ptr<Tape>> tapes;
  for (int i = 0; i < kOrders; ++i) {
    tapes.push_back(std::make_unique<Tape>());
    tapes.back()->Watch(x);
    tapes.back()->Start();
  }
  EagerTensor y = x;
  for (int i = 1; i < kOrders; ++i) y = Product(y, x);  // x⁵
  std::vector<float> derivatives;
  for (int i = kOrders - 1; i >= 0; --i) {
    y = tapes[i]->Gradient(context, {{{y}}}, {{x}})[0].values;
    derivatives.push_back(Float(y));
  }
  EXPECT_THAT(derivatives, ElementsAre(5 * 81, 20 * 27, 60 * 9, 120 * 3, 120));
}

TEST_F(Tapes, ThatRecordTheirOwnGradientsGiveHigherOnes) {
  Tape tape(true);
  tape.Watch(x);
  tape.Start();
  const EagerTensor y = Product(Product(x, x), x);
  const Adjoint slope = tape.Gradient(context, {{{y}}}, {{x}})[0];
  tape.Stop();
  EXPECT_EQ(Derivative(tape, slope.values, x), 18);
}

TEST_F(Tapes, GiveNothingThroughIntegers) {
  Tape tape;
  const EagerTensor y = Recorded(tape, {x}, [&] {
    return context.Execute1("Cast", {context.Execute1("Round", {x})}, {{"DstT", DType::kInt32}});
  });
  EXPECT_FALSE(tape.Gradient(context, {{{y}}}, {{x}})[0].has_value());
}

// ---- Steps of their own

class Thrice : public OwnStep, public std::enable_shared_from_this<Thrice> {
 public:
  explicit Thrice(Context& context) : context_(context) {}
  bool GoesBack() const override { return true; }
  std::vector<Adjoint> Backward(absl::Span<const EagerTensor> inputs, absl::Span<const EagerTensor>,
                                std::vector<Adjoint> dys) const override {
    EXPECT_EQ(inputs.size(), 1u);
    return {{.values = Mul(context_, dys[0].values, F(3)), .indices = {}, .shape = {}}};
  }
  Key key() const override { return {this, 0}; }
  std::shared_ptr<const OwnStep> WithoutMemory() const override { return shared_from_this(); }
  std::vector<Value> Replay(PlanGraph&, const std::vector<Value>& inputs,
                            std::vector<Value>&) const override {
    return inputs;
  }

 private:
  Context& context_;
};

TEST_F(Tapes, GoThroughStepsThatGoBackByThemselves) {
  Tape tape;
  const EagerTensor z = Recorded(tape, {x}, [&] {
    const EagerTensor before = Product(x, x);
    const EagerTensor after(before.value);
    Recording::Tell(std::make_shared<const Thrice>(context), {&before, 1}, {&after, 1});
    return Product(after, after);
  });
  EXPECT_EQ(Derivative(tape, z, x), 2 * 9 * 3 * 6);
}

TEST_F(Tapes, HandAdjointsOfWhatWasReadOnToTheVariable) {
  const EagerTensor v = Variable(3);
  Tape tape(true);
  EagerTensor read;
  const EagerTensor z = Recorded(tape, {x}, [&] {
    read = Read(context, v);
    const EagerTensor after(x.value);
    Recording::Tell(std::make_shared<const Thrice>(context), {&x, 1}, {&after, 1});
    return Product(after, read);  // behind a step that goes back by itself
  });
  EXPECT_EQ(Derivative(tape, z, v), 3);
  EXPECT_EQ(Derivative(tape, read, v), 1);
  const auto both = tape.Gradient(context, {{{z}}}, {{v, x}});
  EXPECT_EQ(Float(both[0]), 3);
  EXPECT_EQ(Float(both[1]), 9);
}

TEST_F(Tapes, NoteWhatIsAddedToGraphs) {
  Graph graph;
  const GraphScope in(graph);
  const Value a = graph.placeholder(DType::kFloat, {});
  Tape tape;
  tape.Watch(NewTensorId(), a);
  tape.Start();
  const Value b = a * a;
  tape.Stop();
  const Value c = b * a;
  const auto record = tape.RecordOf(*graph.state(), [](uint64_t) { return Value(); });
  ASSERT_EQ(record.watched.size(), 1u);
  EXPECT_TRUE(gyre::internal::RecordedGradients(record, {b}, {a},
                                                {.unconnected = Unconnected::kNothing}, {})[0]
                  .values.has_value());
  EXPECT_FALSE(gyre::internal::RecordedGradients(record, {c}, {a},
                                                 {.unconnected = Unconnected::kNothing}, {})[0]
                   .values.has_value());
}

}  // namespace
}  // namespace gyre::eager::testing
