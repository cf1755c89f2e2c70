// Gradient rules of neural networks' ops.
#include "gmock/gmock.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;

std::vector<double> Doubles(const Tensor& t) {
  return t.has_value() ? std::vector<double>(t.values<double>().begin(), t.values<double>().end())
                       : std::vector<double>();
}

Tensor Vector(std::initializer_list<double> values) { return Tensor::Vector<double>(values); }

// Rows that add up to 1: for other labels, the op does not give the gradient of its loss.
Tensor Distribution(Draw& draw, int64_t rows) {
  std::vector<double> labels = Doubles(draw({rows, 3}, 0.1, 1));
  for (size_t i = 0; i < labels.size(); i += 3) {
    const double sum = labels[i] + labels[i + 1] + labels[i + 2];
    for (size_t j = i; j < i + 3; ++j) labels[j] /= sum;
  }
  return Tensor::FromValues<double>(labels, Shape::Trusted({rows, 3}));
}

const Tensor kBothSides = Vector({-2.5, -0.4, 0.3, 2.2, 6.8});

TEST(NnRules, Rectifiers) {
  Draw draw;
  for (const std::string op : {"Relu", "Relu6", "Elu", "Selu", "LeakyRelu"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient(OpCase{op, {kBothSides}}.Order(3));
    ExpectOpGradient({op, {draw({0, 2})}});
    ExpectOpGradient({op, {Tensor::Scalar(-0.7)}});
  }
  for (const std::string alpha : {"0.0", "0.3", "1.5", "-0.5"}) {
    ExpectOpGradient({"LeakyRelu", {kBothSides}, "alpha=" + alpha});
  }
}

TEST(NnRules, GradientsOfRectifiers) {
  Draw draw;
  for (const std::string op : {"ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient(OpCase{op, {draw({5}), kBothSides}}.Order(3).Fixed({1}));
  }
  for (const std::string op : {"EluGrad", "SeluGrad"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient(OpCase{op, {draw({5}), kBothSides}}.Order(3));
  }
}

TEST(NnRules, Kinks) {
  const Tensor x = Vector({-1, 0, 6, 7});
  EXPECT_THAT(Doubles(OpGradients({"Relu", {x}})[0]), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Doubles(OpGradients({"Relu6", {x}})[0]), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Doubles(OpGradients({"LeakyRelu", {x}, "alpha=0.5"})[0]),
              ElementsAre(0.5, 0.5, 1, 1));
  EXPECT_THAT(Doubles(OpGradients({"LeakyRelu", {x}, "alpha=-0.5"})[0]),
              ElementsAre(-0.5, -0.5, 1, 1));
  EXPECT_EQ(Doubles(OpGradients({"Elu", {x}})[0])[1], 1);
}

TEST(NnRules, Softmaxes) {
  Draw draw;
  for (const std::string op : {"Softmax", "LogSoftmax"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({4})}});
    ExpectOpGradient(OpCase{op, {draw({2, 3}, -3, 3)}}.Order(3));
    ExpectOpGradient({op, {draw({2, 1, 3})}});
    ExpectOpGradient({op, {draw({0, 3})}});
  }
}

TEST(NnRules, CrossEntropies) {
  Draw draw;
  for (const std::string y : {"y:0", "y:1"}) {
    SCOPED_TRACE(y);
    const Tensor labels = Distribution(draw, 2);
    ExpectOpGradient(OpCase{"SoftmaxCrossEntropyWithLogits", {draw({2, 3}), labels}}.Y(y));
    ExpectOpGradient(
        OpCase{"SoftmaxCrossEntropyWithLogits", {draw({2, 3}), Distribution(draw, 1)}}.Y(y));
    ExpectOpGradient(OpCase{"SoftmaxCrossEntropyWithLogits", {draw({1, 3}), labels}}.Y(y));
    ExpectOpGradient(OpCase{"SoftmaxCrossEntropyWithLogits", {draw({3}), labels}}.Y(y));
    ExpectOpGradient(
        OpCase{"SoftmaxCrossEntropyWithLogits", {draw({2, 3}), labels}}.Y(y).Fixed({1}));
    const Tensor classes = Tensor::Vector<int32_t>({2, 0});
    ExpectOpGradient(OpCase{"SparseSoftmaxCrossEntropyWithLogits", {draw({2, 3}), classes}}.Y(y));
  }
}

TEST(NnRules, BothOutputsOfACrossEntropy) {
  Draw draw;
  const std::string text = R"(graph {
    %x = Placeholder() : float64
    %labels = Placeholder() : float64
    %both = SoftmaxCrossEntropyWithLogits(%x, %labels)
    %last = Const() value=int32{-1} : int32
    %loss = ExpandDims(%both, %last)
    %y = Mul(%loss, %both:1)
  })";
  ExpectGradient(text, {{"x", draw({2, 3})}, {"labels", Distribution(draw, 2)}}, {"x", "labels"},
                 "y");
}

TEST(NnRules, Biases) {
  Draw draw;
  for (const std::string format : {"\"NHWC\"", "\"NCHW\""}) {
    SCOPED_TRACE(format);
    const std::string attrs = "data_format=" + format;
    ExpectOpGradient({"BiasAdd", {draw({2, 3}), draw({3})}, attrs});
    ExpectOpGradient({"BiasAdd", {draw({2, 3, 3}), draw({3})}, attrs});
    ExpectOpGradient({"BiasAdd", {draw({2, 3, 1, 3}), draw({3})}, attrs});
    ExpectOpGradient({"BiasAddGrad", {draw({2, 3})}, attrs});
    ExpectOpGradient({"BiasAddGrad", {draw({2, 3, 2})}, attrs});
    ExpectOpGradient({"BiasAddGrad", {draw({2, 2, 3, 2})}, attrs});
  }
}

TEST(NnRules, L2Loss) {
  Draw draw;
  ExpectOpGradient(OpCase{"L2Loss", {draw({2, 3})}}.Order(3));
  ExpectOpGradient({"L2Loss", {draw({})}});
  ExpectOpGradient({"L2Loss", {draw({0})}});
}

}  // namespace
}  // namespace gyre::testing
