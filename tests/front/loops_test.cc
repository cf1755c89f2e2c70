// while_loop and for_range.
#include "front/engines.h"

namespace gyre::testing {
namespace {

using Loops = OnEngine;
GYRE_ON_EACH_ENGINE(Loops);

TEST_P(Loops, RunAsLongAsTheConditionHolds) {
  const Value n = Int();
  auto [i, sum] = while_loop([&](Value i, Value) { return i < n; },
                             [](Value i, Value sum) { return std::tuple(i + 1, sum + i); }, 0, 0);
  EXPECT_EQ(Eval<int32_t>(sum, {{n, I(5)}}), 10);
  EXPECT_EQ(Eval<int32_t>(sum, {{n, I(0)}}), 0);  // zero iterations
  EXPECT_EQ(Eval<int32_t>(i, {{n, I(-1)}}), 0);
}

TEST_P(Loops, AStateOfOneValue) {
  const Value x = Float();
  const Value y = while_loop([](Value x) { return x < 100; }, [](Value x) { return x * 2; }, x);
  EXPECT_EQ(Eval<float>(y, {{x, F(3)}}), 192);
}

struct Particle {
  Value position;
  Value speed;
  std::vector<Value> trail;
};

TEST_P(Loops, AStateThatIsAStruct) {
  const Value start = Float();
  const Particle last =
      while_loop([](const Particle& p) { return p.position < 10; },
                 [](const Particle& p) {
                   return Particle{p.position + p.speed, p.speed * 2, {p.trail[1], p.position}};
                 },
                 Particle{start, 1.0f, {0.0f, 0.0f}});
  EXPECT_EQ(Eval<float>(last.position, {{start, F(0)}}), 15);
  EXPECT_EQ(Eval<float>(last.trail[0], {{start, F(0)}}), 3);
  EXPECT_EQ(Eval<float>(last.trail[1], {{start, F(0)}}), 7);
}

struct Twelve {
  Value a, b, c, d, e, f, g, h, i, j, k, l;
};

TEST_P(Loops, AStructMayHaveTwelveMembers) {
  const Twelve start{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Twelve turned = for_range(
      3,
      [](Value, const Twelve& s) {
        return Twelve{s.b, s.c, s.d, s.e, s.f, s.g, s.h, s.i, s.j, s.k, s.l, s.a};
      },
      start);
  EXPECT_EQ(Eval<int32_t>(turned.a), 3);
  EXPECT_EQ(Eval<int32_t>(turned.l), 2);
}

TEST_P(Loops, TuplesPairsAndArraysComeInParts) {
  const std::array<Value, 2> fib = while_loop(
      [](Value a, Value) { return a < 50; },
      [](Value a, Value b) { return std::array<Value, 2>{b, a + b}; }, std::array<Value, 2>{0, 1});
  EXPECT_EQ(Eval<int32_t>(fib[0]), 55);
  const auto pair = for_range(
      4, [](Value i, Value a, Value b) { return std::pair(a + i, b * 2); }, std::pair(0, 1));
  EXPECT_EQ(Eval<int32_t>(pair.first), 6);
  EXPECT_EQ(Eval<int32_t>(pair.second), 16);
}

TEST_P(Loops, ForRangeCountsUpAndDownAndByValues) {
  const auto sum = [](Value i, Value s) { return s * 10 + i; };
  EXPECT_EQ(Eval<int32_t>(for_range(4, sum, 0)), 123);
  EXPECT_EQ(Eval<int32_t>(for_range({2, 5}, sum, 0)), 234);
  EXPECT_EQ(Eval<int32_t>(for_range({5, 0, -2}, sum, 0)), 531);
  const Value limit = Int(), step = Int();
  const Value by_values = for_range({1, limit, step}, sum, 0);
  EXPECT_EQ(Eval<int32_t>(by_values, {{limit, I(6)}, {step, I(2)}}), 135);
  EXPECT_EQ(Eval<int32_t>(by_values, {{limit, I(-3)}, {step, I(-2)}}), 9);  // 1, -1
  const Value wide = Scalar(DType::kInt64);
  const Value count = for_range(wide, [](Value i, Value) { return i; }, Value(int64_t{0}));
  EXPECT_EQ(Eval<int64_t>(count, {{wide, Tensor::Scalar<int64_t>(3)}}), 2);
  ExpectContains(ErrorOf([&] { for_range({0, 5, 0}, sum, 0); }), "must be a number other than 0");
}

TEST_P(Loops, CapturesReachThroughNestedLoops) {
  const Value n = Int(), w = Float();
  const Value bias = constant(0.5f);
  const Value total = for_range(
      n,
      [&](Value i, Value outer) {
        const Value row = cast(i, DType::kFloat) * w;
        return for_range(
            n,
            [&](Value j, Value inner) { return inner + row * w + cast(j, DType::kFloat) + bias; },
            outer);
      },
      0.0f);
  float want = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      want += static_cast<float>(i) * 2 * 2 + static_cast<float>(j) + 0.5f;
  EXPECT_EQ(Eval<float>(total, {{n, I(3)}, {w, F(2)}}), want);
}

TEST_P(Loops, EachCaptureIsOneInput) {
  const Value w = Float();
  const Value y = while_loop([&](Value x) { return x < w; },
                             [&](Value x) { return x + w * w + constant(1.0f); }, 0.0f);
  const Node& node = graph.program()->main().node(y.node());
  EXPECT_EQ(node.op_name, "StatelessWhile");
  EXPECT_EQ(node.inputs.size(), 2u);  // the state and w; constants are copied
  EXPECT_EQ(node.source, Here(-5));
}

TEST_P(Loops, ShapesThatChangeAreWidened) {
  const Value n = Int();
  const Value grown = for_range(
      n, [](Value i, Value x) { return concat({x, reshape(i, {1})}, 0); }, constant({7, 8}));
  EXPECT_EQ(grown.shape().ToString(), "[?]");
  EXPECT_EQ(EvalVector<int32_t>(grown, {{n, I(3)}}), (std::vector<int32_t>{7, 8, 0, 1, 2}));
  EXPECT_EQ(EvalVector<int32_t>(grown, {{n, I(0)}}), (std::vector<int32_t>{7, 8}));
  // In the body, too, the shape is what it is in all iterations.
  for_range(
      n,
      [](Value, Value x) {
        const Value y = concat({x, x}, 0);
        return y;
      },
      ones({1}));
}

TEST_P(Loops, ShapeInvariantsAreChecked) {
  const Value x = placeholder(DType::kFloat, {2, 3});
  const auto twice = [](Value, Value x) { return concat({x, x}, 0); };
  const Value y = for_range(2, twice, x, {.shape_invariants = {PartialShape(Dims{-1, 3})}});
  EXPECT_EQ(y.shape().ToString(), "[?,3]");
  const std::string message =
      ErrorOf([&] { for_range(2, twice, x, {.shape_invariants = {x.shape()}}); });
  ExpectContains(message,
                 "the value of the state is to have shape [2,3], as its shape_invariants say, but "
                 "the body returns [4,3]");
}

TEST_P(Loops, MaximumIterationsEndALoop) {
  const Value n = Int();
  const LoopOptions options = {.maximum_iterations = 3};
  const Value y =
      while_loop([&](Value i) { return i < n; }, [](Value i) { return i + 1; }, 0, options);
  EXPECT_EQ(Eval<int32_t>(y, {{n, I(100)}}), 3);
  EXPECT_EQ(Eval<int32_t>(y, {{n, I(2)}}), 2);
}

TEST_P(Loops, OptionsBecomeAttributes) {
  const Value y =
      while_loop([](Value i) { return i < 5; }, [](Value i) { return i + 1; }, 0,
                 {.name = "count", .window = 3, .memory = MemoryPolicy::Checkpoint(4096)});
  const Node& node = graph.program()->main().node(y.node());
  EXPECT_EQ(node.name, "count");
  EXPECT_EQ(*node.attrs.Get<int64_t>("parallel_iterations"), 3);
  EXPECT_EQ(*node.attrs.Get<std::string>("_gyre_memory"), "checkpoint(4096)");
  ExpectContains(ErrorOf([&] {
                   while_loop([](Value i) { return i < 5; }, [](Value i) { return i + 1; }, 0,
                              {.memory = MemoryPolicy::Recompute(0)});
                 }),
                 "loop 'while': the number of a memory policy is at least 1: recompute(0)");
}

TEST_P(Loops, ABodyThatReturnsSomethingElseIsAnError) {
  const Value x = Float();
  const std::string line = Here(3);
  const std::string types = ErrorOf([&] {
    while_loop([](Value i, Value) { return i < 3; },
               [](Value i, Value x) { return std::tuple(i + 1, cast(x, DType::kInt32)); }, 0, x);
  });
  ExpectContains(types,
                 "loop 'while': component '1' of the state is float32, but the body returns "
                 "int32, made at " +
                     line);
  const std::string sizes = ErrorOf([&] {
    while_loop([](std::vector<Value>) { return true; },
               [](std::vector<Value> v) { return std::vector<Value>{v[0]}; },
               std::vector<Value>{x, x});
  });
  ExpectContains(sizes, "must return as many values as the state has, 2, not 1");
  ExpectContains(
      ErrorOf([&] { while_loop([](Value x) { return x; }, [](Value x) { return x; }, x); }),
      "must return a bool, not float32");
}

TEST_P(Loops, ErrorsInABodyNameTheLoop) {
  const Value x = placeholder(DType::kFloat, {2, 3});
  const auto square = [](Value, Value x) { return matmul(x, x); };
  const std::string message = ErrorOf([&] { for_range(3, square, x); });
  ExpectContains(message, "in the body of loop 'for' at " + Here(-1));
  ExpectContains(message, "\n  at " + Here(-3));
  // The graph is as it was before the loop, and can be built on.
  const Value y = for_range(3, [](Value, Value s) { return s + 1; }, 0);
  EXPECT_EQ(Eval<int32_t>(y), 3);
}

TEST_P(Loops, AValueOfABodyIsOfNoUseOutside) {
  Value leaked;
  const std::string made = Here(1);
  for_range(
      3,
      [&](Value i, Value s) {
        leaked = i * 2;
        return s + leaked;
      },
      0);
  const std::string message = ErrorOf([&] { leaked + 1; });
  ExpectContains(message, "'Mul' was made in the body of loop 'for' at " + made);
  ExpectContains(message, "cannot be used in the main graph");
  ExpectContains(message, Here(-3));
}

Value Nest(int depth, const Value& w) {
  if (depth == 0) return w + 1;
  return cond(
      w < 1000,
      [&] { return for_range(1, [&](Value, Value x) { return x + Nest(depth - 1, w); }, w); },
      [&] { return w; });
}

TEST_P(Loops, AHundredConstructsDeep) {
  const Value w = Float();
  EXPECT_EQ(Eval<float>(Nest(50, w), {{w, F(1)}}), 52);
}

TEST_P(Loops, DeepNestsOfGrowingStatesAreBuiltInReasonableTime) {
  int calls = 0;
  const std::function<Value(int, Value)> grow = [&](int depth, const Value& x) -> Value {
    ++calls;
    if (depth == 0) return concat({x, x}, 0);
    return for_range(1, [&](Value, Value y) { return grow(depth - 1, y); }, x);
  };
  EXPECT_EQ(EvalVector<float>(grow(12, ones({1}))).size(), 2u);
  EXPECT_LT(calls, 200);
}

}  // namespace
}  // namespace gyre::testing
