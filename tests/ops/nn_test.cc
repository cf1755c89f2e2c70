// Softmax, losses, rectifiers and biases. Numbers without another source were computed by
// TensorFlow 2.21.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

template <typename T>
Tensor Matrix(int64_t rows, int64_t columns, std::vector<T> values) {
  return Tensor::FromValues<T>(values, ShapeOf({rows, columns}));
}

TEST(Softmax, IsExpOverSum) {
  for (const int64_t n : {1, 2, 7, 511, 512, 513, 2000}) {
    std::vector<double> x(2 * n);
    for (int64_t i = 0; i < 2 * n; ++i) x[i] = std::sin(static_cast<double>(i)) * 3;
    const Tensor logits = Tensor::FromValues<double>(x, ShapeOf({2, n}));
    const std::vector<double> softmax = Values<double>(Eval("Softmax", {logits}));
    const std::vector<double> log_softmax = Values<double>(Eval("LogSoftmax", {logits}));
    for (int64_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += std::exp(x[row * n + j]);
      for (int64_t j = 0; j < n; ++j) {
        const double want = std::exp(x[row * n + j]) / sum;
        ASSERT_NEAR(softmax[row * n + j], want, 1e-14);
        ASSERT_NEAR(log_softmax[row * n + j], std::log(want), 1e-12);
      }
    }
  }
}

TEST(Softmax, SurvivesLargeLogits) {
  EXPECT_EQ(Values<float>(Eval("Softmax", {Tensor::Vector<float>({1000, 1000})})),
            (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(Values<float>(Eval("LogSoftmax", {Tensor::Vector<float>({-kInf, 1})})),
            (std::vector<float>{-kInf, 0}));
  EXPECT_TRUE(std::isnan(Values<float>(Eval("Softmax", {Tensor::Vector<float>({kNan, 1})}))[0]));
}

TEST(Softmax, SmallFloatsAndShapes) {
  const std::vector<Half> half =
      Values<Half>(Eval("Softmax", {Tensor::Vector<Half>({Half(0), Half(0)})}));
  EXPECT_EQ(static_cast<float>(half[1]), 0.5f);
  EXPECT_EQ(Eval("Softmax", {Tensor::FromValues<float>({}, ShapeOf({2, 0}))}).shape(),
            ShapeOf({2, 0}));
  EXPECT_TRUE(absl::IsInvalidArgument(EvalError("Softmax", {Tensor::Scalar(1.0f)})));
}

std::vector<Tensor> CrossEntropy(const Tensor& features, const Tensor& labels) {
  return *EvaluateOp("SoftmaxCrossEntropyWithLogits", {features, labels});
}

TEST(CrossEntropy, LossAndGradient) {
  const std::vector<Tensor> out =
      CrossEntropy(Matrix<float>(1, 2, {1, 2}), Matrix<float>(3, 2, {0, 1, 1, 0, .5f, .5f}));
  EXPECT_THAT(Values<float>(out[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-6f),
                                   std::vector<float>{0.31326166f, 1.3132616f, 0.8132616f}));
  EXPECT_THAT(Values<float>(out[1]),
              ::testing::Pointwise(::testing::FloatNear(1e-6f),
                                   std::vector<float>{0.26894143f, -0.2689414f, -0.7310586f,
                                                      0.7310586f, -0.23105857f, 0.2310586f}));
}

TEST(CrossEntropy, BroadcastsLabelsOverClasses) {
  const std::vector<Tensor> out =
      CrossEntropy(Matrix<double>(2, 2, {0, 0, 1, 1}), Matrix<double>(2, 1, {1, 2}));
  EXPECT_NEAR(Values<double>(out[0])[0], 2 * std::log(2.0), 1e-15);
  EXPECT_NEAR(Values<double>(out[0])[1], 4 * std::log(2.0), 1e-15);
  EXPECT_EQ(Values<double>(out[1]), (std::vector<double>{-0.5, -0.5, -1.5, -1.5}));
}

TEST(CrossEntropy, EmptyClassesAndBadShapes) {
  const std::vector<Tensor> out = CrossEntropy(Matrix<float>(2, 0, {}), Matrix<float>(2, 0, {}));
  EXPECT_EQ(Values<float>(out[0]), (std::vector<float>{0, 0}));
  EXPECT_THAT(Message(EvalError("SoftmaxCrossEntropyWithLogits",
                                {Tensor::Vector<float>({1}), Tensor::Vector<float>({1})})),
              HasSubstr("[batch, classes]"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      EvalError("SoftmaxCrossEntropyWithLogits",
                {Matrix<float>(2, 3, {1, 2, 3, 4, 5, 6}), Matrix<float>(2, 2, {1, 2, 3, 4})})));
}

TEST(SparseCrossEntropy, LossAndGradient) {
  const Tensor features = Matrix<float>(2, 2, {1, 2, 3, 1});
  const std::vector<Tensor> out = *EvaluateOp("SparseSoftmaxCrossEntropyWithLogits",
                                              {features, Tensor::Vector<int64_t>({1, 0})});
  EXPECT_THAT(Values<float>(out[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-6f),
                                   std::vector<float>{0.31326166f, 0.12692805f}));
  EXPECT_THAT(Values<float>(out[1]),
              ::testing::Pointwise(
                  ::testing::FloatNear(1e-6f),
                  std::vector<float>{0.26894143f, -0.2689414f, -0.11920297f, 0.11920292f}));
  EXPECT_THAT(Message(EvalError("SparseSoftmaxCrossEntropyWithLogits",
                                {features, Tensor::Vector<int32_t>({1, 5})})),
              HasSubstr("labels[1] = 5 is outside the valid range of [0, 2)"));
}

TEST(Relu, KeepsNansAndSigns) {
  const std::vector<float> y =
      Values<float>(Eval("Relu", {Tensor::Vector<float>({kNan, -0.0f, -1, 2})}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 2);
  EXPECT_EQ(Values<int8_t>(Eval("Relu", {Tensor::Vector<int8_t>({-128, 5})})),
            (std::vector<int8_t>{0, 5}));
  EXPECT_EQ(Values<float>(Eval("Relu6", {Tensor::Vector<float>({-1, 3, 7})})),
            (std::vector<float>{0, 3, 6}));
}

TEST(ReluGrad, MultipliesByTheSlope) {
  const Tensor gradients = Tensor::Vector<float>({kNan, kInf, 1, 2, 3});
  const std::vector<float> y =
      Values<float>(Eval("ReluGrad", {gradients, Tensor::Vector<float>({0, -1, 2, kNan, 0})}));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(std::vector<float>(y.begin() + 2, y.end()), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(Values<double>(Eval("Relu6Grad", {Tensor::Vector<double>({1, 1, 1}),
                                              Tensor::Vector<double>({0, 5, 6})})),
            (std::vector<double>{0, 1, 0}));
  EXPECT_THAT(Message(EvalError("ReluGrad", {gradients, Tensor::Vector<float>({1})})),
              HasSubstr("same shape"));
}

TEST(SmoothRectifiers, ValuesAndGradients) {
  const auto near = [](std::vector<float> want) {
    return ::testing::Pointwise(::testing::FloatNear(1e-6f), want);
  };
  const Tensor x = Tensor::Vector<float>({-1, 2});
  EXPECT_THAT(Values<float>(Eval("Elu", {x})), near({-0.63212055f, 2}));
  EXPECT_THAT(Values<float>(Eval("Selu", {x})), near({-1.1113307f, 2.101402f}));
  EXPECT_THAT(Values<float>(Eval("LeakyRelu", {x})), near({-0.2f, 2}));
  const Tensor g = Tensor::Vector<float>({10, 2});
  EXPECT_THAT(Values<float>(Eval("EluGrad", {g, Tensor::Vector<float>({-0.5f, 2})})), near({5, 2}));
  EXPECT_THAT(Values<float>(Eval("SeluGrad", {g, Tensor::Vector<float>({-0.5f, 2})})),
              near({12.580994f, 2.101402f}));
  EXPECT_THAT(Values<float>(Eval("LeakyReluGrad", {g, Tensor::Vector<float>({0, 2})})),
              near({2, 2}));
}

TEST(BiasAdd, AddsToTheChannels) {
  const Tensor x = Tensor::FromValues<float>(std::vector<float>(12, 1.0f), ShapeOf({2, 2, 3}));
  const AttrMap nchw = Attrs({{"data_format", std::string("NCHW")}});
  EXPECT_EQ(Values<float>(Eval("BiasAdd", {x, Tensor::Vector<float>({1, 2, 3})})),
            (std::vector<float>{2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4}));
  EXPECT_EQ(Values<float>(Eval("BiasAdd", {x, Tensor::Vector<float>({1, 2})}, nchw)),
            (std::vector<float>{2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(Values<float>(Eval("BiasAddGrad", {x})), (std::vector<float>{4, 4, 4}));
  EXPECT_EQ(Values<float>(Eval("BiasAddGrad", {x}, nchw)), (std::vector<float>{6, 6}));
}

TEST(BiasAdd, BadShapesAreNamed) {
  EXPECT_THAT(
      Message(EvalError("BiasAdd", {Tensor::Vector<float>({1}), Tensor::Vector<float>({1})})),
      HasSubstr("at least two dimensions"));
  EXPECT_THAT(Message(EvalError("BiasAdd",
                                {Matrix<float>(1, 2, {1, 2}), Tensor::Vector<float>({1, 2, 3})})),
              HasSubstr("2 channels"));
}

TEST(L2Loss, IsHalfTheSumOfSquares) {
  EXPECT_EQ(Eval("L2Loss", {Matrix<float>(2, 2, {1, 2, 3, 4})}).scalar<float>(), 15.0f);
  EXPECT_EQ(Eval("L2Loss", {Tensor::FromValues<double>({}, ShapeOf({0}))}).scalar<double>(), 0.0);
}

}  // namespace
}  // namespace gyre::test
