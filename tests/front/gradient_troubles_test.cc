// Gradients that other systems got wrong at some time. What they must be is computed in plain C++:
// by a formula, or by central differences of the same program as ordinary functions.
#include <cmath>

#include "front/differences.h"

namespace gyre::testing {
namespace {

using GradientTroubles = OnEngine;
GYRE_ON_EACH_ENGINE(GradientTroubles);

// --- Loops in loops

TEST_P(GradientTroubles, AnInnerLoopAsLongAsTheOuterCounterSharesACapturedMatrix) {
  const Value n = Int(), m = Double({2, 2}), v = Double({2, 1});
  const Value end = for_range(
      n,
      [&](Value i, Value v) {
        return for_range(i, [&](Value, Value v) { return tanh(matmul(m, v)); }, v);
      },
      v);
  const Value g = Gradient(reduce_sum(end), m);
  const Doubles matrix = {0.5, 0.25, -1, 2}, start = {1, 2};
  for (const int iterations : {0, 1, 2, 5}) {
    const auto by_hand = [&](const Doubles& m) {
      Doubles v = start;
      for (int k = 0; k < iterations * (iterations - 1) / 2; ++k) {
        v = Product(m, v, 2);
        for (double& x : v) x = std::tanh(x);
      }
      return v[0] + v[1];
    };
    ExpectNear(EvalVector<double>(
                   g, {{n, I(iterations)}, {m, Of(matrix, {2, 2})}, {v, Of(start, {2, 1})}}),
               Differences(by_hand, matrix));
  }
}

TEST_P(GradientTroubles, AnInnerRnnOverSequencesOfDifferentLengthsInAnOuterLoop) {
  constexpr size_t kSize = 3, kMost = 3;
  const Doubles xs = Numbers(4 * kMost * 2);
  const std::vector<int32_t> lengths = {2, 0, 3, 1};
  const Value lengths_v = placeholder(DType::kInt32, {-1}), xs_v = Double({4, kMost, 2});
  const Value w = Double({kSize, kSize}), u = Double({2, kSize}), h0 = Double({1, kSize});
  const auto [state, loss] = for_range(
      size_of(lengths_v),
      [&](Value i, Value h, Value loss) {
        const auto [j, inner] = while_loop(
            [&](Value j, Value) { return j < lengths_v[i]; },
            [&](Value j, Value h) {
              return std::tuple(j + 1, tanh(matmul(h, w) + matmul(expand_dims(xs_v[i][j], 0), u)));
            },
            0, h * 0.9);
        return std::tuple(inner, loss + reduce_sum(square(inner)));
      },
      std::tuple<Value, Value>(h0, 0.0));
  const auto by_hand = [&](const Doubles& p) {
    const Doubles w = Part(p, 0, 9), u = Part(p, 9, 6);
    Doubles h = Part(p, 15, 3);
    double loss = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (double& x : h) x *= 0.9;
      for (size_t j = 0; j < static_cast<size_t>(lengths[i]); ++j) {
        const Doubles a = Product(h, w, kSize);
        const Doubles b = Product(Part(xs, (i * kMost + j) * 2, 2), u, 2);
        for (size_t k = 0; k < kSize; ++k) h[k] = std::tanh(a[k] + b[k]);
      }
      for (const double x : h) loss += x * x;
    }
    return loss;
  };
  const Doubles at = Numbers(18, 4);
  const FeedList feeds = {{lengths_v, Ints(lengths)},
                          {xs_v, Of(xs, {4, kMost, 2})},
                          {w, Of(Part(at, 0, 9), {kSize, kSize})},
                          {u, Of(Part(at, 9, 6), {2, kSize})},
                          {h0, Of(Part(at, 15, 3), {1, kSize})}};
  EXPECT_NEAR(Eval<double>(loss, feeds), by_hand(at), 1e-12);
  const Doubles want = Differences(by_hand, at);
  for (const char* memory : {"save", "recompute(2)", "checkpoint(200)"}) {
    const std::vector<Value> g =
        gradients({loss}, {w, u, h0}, {.memory = *ParseMemoryPolicy(memory)});
    ExpectNear(EvalVector<double>(g[0], feeds), Part(want, 0, 9));
    ExpectNear(EvalVector<double>(g[1], feeds), Part(want, 9, 6));
    ExpectNear(EvalVector<double>(g[2], feeds), Part(want, 15, 3));
  }
}

TEST_P(GradientTroubles, FiftyLoopsBranchesAndCallsInEachOther) {
  const Value x = Double(), w = Double(), yes = placeholder(DType::kBool, PartialShape::Scalar());
  std::function<Value(Value, int)> nest = [&](const Value& s, int depth) -> Value {
    if (depth == 0) return s;
    const auto within = [&](const Value& s) { return nest(s, depth - 1) * w; };
    if (depth % 3 == 0) return for_range(1, [&](Value, const Value& s) { return within(s); }, s);
    if (depth % 3 == 1) return cond(yes, [&] { return within(s); }, [&] { return s; });
    return function<Value(Value)>("call", [&](Value s) { return within(s); })(s);
  };
  const std::vector<Value> g = gradients({nest(x, 50)}, {x, w});
  const FeedList feeds = {{x, D(3)}, {w, D(1.02)}, {yes, Tensor::Scalar(true)}};
  EXPECT_NEAR(Eval<double>(g[0], feeds), std::pow(1.02, 50), 1e-12);
  EXPECT_NEAR(Eval<double>(g[1], feeds), 3 * 50 * std::pow(1.02, 49), 1e-9);
}

// --- Lists and growing state

TEST_P(GradientTroubles, AGradientTakenInALoopThroughAWriteAndAGather) {
  // s := s - r dy/ds, where y = Σ list[i, 0]² after list[i] := s x[i]. What was written in earlier
  // iterations does not depend on this iteration's s.
  const Value s0 = Double(), x = Double({4}), rate = Double();
  const auto [end, list] = for_range(
      4,
      [&](Value i, const std::pair<Value, List>& state) {
        const Value& s = state.first;
        const List written = state.second.set(i, s * x[i]);
        const Value y = reduce_sum(square(written.gather(stack({i, 0}))));
        return std::pair(s - rate * Gradient(y, s), written);
      },
      std::pair(s0, List::reserve(4, DType::kDouble, PartialShape::Scalar())));
  const std::vector<Value> g =
      gradients({end + 0.1 * reduce_sum(square(list.stack()))}, {s0, x, rate});
  const auto by_hand = [](const Doubles& p) {
    double s = p[0], squares = 0;
    for (size_t i = 0; i < 4; ++i) {
      const double x = p[1 + i];
      squares += s * x * s * x;
      s -= p[5] * (i == 0 ? 4 : 2) * s * x * x;
    }
    return s + 0.1 * squares;
  };
  const Doubles at = {1.5, 0.3, -0.8, 1.1, 0.6, 0.2};
  const Doubles want = Differences(by_hand, at);
  const FeedList feeds = {{s0, D(at[0])}, {x, Of(Part(at, 1, 4))}, {rate, D(at[5])}};
  ExpectNear(EvalVector<double>(g[0], feeds), {want[0]});
  ExpectNear(EvalVector<double>(g[1], feeds), Part(want, 1, 4));
  ExpectNear(EvalVector<double>(g[2], feeds), {want[5]});
}

TEST_P(GradientTroubles, AnElementThatIsWrittenAgainHasTheGradientOfTheLastWriteOnly) {
  const Value x = Double({3});
  const List list = for_range(
      3, [&](Value i, List l) { return l.set(i % 2, x[i] * x[i]).set(1, l[0] + x[i]); },
      List::reserve(2, DType::kDouble, PartialShape::Scalar()));
  // Iteration 0: (x0², 0 + x0). Iteration 1: (x0², x0² + x1). Iteration 2: (x2², x0² + x2).
  const Value y = list[0] + 10.0 * list[1];
  ExpectNear(EvalVector<double>(Gradient(y, x), {{x, Of({3, 5, 7})}}), {60, 0, 24});
}

TEST_P(GradientTroubles, StateThatGrowsAndIsReadAsAWholeInEachIteration) {
  // The sum is (1 + w)^n x; what is joined on last is w (1 + w)^(n - 1) x.
  const Value n = Int(), x = Double(), w = Double();
  const Value grown = for_range(
      n, [&](Value, Value s) { return concat({s, reshape(reduce_sum(s) * w, {1})}, 0); },
      reshape(x, {1}));
  const std::vector<Value> sum = gradients({reduce_sum(grown)}, {x, w});
  const std::vector<Value> last = gradients({grown[-1]}, {x, w});
  const Value second = Gradient(sum[1], w);
  for (const int iterations : {0, 1, 2, 5}) {
    const FeedList feeds = {{n, I(iterations)}, {x, D(3)}, {w, D(0.5)}};
    EXPECT_NEAR(Eval<double>(sum[0], feeds), std::pow(1.5, iterations), 1e-12);
    EXPECT_NEAR(Eval<double>(sum[1], feeds), 3 * iterations * std::pow(1.5, iterations - 1), 1e-12);
    EXPECT_NEAR(Eval<double>(second, feeds),
                3 * iterations * (iterations - 1) * std::pow(1.5, iterations - 2), 1e-12);
    const double by_x = iterations == 0 ? 1 : 0.5 * std::pow(1.5, iterations - 1);
    const double by_w = iterations == 0
                            ? 0
                            : 3 * (std::pow(1.5, iterations - 1) +
                                   0.5 * (iterations - 1) * std::pow(1.5, iterations - 2));
    EXPECT_NEAR(Eval<double>(last[0], feeds), by_x, 1e-12);
    EXPECT_NEAR(Eval<double>(last[1], feeds), by_w, 1e-12);
  }
}

// --- Derivatives of derivatives

TEST_P(GradientTroubles, HessianOfAScanIsTheDifferencesOfItsGradient) {
  const Value x = Double({4});
  const auto f = [](Value x) {
    return reduce_sum(tanh(scan([](Value s, Value v) { return s * v + sin(v); }, x, 0.5)));
  };
  const auto by_hand = [](const Doubles& x) {
    double s = 0.5, sum = 0;
    for (const double v : x) {
      s = s * v + std::sin(v);
      sum += std::tanh(s);
    }
    return sum;
  };
  const Value g = Gradient(f(x), x), h = hessian(f, x);
  GraphSession session(graph, options());
  const auto first = [&](const Doubles& at) {
    const Tensor result = session.eval(g, {{x, Of(at)}});
    return Doubles(result.values<double>().begin(), result.values<double>().end());
  };
  const Doubles at = {0.7, -0.4, 1.2, 0.3};
  ExpectNear(first(at), Differences(by_hand, at));
  const Doubles second = EvalVector<double>(h, {{x, Of(at)}});
  for (size_t i = 0; i < 4; ++i) {
    ExpectNear(Part(second, i * 4, 4),
               Differences([&](const Doubles& at) { return first(at)[i]; }, at));
  }
}

TEST_P(GradientTroubles, SecondDerivativeOfAFoldOfMatrixProducts) {
  const Value ms = Double({3, 2, 2}), start = Double({2, 2}), weights = Double({2, 2});
  const Value direction = Double({3, 2, 2});
  const Value product = foldl([](Value s, Value m) { return matmul(s, m); }, ms, start);
  const Value g = Gradient(reduce_sum(product * weights), ms);
  const Value along = reduce_sum(g * direction);
  const std::vector<Value> second = gradients({along}, {ms, start});
  const Doubles s = Numbers(4, 2), c = Numbers(4, 3), d = Numbers(12, 5);
  const auto by_hand = [&](const Doubles& ms) {
    Doubles product = s;
    for (size_t k = 0; k < 3; ++k) product = Product(product, Part(ms, k * 4, 4), 2);
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) sum += product[i] * c[i];
    return sum;
  };
  const FeedList constants = {
      {start, Of(s, {2, 2})}, {weights, Of(c, {2, 2})}, {direction, Of(d, {3, 2, 2})}};
  const auto eval = [&](const Value& value, const Doubles& at) {
    FeedList feeds = constants;
    feeds.push_back({ms, Of(at, {3, 2, 2})});
    return EvalVector<double>(value, feeds);
  };
  const Doubles at = Numbers(12);
  ExpectNear(eval(g, at), Differences(by_hand, at));
  ExpectNear(eval(second[0], at),
             Differences([&](const Doubles& at) { return eval(along, at)[0]; }, at));
  // What is linear in `start` is its derivative times `start`.
  const Doubles by_start = eval(second[1], at);
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += by_start[i] * s[i];
  EXPECT_NEAR(sum, eval(along, at)[0], 1e-12);
}

TEST_P(GradientTroubles, DescentInTheLossAndTheGradientOfWhereItLeads) {
  // Model-agnostic meta-learning: some steps of descent for each of two tasks; then the mean loss
  // on other points of the tasks, by the common beginning and the rate.
  constexpr size_t kPoints = 3;
  const Value steps = Int(), w0 = Double({2}), rate = Double();
  const Value xs = Double({2, 2, kPoints, 2}), ys = Double({2, 2, kPoints});
  const auto loss_of = [](const Value& w, const Value& x, const Value& y) {
    return reduce_mean(square(tanh(squeeze(matmul(x, expand_dims(w, 1)), {1})) - y));
  };
  const Value losses = map_fn(
      [&](Value x, Value y) {
        const Value w = for_range(
            steps,
            [&](Value, const Value& w) { return w - rate * Gradient(loss_of(w, x[0], y[0]), w); },
            w0);
        return loss_of(w, x[1], y[1]);
      },
      std::tuple(xs, ys));
  const std::vector<Value> g = gradients({reduce_mean(losses)}, {w0, rate});
  const Doubles x = Numbers(8 * kPoints), y = Numbers(4 * kPoints, 3);
  for (const int iterations : {0, 1, 4}) {
    const auto by_hand = [&](const Doubles& p) {
      double mean = 0;
      for (size_t task = 0; task < 2; ++task) {
        double w[] = {p[0], p[1]};
        for (int step = 0; step <= iterations; ++step) {
          double loss = 0, by_w[] = {0, 0};
          for (size_t i = 0; i < kPoints; ++i) {
            const size_t point = (task * 2 + (step < iterations ? 0 : 1)) * kPoints + i;
            const double a = std::tanh(x[point * 2] * w[0] + x[point * 2 + 1] * w[1]);
            const double error = a - y[point];
            loss += error * error / kPoints;
            for (size_t k = 0; k < 2; ++k)
              by_w[k] += 2 * error * (1 - a * a) * x[point * 2 + k] / kPoints;
          }
          if (step == iterations) mean += loss / 2;
          for (size_t k = 0; k < 2; ++k) w[k] -= p[2] * by_w[k];
        }
      }
      return mean;
    };
    const Doubles at = {0.4, -0.7, 0.5}, want = Differences(by_hand, at);
    const FeedList feeds = {{steps, I(iterations)},
                            {w0, Of(Part(at, 0, 2))},
                            {rate, D(at[2])},
                            {xs, Of(x, {2, 2, kPoints, 2})},
                            {ys, Of(y, {2, 2, kPoints})}};
    ExpectNear(EvalVector<double>(g[0], feeds), Part(want, 0, 2));
    ExpectNear(EvalVector<double>(g[1], feeds), Part(want, 2, 1));
  }
}

// --- Zeros and infinities

TEST_P(GradientTroubles, ARootAtZeroGuardedByABranchInALoopIsNoNan) {
  const Value x = Double({4});
  const Value roots =
      map_fn([](Value x) { return cond(x > 0, [&] { return sqrt(x); }, [] { return 0.0; }); }, x);
  const Value g = Gradient(reduce_sum(roots), x), gg = Gradient(reduce_sum(g), x);
  const FeedList feeds = {{x, Of({0, 4, 0, 0.25})}};
  EXPECT_EQ(EvalVector<double>(g, feeds), (Doubles{0, 0.25, 0, 1}));
  EXPECT_EQ(EvalVector<double>(gg, feeds), (Doubles{0, -1.0 / 32, 0, -2}));
}

TEST_P(GradientTroubles, AnUnusedOutputWithoutADerivativeSpoilsNoOther) {
  const Value x = Double();
  const auto [used, unused] = for_range(
      2, [&](Value, Value a, Value b) { return std::tuple(a * x, sqrt(b) * x); },
      std::tuple<Value, Value>(1.0, x));
  EXPECT_EQ(Eval<double>(Gradient(used, x), {{x, D(0)}}), 0);
  EXPECT_EQ(Eval<double>(Gradient(used, x), {{x, D(3)}}), 6);
  const auto [taken, root] = cond(
      x < 1, [&] { return std::tuple(x * 2.0, sqrt(x)); }, [&] { return std::tuple(x * 3.0, x); });
  EXPECT_EQ(Eval<double>(Gradient(taken, x), {{x, D(0)}}), 2);
  const auto f = function("f", [](Value x) { return std::tuple(x * 5.0, sqrt(x)); });
  EXPECT_EQ(Eval<double>(Gradient(std::get<0>(f(x)), x), {{x, D(0)}}), 5);
}

TEST_P(GradientTroubles, OutputsOfBranchesAndCallsThatAreUsedInPart) {
  const Value x = Double(), w = Double(), k = Int();
  const auto choose = [&] {
    return switch_case<std::tuple<Value, Value, Value>>(
        k, {[&] { return std::tuple<Value, Value, Value>(x * w, 7.0, x); },
            [&] { return std::tuple<Value, Value, Value>(w, x * x, w); },
            [&] { return std::tuple<Value, Value, Value>(1.0, 2.0, x * x * x); }});
  };
  const auto [a, b, c] = choose();
  const GradientOptions zeros = {.unconnected = Unconnected::kZero};
  const std::vector<Value> of_a = gradients({a}, {x, w}), of_b = gradients({b}, {x, w}, zeros);
  const std::vector<Value> of_all = gradients({a, b, c}, {x, w});
  const double by_hand[3][6] = {{5, 3, 0, 0, 6, 3}, {0, 1, 6, 0, 6, 2}, {0, 0, 0, 0, 27, 0}};
  for (int i = 0; i < 3; ++i) {
    const FeedList feeds = {{k, I(i)}, {x, D(3)}, {w, D(5)}};
    const Value got[] = {of_a[0], of_a[1], of_b[0], of_b[1], of_all[0], of_all[1]};
    for (int j = 0; j < 6; ++j) EXPECT_EQ(Eval<double>(got[j], feeds), by_hand[i][j]) << i << j;
  }
}

// --- What goes into a loop

TEST_P(GradientTroubles, OneValueThatIsCapturedAndInitialBesideConstants) {
  // s = x⁴ + c (x² + x + 1); t stays x, k stays 2, and u is replaced by x in the first iteration.
  const Value n = Int(), x = Double(), c = Double();
  const auto [s, t, k, u] = for_range(
      n,
      [&](Value, const std::array<Value, 4>& now) {
        return std::array<Value, 4>{now[0] * x + c, now[1], now[2], x};
      },
      std::array<Value, 4>{x, x, 2.0, c});
  const std::vector<Value> of_s = gradients({s}, {x, c});
  const std::vector<Value> of_rest = gradients({t * k * u}, {x, c});
  const Value of_k = gradients({k}, {x}, {.unconnected = Unconnected::kZero})[0];
  const FeedList three = {{n, I(3)}, {x, D(2)}, {c, D(5)}};
  EXPECT_EQ(Eval<double>(of_s[0], three), 4 * 8 + 5 * 5);
  EXPECT_EQ(Eval<double>(of_s[1], three), 7);
  EXPECT_EQ(Eval<double>(of_rest[0], three), 8);  // 2 x²
  EXPECT_EQ(Eval<double>(of_rest[1], three), 0);
  EXPECT_EQ(Eval<double>(of_k, three), 0);
  const FeedList none = {{n, I(0)}, {x, D(2)}, {c, D(5)}};
  EXPECT_EQ(Eval<double>(of_s[0], none), 1);
  EXPECT_EQ(Eval<double>(of_s[1], none), 0);
  EXPECT_EQ(Eval<double>(of_rest[0], none), 10);  // 2 x c
  EXPECT_EQ(Eval<double>(of_rest[1], none), 4);
}

TEST_P(GradientTroubles, AnIntegerCounterThatFeedsFloats) {
  // i = 2, 5, 8, … below n: s := s x + i w, and s + i x at the end, where i has run on.
  const Value n = Int(), x = Double(), w = Double(), table = Double({12});
  const auto [end, s] = while_loop(
      [&](Value i, Value) { return i < n; },
      [&](Value i, Value s) { return std::tuple(i + 3, s * x + Real(i) * w * table[i]); }, 2, w);
  const Value y = s + Real(end) * x;
  const std::vector<Value> g = gradients({y}, {x, w, table});
  const Doubles entries = Numbers(12);
  for (const int limit : {0, 3, 10}) {
    const auto by_hand = [&](const Doubles& p) {
      double s = p[1];
      int i = 2;
      for (; i < limit; i += 3) s = s * p[0] + i * p[1] * p[2 + static_cast<size_t>(i)];
      return s + i * p[0];
    };
    Doubles at = {0.7, 1.3};
    at.insert(at.end(), entries.begin(), entries.end());
    const Doubles want = Differences(by_hand, at);
    const FeedList feeds = {{n, I(limit)}, {x, D(0.7)}, {w, D(1.3)}, {table, Of(entries)}};
    ExpectNear(EvalVector<double>(g[0], feeds), Part(want, 0, 1));
    ExpectNear(EvalVector<double>(g[1], feeds), Part(want, 1, 1));
    ExpectNear(EvalVector<double>(g[2], feeds), Part(want, 2, 12));
  }
}

TEST_P(GradientTroubles, ABodyThatCallsAFunctionThatLoops) {
  // power(s, i) = s w^i, so that s := s (w^i + w²) for i = 0, 1, 2.
  const Value n = Int(), x = Double(), w = Double();
  const auto power = function("power", [&](Value s, Value n) {
    return for_range(n, [&](Value, Value s) { return s * w; }, s);
  });
  const Value y =
      for_range(n, [&](Value i, Value s) { return power(s, i) + power(s, 2); }, power(x, 1));
  const std::vector<Value> g = gradients({y}, {x, w});
  const Value gg = Gradient(g[1], w);
  for (const int iterations : {0, 1, 3}) {
    // Value and first two derivatives by w of the product so far.
    double p[3] = {1.5, 1, 0};
    for (int i = 0; i < iterations; ++i) {
      const double f[3] = {std::pow(1.5, i) + 2.25, i * std::pow(1.5, i - 1) + 3,
                           i * (i - 1) * std::pow(1.5, i - 2) + 2};
      p[2] = p[2] * f[0] + 2 * p[1] * f[1] + p[0] * f[2];
      p[1] = p[1] * f[0] + p[0] * f[1];
      p[0] *= f[0];
    }
    const FeedList feeds = {{n, I(iterations)}, {x, D(3)}, {w, D(1.5)}};
    EXPECT_NEAR(Eval<double>(g[0], feeds), p[0], 1e-11);
    EXPECT_NEAR(Eval<double>(g[1], feeds), 3 * p[1], 1e-10);
    EXPECT_NEAR(Eval<double>(gg, feeds), 3 * p[2], 1e-10);
  }
}

// --- Effects

TEST_P(GradientTroubles, BodiesWithoutResultsHappenOnceAndHaveNoGradient) {
  // y = x³ v x with v = 1 + 2 · 3: writes do not depend on what was written.
  Variable v("v", 1.0);
  const Value x = Double();
  const Value cube = for_range(
      3,
      [&](Value i, Value s) {
        for_range(2, [&](Value j) {
          cond(j < 1, [&] { v.assign_add(x); }, [&] { print("{} {}", i, s); });
        });
        return s * x;
      },
      1.0);
  const Value y = cube * v.read() * x;
  const Value g = Gradient(y, x);
  const Value after = v.read();
  GraphSession session(graph, options());
  session.initialize();
  const std::vector<Tensor> results = session.eval({g, y, after}, {{x, D(2)}});
  EXPECT_EQ(results[2].scalar<double>(), 7);
  EXPECT_EQ(results[1].scalar<double>(), 16 * 7);
  EXPECT_EQ(results[0].scalar<double>(), 4 * 8 * 7);
  EXPECT_EQ(Printed({{x, D(2)}}), "0 1\n1 2\n2 4\n");
}

TEST_P(GradientTroubles, EachIterationReadsItsOwnValueOfAVariable) {
  // s := s v, and v := v + 1 in every other iteration: y = x · 2 · 2 · 3 · 3 · 4.
  Variable v("v", 2.0);
  const Value x = Double();
  const Value y = for_range(
      5,
      [&](Value i, Value s) {
        const Value next = s * v;
        cond(equal(i % 2, 1), [&] { v.assign_add(1.0); }, [] {});
        return next;
      },
      x);
  const std::vector<Value> g = gradients({y}, {x, v});
  EXPECT_NEAR(Eval<double>(g[0], {{x, D(1.5)}}), 144, 1e-9);
  const double by_v = 1.5 * 144 * (1 + 2.0 / 3 + 0.25);  // y Σ 1 / v
  EXPECT_NEAR(Eval<double>(g[1], {{x, D(1.5)}}), by_v, 1e-9);
}

TEST_P(GradientTroubles, OfAProductOfRandomNumbersIsOfThoseThatWereDrawn) {
  // y = x Π r: the gradient is y / x, and its parts come from branches and inner loops.
  const Value x = Double();
  for (const char* memory : {"save", "recompute(2)", "checkpoint(64)"}) {
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = for_range(
        5,
        [&](Value, Value s) {
          const Value r = cond(
              random_uniform({}, DType::kDouble) < 0.5,
              [&] { return 1 + random_uniform({}, DType::kDouble); },
              [&] { return random_normal({}, DType::kDouble); });
          return for_range(
              2, [&](Value, Value s) { return s * r * random_normal({}, DType::kDouble); }, s);
        },
        x, loop);
    const Value error = Gradient(y, x) * x / y;
    for (int run = 0; run < 3; ++run)
      EXPECT_NEAR(Eval<double>(error, {{x, D(2)}}), 1, 1e-12) << memory;
  }
}

TEST_P(GradientTroubles, ConstantsThatAreCapturedHaveGradientsAndCanBeFed) {
  const Value c(2.0), x = Double();
  const auto power = [&](const Value& from) {
    return for_range(3, [&](Value, Value s) { return s * c; }, from);
  };
  EXPECT_EQ(Eval<double>(gradients({power(c)}, {c})[0]), 32);
  EXPECT_EQ(Eval<double>(gradients({power(1.0)}, {c})[0]), 12);
  EXPECT_EQ(Eval<double>(power(1.0), {{c, D(3)}}), 27);
  const Value y = c * cond(x > 0, [&] { return x * c; }, [&] { return c; });
  EXPECT_EQ(Eval<double>(gradients({y}, {c})[0], {{x, D(5)}}), 20);
  const auto f = function("f", [&](Value x) { return x * c; });
  EXPECT_EQ(Eval<double>(gradients({f(x) * c}, {c})[0], {{x, D(5)}}), 20);
}

TEST_P(GradientTroubles, NothingFlowsBackThroughWhatStops) {
  const Value x = Double(), w = Double();
  const FeedList feeds = {{x, D(3)}, {w, D(1.5)}};
  const Value z = x * w;
  const auto gradient = [&](const Value& y, const std::vector<Source>& xs, const Value& stop) {
    std::vector<double> values;
    for (const Value& g : gradients({y}, xs, {.stops = {stop}}))
      values.push_back(Eval<double>(g, feeds));
    return values;
  };
  EXPECT_EQ(gradient(x * z, {x}, z), Doubles{4.5});
  EXPECT_EQ(gradient(cond(x > 0, [&] { return x * z; }, [&] { return x; }), {x}, z), Doubles{4.5});
  EXPECT_EQ(
      gradient(for_range(2, [&](Value, Value s) { return s * z; }, x), {x}, z), Doubles{20.25});
  EXPECT_EQ(gradient(for_range(2, [&](Value, Value s) { return s * x; }, z), {x}, z), Doubles{27});
  EXPECT_EQ(gradient(x * z, {x, z}, z), (Doubles{4.5, 3}));
  EXPECT_EQ(gradient(x * x * w, {x}, x), Doubles{9});
}

TEST(GradientsInBodies, GoOnThroughWhatWasComputedOutside) {
  Graph graph;
  const GraphScope in(graph);
  const Value x = Double(), z = x * x;
  const auto in_loop = [&](const GradientOptions& options) {
    return for_range(
        2, [&](Value, Value s) { return s + gradients({z * x}, {x}, options)[0]; }, 0.0);
  };
  GraphSession session(graph);
  EXPECT_EQ(session.eval(in_loop({}), {{x, D(2)}}).scalar<double>(), 24);
  EXPECT_EQ(session.eval(in_loop({.stops = {z}}), {{x, D(2)}}).scalar<double>(), 8);
  const Value inside =
      for_range(2, [&](Value, Value s) { return s + gradients({x * x * x}, {x})[0]; }, 0.0);
  EXPECT_EQ(session.eval(inside, {{x, D(2)}}).scalar<double>(), 24);
  // Through a body between, whose own values count, too.
  const Value nested = for_range(
      2,
      [&](Value i, Value s) {
        const Value y = z * cast(i + 1, DType::kDouble);
        return s + cond(i > 0, [&] { return gradients({y * x}, {x})[0]; }, [&] { return s; });
      },
      0.0);
  EXPECT_EQ(session.eval(nested, {{x, D(2)}}).scalar<double>(), 24);
}

// What was computed before a body began has its gradient where it was computed.
TEST(GradientsInBodies, OfWhatWasComputedOutside) {
  Graph graph;
  const GraphScope in(graph);
  const Value x = Double();
  const Value z = while_loop([](Value s) { return s < 100.0; }, [&](Value s) { return s * x; }, x);
  const auto in_branches = [&] {
    return cond(
        x > 0,
        [&] { return cond(x > 1, [&] { return gradients({z}, {x})[0] * x; }, [&] { return x; }); },
        [&] { return z; });
  };
  const Value once = in_branches();
  const Value often = for_range(
      3, [&](Value i, Value s) { return s + gradients({z}, {x})[0] * cast(i, DType::kDouble); },
      0.0);
  GraphSession session(graph);
  const FeedList feeds = {{x, D(3)}};  // z is x to the power of 5
  EXPECT_EQ(session.eval(once, feeds).scalar<double>(), 5 * 81 * 3);
  EXPECT_EQ(session.eval(often, feeds).scalar<double>(), 5 * 81 * 3);
  const Value second =
      cond(x > 0, [&] { return gradients(gradients({z}, {x}), {x})[0]; }, [&] { return x; });
  EXPECT_EQ(session.eval(second, feeds).scalar<double>(), 20 * 27);
}

}  // namespace
}  // namespace gyre::testing
