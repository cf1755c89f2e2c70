// map_fn, scan, foldl and foldr; lists.
#include "front/engines.h"

namespace gyre::testing {
namespace {

using Iteration = OnEngine;
GYRE_ON_EACH_ENGINE(Iteration);

TEST_P(Iteration, MapAppliesAFunctionToEachRow) {
  const Value x = placeholder(DType::kFloat, {-1, 2});
  const Value sums = map_fn([](Value row) { return reduce_sum(row); }, x);
  EXPECT_EQ(sums.shape().ToString(), "[?]");
  const Tensor rows = Tensor::FromValues<float>({1, 2, 3, 4, 5, 6}, *Shape::Make({3, 2}));
  EXPECT_EQ(EvalVector<float>(sums, {{x, rows}}), (std::vector<float>{3, 7, 11}));
  const Tensor none = Tensor::FromValues<float>({}, *Shape::Make({0, 2}));
  EXPECT_EQ(EvalTensor(sums, {{x, none}}).shape(), *Shape::Make({0}));
}

TEST_P(Iteration, MapOverSeveralGivesSeveral) {
  const Value x = constant({1, 2, 3}), y = constant({{1.0f, 1.0f}, {2.0f, 2.0f}, {3.0f, 3.0f}});
  const auto [negated, scaled] =
      map_fn([](Value i, Value row) { return std::tuple(-i, row * cast(i, DType::kFloat)); },
             std::tuple(x, y));
  EXPECT_EQ(scaled.shape().ToString(), "[3,2]");
  EXPECT_EQ(EvalVector<int32_t>(negated), (std::vector<int32_t>{-1, -2, -3}));
  EXPECT_EQ(EvalVector<float>(scaled), (std::vector<float>{1, 1, 4, 4, 9, 9}));
}

TEST_P(Iteration, MapMayCaptureAndNest) {
  const Value x = constant({{1, 2}, {3, 4}}), k = Int();
  const Value y =
      map_fn([&](Value row) { return map_fn([&](Value e) { return e * k + row[0]; }, row); }, x);
  EXPECT_EQ(EvalVector<int32_t>(y, {{k, I(10)}}), (std::vector<int32_t>{11, 21, 33, 43}));
}

TEST_P(Iteration, FoldsGoFromEitherEnd) {
  const Value x = constant({1, 2, 3});
  const auto digits = [](Value acc, Value e) { return acc * 10 + e; };
  EXPECT_EQ(Eval<int32_t>(foldl(digits, x, 0)), 123);
  EXPECT_EQ(Eval<int32_t>(foldr(digits, x, 0)), 321);
}

TEST_P(Iteration, ScanKeepsEveryState) {
  const Value x = constant({1, 2, 3, 4});
  const Value sums = scan([](Value acc, Value e) { return acc + e; }, x, 0);
  EXPECT_EQ(sums.shape().ToString(), "[4]");
  EXPECT_EQ(EvalVector<int32_t>(sums), (std::vector<int32_t>{1, 3, 6, 10}));
  const Value back = scan([](Value acc, Value e) { return acc + e; }, x, 0, {.reverse = true});
  EXPECT_EQ(EvalVector<int32_t>(back), (std::vector<int32_t>{10, 9, 7, 4}));
  const auto [a, b] = scan(
      [](const std::tuple<Value, Value>& state, Value e) {
        const auto& [a, b] = state;
        return std::tuple(b, a + e);
      },
      x, std::tuple(0, 1));
  EXPECT_EQ(EvalVector<int32_t>(a), (std::vector<int32_t>{1, 1, 3, 4}));
  EXPECT_EQ(EvalVector<int32_t>(b), (std::vector<int32_t>{1, 3, 4, 7}));
}

TEST_P(Iteration, ARowNeedsAnAxis) {
  ExpectContains(ErrorOf([] { map_fn([](Value x) { return x; }, 1.0f); }), "no rows");
}

TEST_P(Iteration, EffectsOfAMappedFunctionHappenOncePerRow) {
  map_fn([](Value e) { return print("row {}", e), e; }, constant({7, 8}));
  EXPECT_EQ(Printed(), "row 7\nrow 8\n");
}

TEST_P(Iteration, ListsAreValues) {
  const List none = List::empty(DType::kFloat, PartialShape::Scalar());
  const List one = none.push_back(1.0f);
  const List two = one.push_back(2.0f);
  EXPECT_EQ(Eval<int32_t>(none.size()), 0);
  EXPECT_EQ(EvalVector<float>(two.stack()), (std::vector<float>{1, 2}));
  const auto [rest, last] = two.pop_back();
  EXPECT_EQ(Eval<float>(last), 2);
  EXPECT_EQ(EvalVector<float>(rest.stack()), (std::vector<float>{1}));
  EXPECT_EQ(EvalVector<float>(two.set(0, 9.0f).stack()), (std::vector<float>{9, 2}));
  EXPECT_EQ(EvalVector<float>(two.gather({1, 1, 0})), (std::vector<float>{2, 2, 1}));
  const List rows = List::from_rows(constant({{1, 2}, {3, 4}}));
  EXPECT_EQ(EvalVector<int32_t>(rows[1]), (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(EvalVector<int32_t>(rows.concat()), (std::vector<int32_t>{1, 2, 3, 4}));
}

struct Walk {
  Value at;
  List steps;
};

TEST_P(Iteration, AListMayBeTheStateOfALoop) {
  const Value start = Int();
  const Walk walk =
      while_loop([](const Walk& w) { return w.at > 1; },
                 [](const Walk& w) {
                   const Value next = cond(
                       equal(w.at % 2, 0), [&] { return w.at / 2; }, [&] { return w.at * 3 + 1; });
                   return Walk{next, w.steps.push_back(w.at)};
                 },
                 Walk{start, List::empty(DType::kInt32, PartialShape::Scalar())});
  EXPECT_EQ(EvalVector<int32_t>(walk.steps.stack(), {{start, I(6)}}),
            (std::vector<int32_t>{6, 3, 10, 5, 16, 8, 4, 2}));
  const TensorArray squares = for_range(
      4, [](Value i, TensorArray array) { return array.set(i, i * i); },
      TensorArray::reserve(4, DType::kInt32, PartialShape::Scalar()));
  EXPECT_EQ(EvalVector<int32_t>(squares.stack()), (std::vector<int32_t>{0, 1, 4, 9}));
}

}  // namespace
}  // namespace gyre::testing
