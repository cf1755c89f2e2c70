// cond, switch_case and case_.
#include "front/engines.h"

namespace gyre::testing {
namespace {

using Branches = OnEngine;
GYRE_ON_EACH_ENGINE(Branches);

TEST_P(Branches, CondRunsOneOfItsBranches) {
  const Value x = Float();
  const Value y = cond(x < 0, [&] { return -x; }, [&] { return sqrt(x); });
  EXPECT_EQ(Eval<float>(y, {{x, F(-2)}}), 2);
  EXPECT_EQ(Eval<float>(y, {{x, F(9)}}), 3);
}

TEST_P(Branches, ABranchMayReturnAnOuterValueOrALiteral) {
  const Value x = Float();
  const Value y = cond(x > 0, [&] { return x; }, [] { return 0.0f; });
  EXPECT_EQ(Eval<float>(y, {{x, F(5)}}), 5);
  EXPECT_EQ(Eval<float>(y, {{x, F(-5)}}), 0);
}

struct Pair {
  Value sum;
  std::array<Value, 2> parts;
};

TEST_P(Branches, StructuresComeOutAsTheyAre) {
  const Value x = Float();
  const Pair pair =
      cond(x > 0, [&] { return Pair{x + 1, {x, x * 2}}; }, [&] { return Pair{x, {-x, -x}}; });
  EXPECT_EQ(Eval<float>(pair.parts[1], {{x, F(3)}}), 6);
  EXPECT_EQ(Eval<float>(pair.parts[1], {{x, F(-3)}}), 3);
  auto [a, b] =
      cond(x > 0, [&] { return std::tuple(x, x > 1); }, [&] { return std::tuple(-x, x < 1); });
  EXPECT_TRUE(Eval<bool>(b, {{x, F(-3)}}));
  EXPECT_EQ(Eval<float>(a, {{x, F(-3)}}), 3);
}

TEST_P(Branches, ShapesMayDiffer) {
  const Value x = placeholder(DType::kFloat, {2});
  const Value y = cond(x[0] > 0, [&] { return x; }, [&] { return concat({x, x}, 0); });
  EXPECT_EQ(y.shape().ToString(), "[?]");
  EXPECT_EQ(EvalVector<float>(y, {{x, Tensor::Vector<float>({-1, 2})}}).size(), 4u);
}

TEST_P(Branches, NestedCondsCaptureThroughAllOfThem) {
  const Value x = Float(), y = Float();
  const Value z = cond(
      x > 0, [&] { return cond(y > 0, [&] { return x + y; }, [&] { return x - y; }); },
      [&] { return cond(y > 0, [&] { return y * 10; }, [&] { return x * 10; }); });
  EXPECT_EQ(Eval<float>(z, {{x, F(1)}, {y, F(2)}}), 3);
  EXPECT_EQ(Eval<float>(z, {{x, F(1)}, {y, F(-2)}}), 3);
  EXPECT_EQ(Eval<float>(z, {{x, F(-1)}, {y, F(2)}}), 20);
  EXPECT_EQ(Eval<float>(z, {{x, F(-1)}, {y, F(-2)}}), -10);
}

TEST_P(Branches, SwitchCaseTakesABranchByNumber) {
  const Value i = Int(), x = Float();
  const Value y = switch_case(i, {[&] { return x; }, [&] { return x * 2; }, [&] { return x * 3; }});
  const Value z = switch_case(i, {[&] { return x; }, [&] { return x * 2; }}, [&] { return -x; });
  for (const auto& [index, last, otherwise] :
       {std::tuple(0, 5, 5), {1, 10, 10}, {2, 15, -5}, {7, 15, -5}, {-1, 15, -5}}) {
    const FeedList feeds = {{i, I(index)}, {x, F(5)}};
    EXPECT_EQ(Eval<float>(y, feeds), last) << index;
    EXPECT_EQ(Eval<float>(z, feeds), otherwise) << index;
  }
}

TEST_P(Branches, CaseTakesTheFirstThatHolds) {
  const Value x = Int();
  const Value y = case_({{x < 0, [] { return 1; }}, {x < 10, [] { return 2; }}}, [] { return 3; });
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(-5)}}), 1);
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(5)}}), 2);
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(50)}}), 3);
}

TEST_P(Branches, BranchesWithoutResultsRunForTheirEffects) {
  const Value x = Int();
  cond(x > 0, [&] { print("positive {}", x); }, [] {});
  switch_case<void>(x, {[] { print("zero"); }, [] { print("one"); }, [] { print("many"); }});
  EXPECT_EQ(Printed({{x, I(1)}}), "positive 1\none\n");
  EXPECT_EQ(Printed({{x, I(0)}}), "zero\n");
}

TEST_P(Branches, WhatIsNotTakenCannotFail) {
  const Value x = Int();
  const Value y = cond(
      x > 0, [&] { return 100 / x; },
      [&] {
        assert_that(x > -5, "far too small:", x);
        return x;
      });
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(4)}}), 25);
  EXPECT_EQ(Eval<int32_t>(y, {{x, I(0)}}), 0);
  ExpectContains(ErrorOf([&] { Eval<int32_t>(y, {{x, I(-9)}}); }), "far too small");
}

TEST_P(Branches, PureBranchesMakeStatelessNodes) {
  const Value x = Float();
  const auto op_of = [&](const Value& value) {
    return graph.program()->main().node(value.node()).op_name;
  };
  const Value pure = cond(x > 0, [&] { return x; }, [&] { return -x; });
  const Value loud = cond(x > 0, [&] { return print("loud"), x; }, [&] { return -x; });
  EXPECT_EQ(op_of(pure), "StatelessIf");
  EXPECT_EQ(op_of(loud), "If");
}

TEST_P(Branches, ErrorsSayWhereTheBranchesDiffer) {
  const Value x = Float();
  const std::string types = ErrorOf([&] {
    cond(x > 0, [&] { return std::tuple(x, x); }, [&] { return std::tuple(x, Value(1)); });
  });
  ExpectContains(types, "branch 'then' of cond 'cond' and branch 'else' of cond 'cond'");
  ExpectContains(types, "component '1' is float32 in one");
  ExpectContains(types, absl::StrCat("and int32 in the other, made at ", Here(-4)));
  ExpectContains(ErrorOf([&] { cond(x, [] {}, [] {}); }),
                 "the predicate of cond 'cond' must be bool, not float32");
  const Value vector = placeholder(DType::kBool, {3});
  ExpectContains(ErrorOf([&] { cond(vector, [] {}, [] {}); }),
                 "must be a scalar, not of shape [3]");
}

TEST_P(Branches, AValueOfABranchIsOfNoUseOutside) {
  const Value x = Float();
  Value leaked;
  const std::string made = Here(1);
  cond(x > 0, [&] { leaked = x * 2; }, [] {});
  const std::string message = ErrorOf([&] { leaked + 1; });
  ExpectContains(message, "'Mul' was made in branch 'then' of cond 'cond' at " + made);
  ExpectContains(message, "at " + made + ", and cannot be used in the main graph");
  ExpectContains(message, Here(-3));
  const std::string other = ErrorOf([&] { cond(x > 0, [] {}, [&] { leaked + 1; }); });
  ExpectContains(other, "cannot be used in branch 'else' of cond 'cond' at " + Here(-1));
}

}  // namespace
}  // namespace gyre::testing
