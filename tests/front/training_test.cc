// Optimizers against their formulas; training inside and outside of the graph; going on from a
// checkpoint.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "front/engines.h"
#include "gmock/gmock.h"
#include "ops/registry.h"
#include "support/temp_folder.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Ge;
using ::testing::Lt;
using ::testing::Pointwise;
using ::testing::UnorderedElementsAre;

using Training = OnEngine;
GYRE_ON_EACH_ENGINE(Training);

constexpr int kSteps = 7;

// A loss whose gradient by w is s (w - 1), element by element.
Value Bowl(const Variable& w, double s) { return reduce_sum(square(w - 1.0)) * (s / 2); }

// What w = {4, -2}, of any floating type, is after kSteps steps down Bowl(w, s).
std::vector<double> Trained(Graph& graph, const SessionOptions& options, const Optimizer& optimizer,
                            DType dtype, double s) {
  Variable w("w", cast(constant({4.0, -2.0}), dtype));
  const Operation step = optimizer.minimize(Bowl(w, s), {w});
  GraphSession session(graph, options);
  session.initialize();
  for (int i = 0; i < kSteps; ++i) session.eval({}, {}, {step});
  EXPECT_EQ(session.value_of(optimizer.iterations()).scalar<int64_t>(), kSteps);
  const Tensor result = session.eval(cast(constant(session.value_of(w)), DType::kDouble));
  return {result.values<double>().begin(), result.values<double>().end()};
}

// The same by a formula: `step(w, g, t)` is one step of one element.
template <typename Make>
std::vector<double> ByHand(double s, Make make) {
  std::vector<double> result;
  for (double w : {4.0, -2.0}) {
    auto step = make();
    for (int t = 1; t <= kSteps; ++t) step(w, s * (w - 1), t);
    result.push_back(w);
  }
  return result;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * std::abs(want[i])) << i;
}

// Some roundings per step, of the type's precision.
constexpr double kOfDouble = 1e-14, kOfFloat = 2e-6, kOfHalf = 1e-2;

TEST_P(Training, SgdFollowsTheGradient) {
  const auto want = ByHand(0.5, [] { return [](double& w, double g, int) { w -= 0.25 * g; }; });
  ExpectNear(Trained(graph, options(), Sgd({.learning_rate = 0.25}), DType::kDouble, 0.5), want,
             kOfDouble);
  ExpectNear(Trained(graph, options(), Sgd({.learning_rate = 0.25}), DType::kFloat, 0.5), want,
             kOfFloat);
  ExpectNear(Trained(graph, options(), Sgd({.learning_rate = 0.25}), DType::kHalf, 0.5), want,
             kOfHalf);
}

TEST_P(Training, SgdWithMomentumGathersSpeed) {
  const auto want = ByHand(0.5, [] {
    return [a = 0.0](double& w, double g, int) mutable {
      a = 0.9 * a + g;
      w -= 0.1 * a;
    };
  });
  const SgdOptions momentum = {.learning_rate = 0.1, .momentum = 0.9};
  ExpectNear(Trained(graph, options(), Sgd(momentum), DType::kDouble, 0.5), want, kOfDouble);
  ExpectNear(Trained(graph, options(), Sgd(momentum), DType::kFloat, 0.5), want, kOfFloat);
}

TEST_P(Training, NesterovLooksAhead) {
  const auto want = ByHand(0.5, [] {
    return [a = 0.0](double& w, double g, int) mutable {
      a = 0.9 * a + g;
      w -= 0.1 * (g + 0.9 * a);
    };
  });
  const SgdOptions nesterov = {.learning_rate = 0.1, .momentum = 0.9, .nesterov = true};
  ExpectNear(Trained(graph, options(), Sgd(nesterov), DType::kDouble, 0.5), want, kOfDouble);
  ExpectNear(Trained(graph, options(), Sgd(nesterov), DType::kFloat, 0.5), want, kOfFloat);
}

// Algorithm 1 of the paper, with a large ε so that where it stands matters.
auto AdamByHand(double rate, double epsilon) {
  return [=] {
    return [=, m = 0.0, v = 0.0](double& w, double g, int t) mutable {
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double m_hat = m / (1 - std::pow(0.9, t)), v_hat = v / (1 - std::pow(0.999, t));
      w -= rate * m_hat / (std::sqrt(v_hat) + epsilon);
    };
  };
}

TEST_P(Training, AdamAdaptsToEachElement) {
  ExpectNear(Trained(graph, options(), Adam({.learning_rate = 0.1}), DType::kDouble, 0.5),
             ByHand(0.5, AdamByHand(0.1, 1e-8)), 1e-12);
  const AdamOptions coarse = {.learning_rate = 0.1, .epsilon = 0.5};
  ExpectNear(Trained(graph, options(), Adam(coarse), DType::kDouble, 0.5),
             ByHand(0.5, AdamByHand(0.1, 0.5)), 1e-12);
  // 1 - β2 = 0.001 is off by 1.3e-5 in float, of which half goes into the root.
  ExpectNear(Trained(graph, options(), Adam(coarse), DType::kFloat, 0.5),
             ByHand(0.5, AdamByHand(0.1, 0.5)), 1e-5);
}

// The same numbers as in tests/python/optimizers/test_optimizers.py: one rule for both languages.
TEST_P(Training, AdamIsThatOfPythonToTheBit) {
  Variable w("w", constant({4.0f, -2.0f}));
  const Value gradient = placeholder(DType::kFloat, {2});
  const Operation step = Adam({.learning_rate = 0.1, .epsilon = 1e-3}).apply({gradient}, {w});
  GraphSession session(graph, options());
  session.initialize();
  for (const auto& g : {Tensor::Vector<float>({0.5f, -0.25f}), Tensor::Vector<float>({1.5f, 0.75f}),
                        Tensor::Vector<float>({-0.3f, 0.1f})}) {
    session.eval({}, {{gradient, g}}, {step});
  }
  const Tensor result = session.value_of(w);
  EXPECT_THAT(result.values<float>(), ElementsAre(0x1.e01986p+1f, -0x1.fedc5ap+0f));
}

TEST_P(Training, ComplexVariablesAreTrainedBySgdAlone) {
  Variable w("w", constant(complex64(1, 2)));
  const Operation step = Sgd({.learning_rate = 0.5}).apply({constant(complex64(2, -2))}, {w});
  GraphSession session(graph, options());
  session.initialize();
  session.eval({}, {}, {step});
  EXPECT_EQ(session.value_of(w).scalar<complex64>(), complex64(0, 3));
  ExpectContains(ErrorOf([&] { Adam().apply({constant(complex64(1))}, {w}); }),
                 "variable 'w' is of type complex64; Adam trains variables of float32 and float64");
}

TEST_P(Training, FirstValuesOfWeightsSpreadAsTheirShapeSays) {
  const auto drawn = [&](const Value& value) {
    GraphSession session(graph, options());
    const Tensor tensor = session.eval(value);
    return std::vector<double>(tensor.values<double>().begin(), tensor.values<double>().end());
  };
  const double limit = std::sqrt(6.0 / 400);
  const std::vector<double> uniform = drawn(glorot_uniform({300, 100}, DType::kDouble, 1));
  EXPECT_THAT(uniform, ::testing::Each(::testing::AllOf(Ge(-limit), Lt(limit))));
  EXPECT_GT(*std::max_element(uniform.begin(), uniform.end()), 0.99 * limit);
  EXPECT_EQ(uniform,
            drawn(variance_scaling({300, 100}, 1, "fan_avg", "uniform", DType::kDouble, 1)));
  double squares = 0;
  const std::vector<double> normal = drawn(he_normal({3, 50, 100}, DType::kDouble, 1));
  for (const double x : normal) squares += x * x;
  EXPECT_NEAR(squares / static_cast<double>(normal.size()), 2.0 / 150, 0.05 * 2 / 150);
  EXPECT_NE(drawn(he_uniform({4}, DType::kDouble)), drawn(he_uniform({4}, DType::kDouble)));
  const Value n = Int();
  ExpectContains(ErrorOf([&] { glorot_normal(stack({n, n})); }), "must be known, not computed");
  ExpectContains(ErrorOf([&] { variance_scaling({2}, -1); }), "invalid variance scaling: scale -1");
}

TEST_P(Training, ASecondOptimizerHasSlotsOfItsOwn) {
  Variable w("w", 4.0);
  Adam one, two;
  one.minimize(Bowl(w, 1), {w});
  two.minimize(Bowl(w, 1), {w});
  GraphSession session(graph, options());
  std::vector<std::string> names;
  for (const auto& info : session.session().Variables()) names.push_back(info.name);
  EXPECT_THAT(names, UnorderedElementsAre("w", "w/adam_m", "w/adam_v", "adam/iterations",
                                          "w/adam_m_1", "w/adam_v_1", "adam/iterations_1"));
}

TEST_P(Training, ALinearRegressionFindsItsLine) {
  const Value x = placeholder(DType::kFloat, {-1}), y = placeholder(DType::kFloat, {-1});
  Variable w("w", 0.0f), b("b", 0.0f);
  const Value loss = reduce_mean(square(x * w + b - y));
  const Operation step = Sgd({.learning_rate = 0.1, .momentum = 0.5}).minimize(loss, {w, b});
  GraphSession session(graph, options());
  session.initialize();
  const FeedList line = {{x, Tensor::Vector<float>({-2, -1, 0, 1, 2})},
                         {y, Tensor::Vector<float>({-5, -2, 1, 4, 7})}};
  const float before = session.eval(loss, line).scalar<float>();
  for (int i = 0; i < 200; ++i) session.eval({}, line, {step});
  EXPECT_GT(before, 10);
  EXPECT_NEAR(session.value_of(w).scalar<float>(), 3, 1e-5);
  EXPECT_NEAR(session.value_of(b).scalar<float>(), 1, 1e-5);
}

// ---- Learning rates

// w after two steps from 0 with gradient 1.
double AfterTwoSteps(Graph& graph, const SessionOptions& options, const LearningRate& rate,
                     const std::function<void(GraphSession&)>& between = {}) {
  Variable w("w", 0.0);
  const Operation step = Sgd({.learning_rate = rate}).minimize(w * 1.0, {w});
  GraphSession session(graph, options);
  session.initialize();
  session.eval({}, {}, {step});
  if (between) between(session);
  session.eval({}, {}, {step});
  return session.value_of(w).scalar<double>();
}

TEST_P(Training, ARateIsANumberAValueAVariableOrASchedule) {
  EXPECT_EQ(AfterTwoSteps(graph, options(), 2), -4);
  EXPECT_EQ(AfterTwoSteps(graph, options(), constant(0.5f)), -1);
  const Variable rate("rate", 0.5f);
  EXPECT_EQ(
      AfterTwoSteps(graph, options(), rate,
                    [](GraphSession& session) {
                      EXPECT_TRUE(session.session().AssignVariables({{"rate", F(0.25f)}}).ok());
                    }),
      -0.75);
  const auto halves = [](const Value& done) { return pow(0.5, cast(done, DType::kDouble)); };
  EXPECT_EQ(AfterTwoSteps(graph, options(), halves), -1.5);
  ExpectContains(ErrorOf([&] { AfterTwoSteps(graph, options(), constant({0.5f, 0.25f})); }),
                 "a learning rate is a real scalar, not float32[2]\n  at " + Here(-1));
}

// ---- In the graph

Value Rows() {
  std::vector<float> numbers;
  for (int i = 0; i < 24; ++i) numbers.push_back(static_cast<float>((i * 7) % 11) / 8.0f);
  return constant(Tensor::FromValues<float>(numbers, Shape::Trusted({8, 3})));
}

struct Model {
  Variable w, b;
  explicit Model(const std::string& name)
      : w(name + "/w", constant({0.5f, -0.25f, 0.125f})), b(name + "/b", 0.0f) {}
  Value Loss(const Value& row) const { return square(tanh(reduce_sum(row * w) + b) - 0.75f); }
  void Train(const Optimizer& optimizer, const Value& row) const {
    const std::vector<Value> found = gradients({Loss(row)}, {w, b});
    optimizer.apply(clip_by_global_norm(found, 0.5f).values, {w, b});
  }
};

std::vector<float> Parameters(GraphSession& session, const Model& model) {
  const Tensor w = session.value_of(model.w);
  std::vector<float> result(w.values<float>().begin(), w.values<float>().end());
  result.push_back(session.value_of(model.b).scalar<float>());
  return result;
}

// Trains one model step by step from outside, and one in a loop of the graph.
void ExpectSameInsideAndOutside(Graph& graph, const SessionOptions& options,
                                const Optimizer& outside, const Optimizer& inside) {
  const Value rows = Rows(), i = Int();
  const Model one("one"), other("other");
  const Value loss = one.Loss(rows[i]);
  const Operation step = outside.apply(
      clip_by_global_norm(gradients({loss}, {one.w, one.b}), 0.5f).values, {one.w, one.b});
  const Value count = while_loop([](Value i) { return i < 8; },
                                 [&](Value i) {
                                   other.Train(inside, rows[i]);
                                   return i + 1;
                                 },
                                 0);
  GraphSession session(graph, options);
  session.initialize();
  const std::vector<float> before = Parameters(session, one);
  for (int k = 0; k < 8; ++k) session.eval({}, {{i, I(k)}}, {step});
  session.eval({}, {}, {count});
  const std::vector<float> after = Parameters(session, one);
  EXPECT_NE(before, after);
  EXPECT_EQ(after, Parameters(session, other));  // bit for bit
}

TEST_P(Training, ALoopInTheGraphTrainsAsALoopAroundIt) {
  const auto warm_up = [](const Value& done) {
    return minimum(cast(done + int64_t{1}, DType::kFloat) * 0.01f, 0.05f);
  };
  const AdamOptions adam = {.learning_rate = warm_up};
  ExpectSameInsideAndOutside(graph, options(), Adam(adam), Adam(adam));
  const SgdOptions sgd = {.learning_rate = warm_up, .momentum = 0.9};
  ExpectSameInsideAndOutside(graph, options(), Sgd(sgd), Sgd(sgd));
}

// A loss whose variables only bodies read, one of which is read for its initial state, too: their
// gradients begin at zero.
Value LossOfBodies(const std::string& form, const Model& model, const Value& row) {
  const auto cell = [&](Value state, Value x) { return tanh(state * model.w + x * model.b); };
  if (form == "scan") return reduce_sum(scan(cell, constant({0.5f, 1.5f, -0.5f}), row * model.b));
  if (form == "while")
    return reduce_sum(for_range(3, [&](Value, Value x) { return cell(x, row); }, row));
  return reduce_sum(
      cond(reduce_sum(row) > 1.0f, [&] { return cell(row, row); }, [&] { return row * model.w; }));
}

void ExpectSameInABody(Graph& graph, const SessionOptions& options, const std::string& form) {
  const Value rows = Rows(), i = Int();
  const Model one("one"), other("other");
  const Sgd outside({.learning_rate = 0.1}), inside({.learning_rate = 0.1});
  const Operation step = outside.minimize(LossOfBodies(form, one, rows[i]), {one.w, one.b});
  const Value done = for_range(
      8,
      [&](Value i, Value done) {
        return cond(
            i < 6,
            [&] {
              inside.minimize(LossOfBodies(form, other, rows[i]), {other.w, other.b});
              return done + 1;
            },
            [&] { return done; });
      },
      Value(constant(0)));
  GraphSession session(graph, options);
  session.initialize();
  for (int k = 0; k < 6; ++k) session.eval({}, {{i, I(k)}}, {step});
  EXPECT_EQ(session.eval(done).scalar<int32_t>(), 6);
  EXPECT_EQ(Parameters(session, one), Parameters(session, other)) << form;
}

TEST_P(Training, AStepInABodyTrainsWhatOnlyInnerBodiesRead) {
  for (const char* form : {"scan", "while", "cond"}) {
    Graph own;
    const GraphScope in(own);
    ExpectSameInABody(own, options(), form);
  }
}

TEST_P(Training, SlotsAreMadeOnceWhereverAndHoweverOftenABodyIsTraced) {
  const Model model("model");
  const Adam adam({.learning_rate = 0.01});
  const Value p = placeholder(DType::kBool, PartialShape::Scalar());
  // The state's shape changes, so the body is traced again; a step in a branch in a loop.
  while_loop([](Value i, Value) { return i < 4; },
             [&](Value i, Value grows) {
               cond(p, [&] { model.Train(adam, Rows()[i]); }, [] {});
               return std::tuple(i + 1, concat({grows, grows}, 0));
             },
             0, constant({1.0f}));
  GraphSession session(graph, options());
  std::vector<std::string> names;
  for (const auto& info : session.session().Variables()) names.push_back(info.name);
  EXPECT_THAT(names, UnorderedElementsAre("model/w", "model/b", "model/w/adam_m", "model/w/adam_v",
                                          "model/b/adam_m", "model/b/adam_v", "adam/iterations"));
  session.initialize();
  const std::vector<float> before = Parameters(session, model);
  session.run({}, {{p, Tensor::Scalar(false)}});
  EXPECT_EQ(Parameters(session, model), before);
  session.run({}, {{p, Tensor::Scalar(true)}});
  EXPECT_NE(Parameters(session, model), before);
  EXPECT_EQ(session.value_of(adam.iterations()).scalar<int64_t>(), 4);
}

TEST_P(Training, SlotsOfAVariableOfUnknownShapeAreShapedAsItsInitialValue) {
  const Value start = placeholder(DType::kFloat, {-1});
  Variable w("w", start);
  const Operation step = Adam({.learning_rate = 0.5}).minimize(reduce_sum(w), {w});
  GraphSession session(graph, options());
  session.eval({}, {{start, Tensor::Vector<float>({1, 2, 3})}}, {graph.initializer()});
  session.eval({}, {}, {step});
  const Tensor result = session.value_of(w);
  // The first step is the rate, but for rounding.
  const float expected[] = {0.5f, 1.5f, 2.5f};
  EXPECT_THAT(result.values<float>(), Pointwise(FloatNear(1e-5f), expected));
}

TEST_P(Training, SlotsDoNotWaitForWhatTheStepWaitsFor) {
  Variable w("w", 1.0f);
  const Value x = Float();
  const BuildScope scope = control_dependencies({x});
  Adam().minimize(w * x, {w});
  GraphSession session(graph, options());
  session.initialize();  // without feeding x
}

// ---- Mistakes

TEST_P(Training, MistakesAreNamedWithTheirLine) {
  Variable w("w", 1.0f), other("other", 1.0f), n("n", 1), h("h", cast(1.0f, DType::kHalf));
  const Value loss = w * w;
  const Adam adam;
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {w, other}); }), Here());
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {w, other}); }), "there is no gradient: ");
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {w, other}); }), "'other'");
  const GradientOptions nothing = {.unconnected = Unconnected::kNothing};
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {w, other}, nothing); }),
                 "the gradient for variable 'other' has no value: train only what the loss depends "
                 "on\n  at " +
                     Here(-3));
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {n}); }),
                 "variable 'n' is of type int32; Adam trains variables of float32 and float64\n  "
                 "at " +
                     Here(-3));
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {h}); }),
                 "make it float32, and cast what is read of it");
  ExpectContains(
      ErrorOf([&] { Sgd().minimize(loss, {n}); }),
      "variable 'n' is of type int32; only variables of floating and complex types can be "
      "trained");
  ExpectContains(ErrorOf([&] { adam.minimize(loss, {w, w}); }), "variable 'w' is given twice");
  ExpectContains(
      ErrorOf([&] { adam.apply({loss}, {w, other}); }),
      "there must be one gradient per variable, but there are 1 for 2 variables\n  at " + Here(-1));
  ExpectContains(ErrorOf([&] { adam.apply({}, {}); }), "there are no variables to train");
  ExpectContains(ErrorOf([&] { adam.apply({constant(1.0)}, {w}); }),
                 "variable 'w' is float32[], but its gradient is float64[]");
  ExpectContains(ErrorOf([&] { adam.apply({constant({1.0f, 2.0f})}, {w}); }),
                 "variable 'w' is float32[], but its gradient is float32[2]");
  ExpectContains(ErrorOf([&] { adam.iterations(); }), "there has been none\n  at " + Here());
  ExpectContains(ErrorOf([] { Sgd({.momentum = -1}); }), "momentum must be 0 or more, not -1");
  ExpectContains(ErrorOf([] { Sgd({.nesterov = true}); }), "give a momentum, too");
  ExpectContains(ErrorOf([] { Adam({.beta1 = 1}); }), "beta1 must be in [0, 1), not 1");
  ExpectContains(ErrorOf([] { Adam({.beta2 = NAN}); }), "beta2 must be in [0, 1)");
  ExpectContains(ErrorOf([] { Adam({.epsilon = -1}); }), "epsilon must be 0 or more, not -1");
}

// ---- Checkpoints

TEST_P(Training, GoesOnFromACheckpointAsIfItHadNotStopped) {
  const test::TempFolder folder;
  const Model model("model");
  const Value rows = Rows(), i = Int();
  const Operation step =
      Adam({.learning_rate = 0.05}).minimize(model.Loss(rows[i]), {model.w, model.b});
  const auto train = [&](GraphSession& session, int from, int to) {
    for (int k = from; k < to; ++k) session.eval({}, {{i, I(k)}}, {step});
  };
  GraphSession whole(graph, options()), first(graph, options()), second(graph, options());
  whole.initialize();
  train(whole, 0, 8);

  first.initialize();
  train(first, 0, 4);
  first.save(folder.Path("run/latest"));
  EXPECT_EQ(second.restore(folder.Path("run/latest")).size(), 7u);
  second.initialize();  // nothing is left to be initialised
  EXPECT_EQ(Parameters(second, model), Parameters(first, model));
  train(second, 4, 8);
  EXPECT_EQ(Parameters(second, model), Parameters(whole, model));
}

TEST_P(Training, APartialRestoreLeavesTheRestToTheInitializers) {
  const test::TempFolder folder;
  Variable w("w", 1.0f);
  GraphSession trained(graph, options());
  ExpectContains(ErrorOf([&] { trained.save(folder.path()); }), "variable 'w' has no value");
  ExpectContains(ErrorOf([&] { trained.value_of(w); }), "variable 'w' has no value");
  ASSERT_TRUE(trained.session().AssignVariables({{"w", F(5)}}).ok());
  trained.save(folder.path());
  Variable head("head", w * 2.0f);
  GraphSession session(graph, options());
  ExpectContains(ErrorOf([&] { session.restore(folder.path()); }), "it has no 'head'");
  EXPECT_THAT(session.restore(folder.path(), {.partial = true}), ElementsAre("w"));
  session.initialize();
  EXPECT_EQ(session.value_of(head).scalar<float>(), 10);
}

}  // namespace
}  // namespace gyre::testing
