// Gradients of programs built in C++: the troubles that users of other systems know.
#include <algorithm>
#include <cmath>

#include "front/engines.h"
#include "gmock/gmock.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;

using Gradients = OnEngine;
GYRE_ON_EACH_ENGINE(Gradients);

Tensor Vec(const std::vector<float>& values) {
  return Tensor::FromValues<float>(values, Shape::Vector(static_cast<int64_t>(values.size())));
}

Value Vector(int64_t n = -1) { return placeholder(DType::kFloat, PartialShape(Dims{n})); }

Value Gradient(const Value& y, const Source& x) { return gradients({y}, {x})[0]; }

TEST_P(Gradients, OfAProductInALoopWithoutABound) {
  const Value n = Int(), x = Float(), w = Float();
  const auto [i, y] = while_loop([&](Value i, Value) { return i < n; },
                                 [&](Value i, Value y) { return std::tuple(i + 1, y * w); }, 0, x);
  const std::vector<Value> g = gradients({y}, {x, w});
  for (const int iterations : {0, 1, 5}) {
    const FeedList feeds = {{n, I(iterations)}, {x, F(3)}, {w, F(2)}};
    EXPECT_EQ(Eval<float>(g[0], feeds), std::pow(2.0f, iterations)) << iterations;
    EXPECT_EQ(Eval<float>(g[1], feeds), 3.0f * iterations * std::pow(2.0f, iterations - 1))
        << iterations;
  }
}

TEST_P(Gradients, OfAddingAValueToItselfSixTimesIsSixtyFour) {
  const Value x = Float();
  const Value y = for_range(6, [](Value, Value x) { return x + x; }, x);
  EXPECT_EQ(Eval<float>(Gradient(y, x), {{x, F(1)}}), 64);
}

TEST_P(Gradients, OfAnAccumulatorTimesX) {
  const Value n = Int(), x = Float();
  const Value y = for_range(n, [&](Value, Value acc) { return acc * x; }, 1.0f);
  const Value g = Gradient(y, x);
  for (int k = 1; k <= 8; ++k) {
    EXPECT_FLOAT_EQ(Eval<float>(g, {{n, I(k)}, {x, F(1.5f)}}),
                    static_cast<float>(k) * std::pow(1.5f, static_cast<float>(k - 1)));
  }
}

TEST_P(Gradients, OfABranchInAScan) {
  const Value xs = Vector(4), w = Float();
  const Value ys = scan(
      [&](Value acc, Value x) {
        return cond(x > 0, [&] { return acc + w * x; }, [&] { return acc * w; });
      },
      xs, 1.0f);
  // acc: 1, 1 + w x0, (1 + w x0) w, (1 + w x0) w + w x2, ((1 + w x0) w + w x2) w
  const FeedList feeds = {{xs, Vec({1, -1, 2, -3})}, {w, F(2)}};
  EXPECT_EQ(EvalVector<float>(ys, feeds)[2], 10);  // w² + 3 w
  EXPECT_EQ(Eval<float>(Gradient(ys[2], w), feeds), 7);
  EXPECT_THAT(EvalVector<float>(Gradient(ys[3], xs), feeds), ElementsAre(8, 0, 4, 0));
}

TEST_P(Gradients, OfNestedLoopsThatShareACapturedMatrix) {
  const Value m = placeholder(DType::kFloat, {2, 2}), v = placeholder(DType::kFloat, {2, 1});
  const auto power = [&](int outer, int inner) {
    return for_range(
        outer,
        [&](Value, Value v) {
          return for_range(inner, [&](Value, Value v) { return matmul(m, v); }, v);
        },
        v);
  };
  const Value nested = reduce_sum(power(2, 3)), flat = reduce_sum(power(6, 1));
  const FeedList feeds = {
      {m, Tensor::FromValues<float>({0.5f, 0.25f, -1, 2}, Shape::Trusted({2, 2}))},
      {v, Tensor::FromValues<float>({1, 2}, Shape::Trusted({2, 1}))}};
  EXPECT_EQ(EvalVector<float>(Gradient(nested, m), feeds),
            EvalVector<float>(Gradient(flat, m), feeds));
}

TEST_P(Gradients, OfBranchesInLoopsInBranchesWithCaptures) {
  const Value p = placeholder(DType::kBool, PartialShape::Scalar()), x = Float(), w = Float();
  const Value y = cond(
      p,
      [&] {
        return for_range(
            4,
            [&](Value i, Value s) {
              return cond(i % 2 < 1, [&] { return s * w; }, [&] { return s + w * x; });
            },
            x);
      },
      [&] { return x; });
  const std::vector<Value> g = gradients({y}, {x, w});
  // ((x w + w x) w + w x) = 2 x w² + w x
  const FeedList taken = {{p, Tensor::Scalar(true)}, {x, F(3)}, {w, F(2)}};
  EXPECT_EQ(Eval<float>(g[0], taken), 10);
  EXPECT_EQ(Eval<float>(g[1], taken), 27);
  const FeedList other = {{p, Tensor::Scalar(false)}, {x, F(3)}, {w, F(2)}};
  EXPECT_EQ(Eval<float>(g[0], other), 1);
  EXPECT_EQ(Eval<float>(g[1], other), 0);
}

TEST_P(Gradients, TakenInsideALoopAndOfThat) {
  // x := x - r f'(x) with f = x⁴ / 4, three times; and how its result depends on where it began.
  const Value start = Float(), rate = Float();
  const Value end = for_range(
      3,
      [&](Value, Value x) {
        const Value f = x * x * x * x / 4.0f;
        return x - rate * Gradient(f, x);
      },
      start);
  double x = 1.5, by_start = 1, by_rate = 0;
  constexpr double kRate = 0.1;
  for (int i = 0; i < 3; ++i) {
    by_rate = by_rate * (1 - kRate * 3 * x * x) - x * x * x;
    by_start *= 1 - kRate * 3 * x * x;
    x -= kRate * x * x * x;
  }
  const std::vector<Value> g = gradients({end}, {start, rate});
  const FeedList feeds = {{start, F(1.5f)}, {rate, F(0.1f)}};
  EXPECT_NEAR(Eval<float>(end, feeds), x, 1e-5);
  EXPECT_NEAR(Eval<float>(g[0], feeds), by_start, 1e-5);
  EXPECT_NEAR(Eval<float>(g[1], feeds), by_rate, 1e-5);
}

TEST_P(Gradients, TwoOfOneList) {
  const Value x = Float();
  List list = List::empty(DType::kFloat, PartialShape::Scalar());
  list = for_range(
      3, [&](Value i, List l) { return l.push_back(x * cast(i + 1, DType::kFloat)); }, list);
  const Value sum = reduce_sum(list.stack()), squares = reduce_sum(square(list.stack()));
  EXPECT_EQ(Eval<float>(Gradient(sum, x), {{x, F(2)}}), 6);
  EXPECT_EQ(Eval<float>(Gradient(squares, x), {{x, F(2)}}), 56);
}

TEST_P(Gradients, OfStateThatGrows) {
  const Value x = Float();
  const Value row = reshape(x, {1});
  const Value grown = for_range(3, [&](Value, Value s) { return concat({s, s * x}, 0); }, row);
  // (1 + x)³ x in all.
  EXPECT_FLOAT_EQ(Eval<float>(Gradient(reduce_sum(grown), x), {{x, F(2)}}), 27 + 3 * 9 * 2);
}

TEST_P(Gradients, HessianOfAScan) {
  const Value x = Vector(2);
  const Value h = hessian(
      [](Value x) {
        const Value products = scan([](Value acc, Value v) { return acc * v; }, x, 1.0f);
        return reduce_sum(products);
      },
      x);
  EXPECT_THAT(EvalVector<float>(h, {{x, Vec({3, 5})}}), ElementsAre(0, 1, 1, 0));
}

TEST_P(Gradients, ARootAtZeroGuardedByABranchIsNoNan) {
  const Value x = Float();
  const Value y = cond(x > 0, [&] { return sqrt(x); }, [&] { return 0.0f * x; });
  const Value g = Gradient(y, x);
  EXPECT_EQ(Eval<float>(g, {{x, F(0)}}), 0);
  EXPECT_EQ(Eval<float>(g, {{x, F(4)}}), 0.25f);
}

TEST_P(Gradients, ABranchMayReturnAnOuterValueUnchanged) {
  const Value x = Float(), z = Float();
  const Value y = cond(x > 0, [&] { return z; }, [&] { return x * z; });
  const std::vector<Value> g = gradients({y}, {x, z});
  EXPECT_EQ(Eval<float>(g[0], {{x, F(1)}, {z, F(5)}}), 0);
  EXPECT_EQ(Eval<float>(g[1], {{x, F(1)}, {z, F(5)}}), 1);
  EXPECT_EQ(Eval<float>(g[0], {{x, F(-1)}, {z, F(5)}}), 5);
}

TEST_P(Gradients, OfVariablesThatTheBodyUpdates) {
  // y = Σ v² over v = 2, 3, 4: each read has a share, writes cut.
  Variable v("v", 2.0f);
  const Value y = for_range(
      3,
      [&](Value, Value sum) {
        const Value now = v.read();
        v.assign_add(1.0f);
        return sum + now * now;
      },
      0.0f);
  const Value g = Gradient(y, v);
  EXPECT_EQ(Eval<float>(g), 2 * (2 + 3 + 4));
}

TEST_P(Gradients, OfALoopOverRandomNumbers) {
  const Value x = Float();
  const auto [sum, product] = for_range(
      4,
      [&](Value, std::pair<Value, Value> s) {
        const Value r = random_uniform({});
        return std::pair(s.first + r, s.second + r * x);
      },
      std::pair<Value, Value>(0.0f, 0.0f));
  // What is drawn once is what the gradient has seen.
  const Value difference = Gradient(product, x) - sum;
  EXPECT_NEAR(Eval<float>(difference, {{x, F(2)}}), 0, 1e-6);
}

TEST_P(Gradients, OfRecursion) {
  const TensorSpec number = {DType::kInt32, PartialShape::Scalar()};
  const TensorSpec real = {DType::kFloat, PartialShape::Scalar()};
  auto power = declare<Value(Value, Value)>("power", {number, real}, {real});
  power.define([&](Value n, Value x) {
    return cond(n < 1, [&] { return ones_like(x); }, [&] { return x * power(n - 1, x); });
  });
  const Value n = Int(), x = Float();
  const Value g = Gradient(power(n, x), x);
  const Value gg = Gradient(g, x);
  EXPECT_EQ(Eval<float>(g, {{n, I(3)}, {x, F(2)}}), 12);
  EXPECT_EQ(Eval<float>(gg, {{n, I(3)}, {x, F(2)}}), 12);
  EXPECT_EQ(Eval<float>(g, {{n, I(0)}, {x, F(2)}}), 0);
}

TEST_P(Gradients, OfFiftyLoopsInEachOther) {
  const Value x = Float();
  std::function<Value(Value, int)> nest = [&](Value s, int depth) -> Value {
    if (depth == 0) return s * x;
    return for_range(1, [&](Value, Value inner) { return nest(inner, depth - 1); }, s);
  };
  EXPECT_EQ(Eval<float>(Gradient(nest(x, 50), x), {{x, F(3)}}), 6);
}

TEST_P(Gradients, TheSameLoopBeforeAndAfterItsGradientWasBuilt) {
  const Value x = Float();
  const Value y = for_range(3, [](Value, Value s) { return s * s; }, x);
  GraphSession session(graph, options());
  EXPECT_EQ(session.eval(y, {{x, F(2)}}).scalar<float>(), 256);
  const Value g = Gradient(y, x);
  EXPECT_EQ(session.eval(y, {{x, F(2)}}).scalar<float>(), 256);
  EXPECT_EQ(session.eval(g, {{x, F(2)}}).scalar<float>(), 1024);
}

TEST_P(Gradients, UnusedAndPartlyUsedOutputs) {
  const Value x = Float();
  const auto [a, b, c] = for_range(
      3,
      [&](Value, std::array<Value, 3> s) {
        return std::array<Value, 3>{s[0] * x, s[1] + s[0], s[2] * 2.0f};
      },
      std::array<Value, 3>{1.0f, 0.0f, x});
  EXPECT_EQ(Eval<float>(Gradient(b, x), {{x, F(2)}}), 5);  // 1 + x + x²
  EXPECT_EQ(Eval<float>(Gradient(c, x), {{x, F(2)}}), 8);
  EXPECT_EQ(Eval<float>(gradients({a, c}, {x})[0], {{x, F(2)}}), 20);
}

TEST_P(Gradients, AreTheSameBitsUnderEveryMemoryPolicy) {
  const Value n = Int(), x = Float(), w = Float();
  const auto build = [&](const std::string& memory) {
    const Value y = for_range(n, [&](Value, Value s) { return sin(s * w) + 0.1f * s; }, x);
    return gradients({y}, {x, w}, {.memory = *ParseMemoryPolicy(memory)});
  };
  const std::vector<Value> save = build("save");
  for (const char* memory :
       {"recompute(1)", "recompute(7)", "checkpoint(64)", "checkpoint(100000)"}) {
    const std::vector<Value> other = build(memory);
    for (const int iterations : {0, 1, 10, 100}) {
      const FeedList feeds = {{n, I(iterations)}, {x, F(0.5f)}, {w, F(1.1f)}};
      for (size_t i = 0; i < 2; ++i)
        EXPECT_EQ(Eval<float>(save[i], feeds), Eval<float>(other[i], feeds))
            << memory << iterations;
    }
  }
}

// clip(x) whose gradient passes everywhere (straight through), and of that, the gradient's own.
TEST_P(Gradients, OfAFunctionAreWhatItsOwnGradientSays) {
  const Value x = Float(), n = Int();
  const auto step = [](const Value& x) {
    return custom_gradient(
        x, [](Value x) { return floor(x); }, [](Value x, Value dy) { return dy * x * x; });
  };
  const Value g = Gradient(step(x) * 3.0f, x);
  EXPECT_EQ(Eval<float>(step(x), {{x, F(2.5f)}}), 2);
  EXPECT_EQ(Eval<float>(g, {{x, F(2.5f)}}), 3 * 2.5f * 2.5f);
  EXPECT_EQ(Eval<float>(Gradient(g, x), {{x, F(2.5f)}}), 3 * 2 * 2.5f);
  // In a loop: d(x_n)/dx = x_0² x_1² …
  const Value y = for_range(n, [&](Value, Value x) { return step(x) * 0.5f; }, x);
  EXPECT_EQ(Eval<float>(Gradient(y, x), {{x, F(8)}, {n, I(2)}}), 0.5f * 64 * 0.5f * 16);
}

TEST_P(Gradients, OfAFunctionOfManyValuesMayLeaveSomeOut) {
  const Value x = Float(), k = Int(), z = Float();
  const std::vector<Value> ys = custom_gradient(
      {x, k, z},
      [](const std::vector<Value>& xs) {
        return std::vector<Value>{xs[0] * cast(xs[1], DType::kFloat), xs[2]};
      },
      [](const std::vector<Value>&, const std::vector<Value>& dys) {
        return std::vector<Value>{dys[0] * 100.0f + dys[1], Value(), Value()};
      });
  const FeedList feeds = {{x, F(2)}, {k, I(3)}, {z, F(4)}};
  EXPECT_EQ(Eval<float>(ys[0], feeds), 6);
  const std::vector<Value> g = gradients({ys[0], ys[1]}, {x, z});
  EXPECT_EQ(Eval<float>(g[0], feeds), 101);
  EXPECT_EQ(Eval<float>(g[1], feeds), 0);
}

TEST_P(Gradients, OfGathersInALoopStayRows) {
  const Value table = placeholder(DType::kFloat, PartialShape(Dims{1000, 2})), n = Int();
  const Value y = for_range(
      n, [&](Value i, Value sum) { return sum + reduce_sum(square(gather(table, i * 10))); }, 0.0f);
  const SparseGradient g = sparse_gradients({y}, {table})[0];
  ASSERT_TRUE(g.is_sparse());
  std::vector<float> values(2000, 0.5f);
  const FeedList feeds = {{table, Tensor::FromValues<float>(values, Shape::Trusted({1000, 2}))},
                          {n, I(3)}};
  std::vector<int32_t> rows = EvalVector<int32_t>(cast(g.indices, DType::kInt32), feeds);
  std::sort(rows.begin(), rows.end());
  EXPECT_THAT(rows, ElementsAre(0, 10, 20));
  EXPECT_THAT(EvalVector<float>(g.values, feeds), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(EvalVector<int32_t>(g.shape, feeds), ElementsAre(1000, 2));
  EXPECT_EQ(EvalVector<float>(g.dense(), feeds), EvalVector<float>(Gradient(y, table), feeds));
  EXPECT_FALSE(sparse_gradients({reduce_sum(table)}, {table})[0].is_sparse());
}

TEST_P(Gradients, JvpIsTheJacobianTimesADirection) {
  const Value x = Vector(3), d = Vector(3);
  const auto f = [](const Value& x) { return x * x * reduce_sum(x); };
  const FeedList feeds = {{x, Vec({1, 2, 3})}, {d, Vec({1, 0, -1})}};
  const Value along = jvp(f(x), x, d);
  const Value whole = jacobian(f, x);
  EXPECT_EQ(EvalVector<float>(along, feeds),
            EvalVector<float>(squeeze(matmul(whole, expand_dims(d, 1))), feeds));
}

TEST_P(Gradients, AreClippedByTheirCommonNorm) {
  const Value a = Float(), b = Float();
  const Clipped clipped = clip_by_global_norm({a, b}, 1.0f);
  const FeedList large = {{a, F(3)}, {b, F(4)}}, zero = {{a, F(0)}, {b, F(0)}};
  EXPECT_EQ(Eval<float>(clipped.norm, large), 5);
  EXPECT_FLOAT_EQ(Eval<float>(clipped.values[0], large), 0.6f);
  EXPECT_EQ(Eval<float>(clipped.values[1], zero), 0);
}

int CountNodes(const Program& program, const std::string& op) {
  const auto count = [&op](const Function& function) {
    return static_cast<int>(std::count_if(function.nodes.begin(), function.nodes.end(),
                                          [&op](const Node& node) { return node.op_name == op; }));
  };
  int nodes = count(program.main());
  for (const auto& [name, function] : program.functions()) nodes += count(*function);
  return nodes;
}

TEST(GradientsInABody, KnowTheShapesOfItsArgumentsAndCaptures) {
  Graph graph;
  const GraphScope in(graph);
  const Value x = placeholder(DType::kFloat, PartialShape(Dims{8, 4}));
  const Value w = placeholder(DType::kFloat, PartialShape(Dims{4, 3}));
  const auto train = [&](Value, std::array<Value, 2> now) {
    const Value loss = reduce_mean(square(matmul(x, now[0]) + now[1]));
    const std::vector<Value> by = gradients({loss}, {now[0], now[1]});
    return std::array<Value, 2>{now[0] - 0.1f * by[0], now[1] - 0.1f * by[1]};
  };
  (void)for_range(3, train, std::array<Value, 2>{w, Vector(3)});
  const int sums = CountNodes(*graph.program(), "Sum");
  EXPECT_EQ(sums, 1);  // of the rows, for the vector that was added to each
  EXPECT_EQ(CountNodes(*graph.program(), "BroadcastGradientArgs"), 0);
  EXPECT_EQ(CountNodes(*graph.program(), "Shape"), 0);
}

TEST_P(Gradients, OfALoopThatSavesValuesOfManyShapes) {
  // Those of one shape are kept in one list.
  const Value x = Vector(5), w = Vector(5), s = Float();
  const auto body = [&](Value, std::array<Value, 2> now) {
    const auto& [v, t] = now;
    return std::array<Value, 2>{sin(v * w) * t, cos(t) * sin(t) * s};
  };
  const auto ends = for_range(4, body, std::array<Value, 2>{x, s});
  const std::vector<Value> by = gradients({reduce_sum(ends[0])}, {x, w, s});
  EXPECT_EQ(CountNodes(*graph.program(), "EmptyTensorList"), 2);
  EXPECT_GT(CountNodes(*graph.program(), "TensorListPushBack"), 2);
  const FeedList feeds = {
      {x, Vec({0.5f, -1, 0, 0, 0})}, {w, Vec({1.5f, 0.25f, 0, 0, 0})}, {s, F(0.75f)}};
  const auto run = [](double x, double w, double s) {
    double t = s;
    for (int iteration = 0; iteration < 4; ++iteration) {
      x = std::sin(x * w) * t;
      t = std::cos(t) * std::sin(t) * s;
    }
    return x;
  };
  constexpr double kStep = 1e-6;
  const auto slope = [&](double x, double w, double dx, double dw, double ds) {
    return (run(x + dx, w + dw, 0.75 + ds) - run(x - dx, w - dw, 0.75 - ds)) / (2 * kStep);
  };
  EXPECT_NEAR(EvalVector<float>(by[0], feeds)[0], slope(0.5, 1.5, kStep, 0, 0), 1e-6);
  EXPECT_NEAR(EvalVector<float>(by[1], feeds)[1], slope(-1, 0.25, 0, kStep, 0), 1e-6);
  EXPECT_NEAR(Eval<float>(by[2], feeds),
              slope(0.5, 1.5, 0, 0, kStep) + slope(-1, 0.25, 0, 0, kStep), 1e-6);
}

TEST(GradientErrors, NameTheReason) {
  Graph graph;
  const GraphScope in(graph);
  const Value x = Float(), z = Float();
  ExpectContains(ErrorOf([&] { (void)gradients({x * x}, {z}); }), "there is no gradient");
  ExpectContains(ErrorOf([&] { (void)gradients({floor(x)}, {x}); }), "Floor");
  ExpectContains(
      ErrorOf([&] { (void)gradients({x * x}, {x}, {.memory = MemoryPolicy::Recompute(0)}); }),
      "the number of a memory policy is at least 1: recompute(0)");
  EXPECT_FALSE(gradients({x * x}, {z}, {.unconnected = Unconnected::kNothing})[0].has_value());
  ExpectContains(ErrorOf([&] {
                   (void)custom_gradient(
                       x, [&](Value x) { return x * z; }, [](Value, Value dy) { return dy; });
                 }),
                 "uses 'Placeholder_1' of outside: hand it in as one of xs");
  ExpectContains(ErrorOf([&] {
                   (void)custom_gradient(
                       x, [](Value x) { return x; },
                       [](Value, Value dy) { return cast(dy, DType::kDouble); });
                 }),
                 "returns float64 [] for x 0, which is float32 []");
}

}  // namespace
}  // namespace gyre::testing
