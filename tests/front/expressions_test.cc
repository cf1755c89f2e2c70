// Expressions on Values: operators, literals, indexing, names, shapes, and errors with their lines.
#include "front/engines.h"

namespace gyre::testing {
namespace {

using Expressions = OnEngine;
GYRE_ON_EACH_ENGINE(Expressions);

TEST_P(Expressions, OperatorsComputeWhatTheyComputeInCpp) {
  const Value x = Int();
  const FeedList feeds = {{x, I(7)}};
  EXPECT_EQ(Eval<int32_t>((x + 3) * 2 - 1, feeds), 19);
  EXPECT_EQ(Eval<int32_t>(-x / 2, feeds), -3);
  EXPECT_EQ(Eval<int32_t>(-x % 4, feeds), -3);
  EXPECT_EQ(Eval<int32_t>(10 - x, feeds), 3);
  EXPECT_TRUE(Eval<bool>(x > 6 && !(x >= 8) && (x < 8 || x <= 0), feeds));
  EXPECT_TRUE(Eval<bool>(equal(x, 7) && not_equal(x, 8), feeds));
  EXPECT_EQ(Eval<int32_t>(where(x > 0, x, 0), feeds), 7);
}

TEST_P(Expressions, OpsAreThereUnderTheirPublicNames) {
  const Value x = Float();
  const FeedList feeds = {{x, F(-7)}};
  EXPECT_EQ(Eval<float>(floormod(x, 4), feeds), 1.0f);
  EXPECT_EQ(Eval<float>(divide_no_nan(x, 0), feeds), 0.0f);
  EXPECT_EQ(Eval<float>(relu6(negative(x)), feeds), 6.0f);
  EXPECT_EQ(Eval<float>(l2_loss(x), feeds), 24.5f);
}

// What Python has, too, and is more than an op.
TEST_P(Expressions, FunctionsAreThereUnderTheirPublicNames) {
  const Value x = constant({{0.0f, 1.0f}, {2.0f, 3.0f}});
  EXPECT_EQ(EvalVector<float>(xlogy(x, 0)),
            (std::vector<float>{0, -INFINITY, -INFINITY, -INFINITY}));
  EXPECT_FLOAT_EQ(Eval<float>(asinh(constant(1.0f))), 0.88137359f);
  EXPECT_EQ(EvalVector<float>(reduce_variance(x, 0)), (std::vector<float>{1, 1}));
  EXPECT_EQ(Eval<float>(reduce_variance(x)), 1.25f);
  EXPECT_FLOAT_EQ(Eval<float>(reduce_logsumexp(x)), 3.4401898f);
  EXPECT_EQ(EvalVector<float>(reduce_logsumexp(x - x, {1})),
            (std::vector<float>{std::log(2.0f), std::log(2.0f)}));
  EXPECT_EQ(EvalVector<float>(leaky_relu(-x, 0.5)), (std::vector<float>{0, -0.5f, -1, -1.5f}));
  EXPECT_EQ(EvalVector<float>(clip_by_value(x, 1, 2)), (std::vector<float>{1, 1, 2, 2}));
  const MomentsResult of_columns = moments(x, 0);
  EXPECT_EQ(EvalVector<float>(of_columns.mean), (std::vector<float>{1, 2}));
  EXPECT_EQ(EvalVector<float>(of_columns.variance), (std::vector<float>{1, 1}));
  EXPECT_EQ(EvalVector<int64_t>(argmax(x)), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(Eval<float>(mean_squared_error(x, x + 2)), 4.0f);
  EXPECT_FLOAT_EQ(Eval<double>(exponential_decay(0.5, Value(int64_t{20}), 10, 0.5)), 0.125);
  ExpectContains(ErrorOf([&] { softmax(x, 2); }), "axis 2 is out of range");
  ExpectContains(ErrorOf([&] { mean_squared_error(x, x, {}, "most"); }), "reduction must be");
}

TEST_P(Expressions, LiteralsTakeTheTypeOfWhatTheyMeet) {
  const Value x = Float();
  EXPECT_EQ((x + 1).dtype(), DType::kFloat);
  EXPECT_EQ((2.5 * x).dtype(), DType::kFloat);
  EXPECT_EQ(Eval<float>(x * 2 + 0.5, {{x, F(3)}}), 6.5f);
  EXPECT_EQ(Eval<double>(cast(x, DType::kDouble) / 3, {{x, F(1)}}), 1.0 / 3);
  EXPECT_EQ(EvalVector<float>(x * Tensor::Vector<int64_t>({1, 2}), {{x, F(3)}}),
            (std::vector<float>{3, 6}));
}

TEST_P(Expressions, LiteralsByThemselvesKeepTheirOwnType) {
  EXPECT_EQ(Value(1).dtype(), DType::kInt32);
  EXPECT_EQ(Value(1.0).dtype(), DType::kDouble);
  EXPECT_EQ(Value(1.0f).dtype(), DType::kFloat);
  EXPECT_EQ(Value(true).dtype(), DType::kBool);
  EXPECT_EQ(Value(size_t{1}).dtype(), DType::kUint64);
  EXPECT_EQ(EvalVector<int32_t>(constant({1, 2, 3})), (std::vector<int32_t>{1, 2, 3}));
  const Value matrix = constant({{1.0f, 2.0f}, {3.0f, 4.0f}});
  EXPECT_EQ(matrix.shape().ToString(), "[2,2]");
  EXPECT_EQ(EvalVector<float>(matmul(matrix, constant({{1.0f}, {1.0f}}))),
            (std::vector<float>{3, 7}));
}

TEST_P(Expressions, IndexingTakesRows) {
  const Value x = constant({{1, 2}, {3, 4}, {5, 6}});
  const Value i = Int();
  EXPECT_EQ(x[0].shape().ToString(), "[2]");
  EXPECT_EQ(EvalVector<int32_t>(x[1]), (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(EvalVector<int32_t>(x[-1]), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(EvalVector<int32_t>(x[i], {{i, I(2)}}), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(Eval<int32_t>(x[i][1], {{i, I(0)}}), 2);
  EXPECT_EQ(EvalVector<int32_t>(slice(x, {1, 0}, {2, 1})), (std::vector<int32_t>{3, 5}));
}

TEST_P(Expressions, MathUnderItsUsualNames) {
  const Value x = constant({{1.0f, 2.0f}, {3.0f, 4.0f}});
  EXPECT_EQ(Eval<float>(reduce_sum(x)), 10);
  EXPECT_EQ(EvalVector<float>(reduce_max(x, 0)), (std::vector<float>{3, 4}));
  EXPECT_EQ(EvalVector<float>(reduce_mean(x, {-1}, true)), (std::vector<float>{1.5, 3.5}));
  EXPECT_EQ(EvalVector<float>(transpose(x)), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(EvalVector<float>(concat({x, x}, 1)[0]), (std::vector<float>{1, 2, 1, 2}));
  EXPECT_EQ(EvalVector<float>(gather(x, {1, 1}, 1)), (std::vector<float>{2, 2, 4, 4}));
  EXPECT_EQ(EvalVector<float>(reshape(x, {4})), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(EvalVector<int32_t>(shape_of(x)), (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(EvalVector<float>(stack({x[0], x[1]}, 1)), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(EvalVector<float>(zeros({2}) + ones({2})), (std::vector<float>{1, 1}));
  EXPECT_EQ(EvalVector<int32_t>(range(0, 6, 2)), (std::vector<int32_t>{0, 2, 4}));
  EXPECT_EQ(Eval<float>(squeeze(split(x, 2, 0)[1])[0]), 3);
  const Value unknown = placeholder(DType::kFloat);
  EXPECT_EQ(Eval<float>(reduce_sum(unknown), {{unknown, Tensor::Vector<float>({1, 2})}}), 3);
}

TEST_P(Expressions, ShapesAreKnownWhileTheProgramIsBuilt) {
  const Value x = placeholder(DType::kFloat, {-1, 3});
  const Value y = placeholder(DType::kFloat, {3, 5});
  EXPECT_EQ(matmul(x, y).shape().ToString(), "[?,5]");
  EXPECT_EQ((x + 1).shape().ToString(), "[?,3]");
  EXPECT_EQ(placeholder(DType::kFloat).shape().ToString(), "?");
}

TEST_P(Expressions, NodesKnowTheirNamesAndLines) {
  const Value x = placeholder(DType::kFloat, {2}, "x");
  EXPECT_EQ(x.name(), "x");
  const auto layer = name_scope("layer");
  const Value y = identity(x, "y");
  const std::string line = Here(-1);
  EXPECT_EQ(y.name(), "layer/y");
  EXPECT_EQ(graph.program()->main().node(y.node()).source, line);
}

TEST_P(Expressions, ErrorsNameOpNodeShapesAndLine) {
  const Value a = placeholder(DType::kFloat, {2, 3});
  const Value b = placeholder(DType::kFloat, {4, 5});
  const std::string shapes = ErrorOf([&] { matmul(a, b); });
  ExpectContains(shapes, "at node 'MatMul' (MatMul of float32 [2,3], float32 [4,5])");
  ExpectContains(shapes, Here(-2));
  const std::string types = ErrorOf([&] { a + cast(b, DType::kInt32); });
  ExpectContains(types, "must be float32, not int32");
  ExpectContains(types, Here(-2));
  ExpectContains(ErrorOf([&] { a + "text"; }), "is no float32");
  ExpectContains(ErrorOf([&] { cast(a, DType::kInt32) * 0.5; }), "0.5 of float64 is no int32");
  ExpectContains(ErrorOf([&] { a + Value(); }), "an empty Value is used");
  // What could not be built has left nothing behind.
  EXPECT_EQ(EvalVector<float>(a[0], {{a, *Tensor::Zeros(DType::kFloat, *Shape::Make({2, 3}), {})}}),
            (std::vector<float>{0, 0, 0}));
}

TEST_P(Expressions, ValuesOfTwoGraphsDoNotMix) {
  const Value mine = constant(1.0f);
  Graph other;
  const Value theirs = other.constant(Tensor::Scalar(1.0f));
  const std::string message = ErrorOf([&] { mine + theirs; });
  ExpectContains(message, "'Const' was made in the main graph");
  ExpectContains(message, "of another graph");
  ExpectContains(message, Here(-3));
}

TEST(Graphs, WithoutACurrentGraphConstantsSayWhatIsMissing) {
  ExpectContains(ErrorOf([] { constant(1.0f); }), "no graph is current: make a gyre::GraphScope");
  Value orphan;
  {
    Graph graph;
    orphan = graph.constant(Tensor::Scalar(1.0f));
  }
  ExpectContains(ErrorOf([&] { orphan + 1; }), "does not exist any more");
}

}  // namespace
}  // namespace gyre::testing
