// function and declare: calls, captures, recursion.
#include "front/engines.h"

namespace gyre::testing {
namespace {

using Functions = OnEngine;
GYRE_ON_EACH_ENGINE(Functions);

TEST_P(Functions, AreTracedOncePerSignature) {
  int traces = 0;
  const auto twice = function("twice", [&](Value x) { return ++traces, x + x; });
  const Value x = Float();
  const Value y = twice(twice(x));
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(graph.program()->main().node(y.node()).op_name, "PartitionedCall");
  EXPECT_EQ(Eval<float>(y, {{x, F(3)}}), 12);
  EXPECT_EQ(twice(placeholder(DType::kFloat, {2})).shape().ToString(), "[2]");
  EXPECT_EQ(traces, 2);
  EXPECT_EQ(Eval<int32_t>(twice(4)), 8);
  EXPECT_EQ(traces, 3);
}

TEST_P(Functions, TakeAndReturnStructures) {
  const auto swap = function("swap", [](std::pair<Value, Value> p, Value k) {
    return std::tuple(p.second * k, p.first * k);
  });
  const auto [a, b] = swap({1, 2}, 10);
  EXPECT_EQ(Eval<int32_t>(a), 20);
  EXPECT_EQ(Eval<int32_t>(b), 10);
  const auto generic = function<Value(Value)>("generic", [](auto x) { return x + 1; });
  EXPECT_EQ(Eval<int32_t>(generic(1)), 2);
}

TEST_P(Functions, UseValuesOfWhereTheyWereMade) {
  const Value w = Float();
  const auto scale = function("scale", [&](Value x) { return x * w; });
  const Value y = for_range(3, [&](Value, Value x) { return scale(x); }, 1.0f);
  EXPECT_EQ(Eval<float>(y, {{w, F(2)}}), 8);
  EXPECT_EQ(Eval<float>(scale(5.0f), {{w, F(2)}}), 10);
}

TEST_P(Functions, MayBeMadeInABody) {
  const Value n = Int();
  const Value y = for_range(
      n,
      [](Value i, Value s) {
        const auto add_i = function("add_i", [&](Value x) { return x + i; });
        return add_i(add_i(s));
      },
      0);
  EXPECT_EQ(Eval<int32_t>(y, {{n, I(4)}}), 12);
}

TEST_P(Functions, AFunctionOfABodyIsOfNoUseOutside) {
  std::optional<GraphFunction<Value(Value)>> leaked;
  for_range(2, [&](Value i) {
    leaked = function("leaked", std::function([i](Value x) { return x + i; }));
    (*leaked)(1);
  });
  ExpectContains(ErrorOf([&] { (*leaked)(1); }), "was made in the body of loop 'for'");
}

TEST_P(Functions, Fibonacci) {
  const TensorSpec scalar = {DType::kInt32, PartialShape::Scalar()};
  auto fib = declare<Value(Value)>("fib", {scalar}, {scalar});
  fib.define([&](Value n) {
    return cond(n < 2, [&] { return n; }, [&] { return fib(n - 1) + fib(n - 2); });
  });
  const Value n = Int();
  EXPECT_EQ(Eval<int32_t>(fib(n), {{n, I(12)}}), 144);
  EXPECT_EQ(Eval<int32_t>(fib(7)), 13);
  const auto program = graph.program();
  for (const Node& node : program->FindFunction("fib")->nodes)
    EXPECT_NE(node.op_name, "StatefulPartitionedCall");
}

TEST_P(Functions, SumOverATree) {
  // A complete binary tree in an array: the children of i are 2i + 1 and 2i + 2.
  const Value tree = placeholder(DType::kFloat, {-1});
  const TensorSpec index = {DType::kInt32, PartialShape::Scalar()};
  const TensorSpec result = {DType::kFloat, PartialShape::Scalar()};
  auto sum = declare<Value(Value)>("tree_sum", {index}, {result});
  sum.define([&](Value i) {
    return cond(
        i < size_of(tree), [&] { return tree[i] + sum(2 * i + 1) + sum(2 * i + 2); },
        [] { return 0.0f; });
  });
  const Tensor nodes = Tensor::Vector<float>({1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(Eval<float>(sum(0), {{tree, nodes}}), 28);
  EXPECT_EQ(Eval<float>(sum(1), {{tree, nodes}}), 11);
}

TEST_P(Functions, ARecursiveFunctionMayHaveEffects) {
  const TensorSpec scalar = {DType::kInt32, PartialShape::Scalar()};
  auto count_down = declare<void(Value)>("count_down", {scalar}, {});
  count_down.define([&](Value n) {
    cond(
        n > 0,
        [&] {
          print("{}", n);
          count_down(n - 1);
        },
        [] {});
  });
  count_down(3);
  print("go");
  EXPECT_EQ(Printed(), "3\n2\n1\ngo\n");
}

TEST_P(Functions, MayCallEachOther) {
  const TensorSpec number = {DType::kInt32, PartialShape::Scalar()};
  const TensorSpec answer = {DType::kBool, PartialShape::Scalar()};
  auto even = declare<Value(Value)>("even", {number}, {answer});
  auto odd = declare<Value(Value)>("odd", {number}, {answer});
  even.define(
      [&](Value n) { return cond(equal(n, 0), [] { return true; }, [&] { return odd(n - 1); }); });
  odd.define([&](Value n) {
    return cond(equal(n, 0), [] { return false; }, [&] { return even(n - 1); });
  });
  EXPECT_TRUE(Eval<bool>(even(10)));
  EXPECT_FALSE(Eval<bool>(odd(10)));
}

TEST_P(Functions, ErrorsOfDeclarations) {
  const TensorSpec scalar = {DType::kInt32, PartialShape::Scalar()};
  auto f = declare<Value(Value)>("f", {scalar}, {scalar});
  ExpectContains(ErrorOf([&] { f(constant({1, 2})); }),
                 "function 'f' takes int32 [] as component '0', but is given int32 [2]");
  const std::string wrong =
      ErrorOf([&] { f.define([](Value n) { return cast(n, DType::kFloat); }); });
  ExpectContains(
      wrong, "function 'f' is declared to return int32 [] as the value, but returns float32 []");
  ExpectContains(wrong, "made at " + std::string(__FILE__));
  std::optional<GraphFunction<Value(Value)>> endless;
  endless = function("endless", std::function([&](Value x) { return (*endless)(x + 1); }));
  ExpectContains(ErrorOf([&] { (*endless)(1); }), "calls itself: declare it");
}

}  // namespace
}  // namespace gyre::testing
