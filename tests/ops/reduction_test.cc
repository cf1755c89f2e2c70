// Sums, means, products, extrema and their kin.
#include <cmath>
#include <limits>
#include <random>

#include "base/env.h"
#include "gmock/gmock.h"
#include "ir/shape_context.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

Tensor Axes(std::vector<int32_t> axes) {
  return Tensor::FromValues<int32_t>(axes, Shape::Vector(static_cast<int64_t>(axes.size())));
}

template <typename T>
Tensor Matrix(int64_t rows, int64_t columns, std::vector<T> values) {
  return Tensor::FromValues<T>(values, ShapeOf({rows, columns}));
}

TEST(Sum, AlongEachAxis) {
  const Tensor x = Matrix<int32_t>(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Values<int32_t>(Eval("Sum", {x, Axes({0})})), (std::vector<int32_t>{5, 7, 9}));
  EXPECT_EQ(Values<int32_t>(Eval("Sum", {x, Axes({1})})), (std::vector<int32_t>{6, 15}));
  EXPECT_EQ(Values<int32_t>(Eval("Sum", {x, Axes({-1})})), (std::vector<int32_t>{6, 15}));
  EXPECT_EQ(Values<int32_t>(Eval("Sum", {x, Axes({1, 0})})), (std::vector<int32_t>{21}));
  EXPECT_EQ(Values<int32_t>(Eval("Sum", {x, Axes({})})), Values<int32_t>(x));
}

TEST(Sum, KeepDims) {
  const Tensor x = Matrix<float>(2, 3, {1, 2, 3, 4, 5, 6});
  const AttrMap keep = Attrs({{"keep_dims", true}});
  EXPECT_EQ(Eval("Sum", {x, Axes({1})}, keep).shape(), ShapeOf({2, 1}));
  EXPECT_EQ(Eval("Sum", {x, Axes({0, 1})}, keep).shape(), ShapeOf({1, 1}));
  EXPECT_EQ(Eval("Sum", {x, Axes({0, 1})}).shape(), Shape());
  EXPECT_EQ(Eval("Sum", {Tensor::Scalar(3.0f), Axes({})}).scalar<float>(), 3.0f);
}

TEST(Sum, AxesMayBeInt64OrAMatrix) {
  const Tensor x = Matrix<float>(2, 2, {1, 2, 3, 4});
  EXPECT_EQ(Eval("Sum", {x, Tensor::Scalar(int64_t{0})}).shape(), ShapeOf({2}));
  EXPECT_EQ(Eval("Sum", {x, Matrix<int32_t>(2, 1, {0, 1})}).scalar<float>(), 10.0f);
}

TEST(Sum, BadAxesAreNamed) {
  const Tensor x = Matrix<float>(2, 2, {1, 2, 3, 4});
  EXPECT_THAT(Message(EvalError("Sum", {x, Axes({0, -2})})),
              HasSubstr("dimension 0 is named twice"));
  EXPECT_THAT(Message(EvalError("Sum", {x, Axes({2})})),
              HasSubstr("axis 2 is out of range [-2, 2)"));
  EXPECT_TRUE(absl::IsInvalidArgument(EvalError("Sum", {x, Axes({-3})})));
}

// Sums the definition's way: one output index at a time, in double.
std::vector<double> NaiveSum(const std::vector<float>& x, const std::vector<int64_t>& dims,
                             const std::vector<bool>& reduced) {
  int64_t outputs = 1;
  for (size_t d = 0; d < dims.size(); ++d) outputs *= reduced[d] ? 1 : dims[d];
  std::vector<double> sums(outputs, 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), output = 0, stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      if (!reduced[d]) {
        output += rest % dims[d] * stride;
        stride *= dims[d];
      }
      rest /= dims[d];
    }
    sums[output] += x[i];
  }
  return sums;
}

TEST(Sum, EverySetOfAxesOfManyShapes) {
  const std::vector<std::vector<int64_t>> shapes = {
      {7}, {3, 5}, {2, 1, 3}, {4, 3, 5, 2}, {3, 300, 7}, {2, 3, 2, 3, 2}, {700, 70}, {1, 90000}};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const std::vector<int64_t>& dims : shapes) {
    const Shape shape = ShapeOf(dims);
    std::vector<float> x(shape.num_elements());
    for (float& v : x) v = uniform(random);
    for (int mask = 0; mask < 1 << dims.size(); ++mask) {
      std::vector<bool> reduced;
      std::vector<int32_t> axes;
      for (size_t d = 0; d < dims.size(); ++d) {
        reduced.push_back((mask >> d & 1) != 0);
        if (reduced[d]) axes.push_back(static_cast<int32_t>(d));
      }
      const std::vector<float> got =
          Values<float>(Eval("Sum", {Tensor::FromValues<float>(x, shape), Axes(axes)}));
      const std::vector<double> want = NaiveSum(x, dims, reduced);
      ASSERT_EQ(got.size(), want.size()) << shape.ToString() << " mask " << mask;
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 2e-3) << shape.ToString() << " mask " << mask;
      }
    }
  }
}

TEST(Sum, StaysAccurateOverMillions) {
  // A running sum would stop growing at 2^24.
  const int64_t n = (int64_t{1} << 25) + 3;
  const Tensor ones = Tensor::FromValues<float>(std::vector<float>(n, 1.0f), Shape::Vector(n));
  EXPECT_EQ(Eval("Sum", {ones, Axes({0})}).scalar<float>(), static_cast<float>(n));
  EXPECT_EQ(Eval("Mean", {ones, Axes({0})}).scalar<float>(), 1.0f);
  const Tensor rows = ones.SliceRows(0, int64_t{1} << 25).Reshaped(ShapeOf({1 << 24, 2}));
  EXPECT_EQ(Values<float>(Eval("Sum", {rows, Axes({0})})), (std::vector<float>{1 << 24, 1 << 24}));
}

// Runs every piece by itself, in reverse order.
class BackwardsFor final : public ParallelFor {
 public:
  void Run(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) override {
    for (int64_t end = n; end > 0; end -= std::min(end, grain)) {
      body(std::max<int64_t>(0, end - grain), end);
      ++pieces;
    }
  }
  int pieces = 0;
};

TEST(Sum, BitsDoNotDependOnHowItIsRun) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(1 << 20);
  for (float& v : x) v = uniform(random);
  const Tensor tensor = Tensor::FromValues<float>(x, ShapeOf({1 << 10, 1 << 10}));
  for (const std::vector<int32_t>& axes : std::vector<std::vector<int32_t>>{{0}, {1}, {0, 1}}) {
    const Node node = *MakeNode(Ops(), "Sum", {tensor, Axes(axes)});
    BackwardsFor backwards;
    RunEnv env;
    env.parallel = &backwards;
    const std::vector<Tensor> got = *EvaluateNode(Ops(), node, {tensor, Axes(axes)}, env);
    EXPECT_EQ(Values<float>(got[0]), Values<float>(Eval("Sum", {tensor, Axes(axes)})));
    EXPECT_GT(backwards.pieces, 1);
  }
}

TEST(Sum, StopsWhenCancelled) {
  const Tensor x = *Tensor::Zeros(DType::kFloat, ShapeOf({1 << 22}), {});
  const Node node = *MakeNode(Ops(), "Sum", {x, Axes({0})});
  Cancellation cancellation;
  cancellation.Cancel(absl::CancelledError("enough"));
  RunEnv env;
  env.cancellation = &cancellation;
  EXPECT_TRUE(absl::IsCancelled(EvaluateNode(Ops(), node, {x, Axes({0})}, env).status()));
}

TEST(Sum, IntegersWrapAround) {
  EXPECT_EQ(Eval("Sum", {Tensor::Vector<int8_t>({100, 100}), Axes({0})}).scalar<int8_t>(), -56);
  EXPECT_EQ(Eval("Sum", {Tensor::Vector<uint16_t>({65535, 2}), Axes({0})}).scalar<uint16_t>(), 1);
  const int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Eval("Sum", {Tensor::Vector<int64_t>({max, 1}), Axes({0})}).scalar<int64_t>(),
            std::numeric_limits<int64_t>::min());
}

TEST(Sum, ComplexAndSmallFloats) {
  EXPECT_EQ(
      Eval("Sum", {Tensor::Vector<complex64>({{1, 2}, {3, -5}}), Axes({0})}).scalar<complex64>(),
      complex64(4, -3));
  // 2048 + 1 is not a half, but 2048 + 1 + 1 is: the sum is made in float.
  const Tensor halves = Tensor::Vector<Half>({Half(2048), Half(1), Half(1)});
  EXPECT_EQ(static_cast<float>(Eval("Sum", {halves, Axes({0})}).scalar<Half>()), 2050.0f);
}

TEST(Mean, RoundsIntegersTowardsZeroWithoutOverflow) {
  const int32_t max = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(Eval("Mean", {Tensor::Vector<int32_t>({max, max}), Axes({0})}).scalar<int32_t>(), max);
  EXPECT_EQ(Eval("Mean", {Tensor::Vector<int8_t>({-3, -4}), Axes({0})}).scalar<int8_t>(), -3);
  EXPECT_EQ(Eval("Mean", {Tensor::Vector<uint8_t>({255, 255}), Axes({0})}).scalar<uint8_t>(), 255);
}

TEST(Mean, OfComplexNumbersAndRows) {
  EXPECT_EQ(
      Eval("Mean", {Tensor::Vector<complex128>({{1, 2}, {3, 4}}), Axes({0})}).scalar<complex128>(),
      complex128(2, 3));
  EXPECT_EQ(Values<double>(Eval("Mean", {Matrix<double>(2, 2, {1, 2, 3, 5}), Axes({0})})),
            (std::vector<double>{2, 3.5}));
}

TEST(Reductions, OfNothingAreNeutral) {
  const Tensor f = Tensor::FromValues<float>({}, ShapeOf({0, 2}));
  const Tensor i = Tensor::FromValues<int32_t>({}, ShapeOf({0, 2}));
  EXPECT_EQ(Values<float>(Eval("Sum", {f, Axes({0})})), (std::vector<float>{0, 0}));
  EXPECT_EQ(Values<float>(Eval("Prod", {f, Axes({0})})), (std::vector<float>{1, 1}));
  EXPECT_EQ(Values<float>(Eval("Max", {f, Axes({0})})), (std::vector<float>{-kInf, -kInf}));
  EXPECT_EQ(Values<float>(Eval("Min", {f, Axes({0})})), (std::vector<float>{kInf, kInf}));
  EXPECT_EQ(Values<int32_t>(Eval("Max", {i, Axes({0})})),
            std::vector<int32_t>(2, std::numeric_limits<int32_t>::min()));
  EXPECT_EQ(Values<int32_t>(Eval("Mean", {i, Axes({0})})), (std::vector<int32_t>{0, 0}));
  EXPECT_TRUE(std::isnan(Values<float>(Eval("Mean", {f, Axes({0})}))[0]));
  const Tensor b = Tensor::FromValues<bool>({}, ShapeOf({0}));
  EXPECT_TRUE(Eval("All", {b, Axes({0})}).scalar<bool>());
  EXPECT_FALSE(Eval("Any", {b, Axes({0})}).scalar<bool>());
}

TEST(Prod, WrapsAndMultipliesComplexNumbers) {
  EXPECT_EQ(
      Eval("Prod", {Tensor::Vector<int32_t>({1 << 20, 1 << 20}), Axes({0})}).scalar<int32_t>(), 0);
  EXPECT_EQ(Eval("Prod", {Tensor::Vector<uint16_t>({65535, 65535}), Axes({0})}).scalar<uint16_t>(),
            1);
  EXPECT_EQ(
      Eval("Prod", {Tensor::Vector<complex64>({{0, 1}, {0, 1}}), Axes({0})}).scalar<complex64>(),
      complex64(-1, 0));
}

TEST(MaxMin, PassNansOn) {
  EXPECT_TRUE(
      std::isnan(Eval("Max", {Tensor::Vector<float>({1, kNan, 2}), Axes({0})}).scalar<float>()));
  EXPECT_TRUE(
      std::isnan(Eval("Min", {Tensor::Vector<float>({1, kNan, 2}), Axes({0})}).scalar<float>()));
  const Tensor x = Matrix<float>(2, 3, {1, kNan, 2, 3, 4, 5});
  const std::vector<float> columns = Values<float>(Eval("Max", {x, Axes({0})}));
  EXPECT_EQ(columns[0], 3);
  EXPECT_TRUE(std::isnan(columns[1]));
  EXPECT_EQ(columns[2], 5);
}

TEST(MaxMin, FindTheExtremumWhereverItIs) {
  for (int64_t position = 0; position < 1100; position += 37) {
    std::vector<int64_t> x(1100, 5);
    x[position] = 9;
    EXPECT_EQ(Eval("Max", {Tensor::FromValues<int64_t>(x, Shape::Vector(1100)), Axes({0})})
                  .scalar<int64_t>(),
              9);
    x[position] = -9;
    EXPECT_EQ(Eval("Min", {Tensor::FromValues<int64_t>(x, Shape::Vector(1100)), Axes({0})})
                  .scalar<int64_t>(),
              -9);
  }
}

TEST(AllAny, AlongAnAxis) {
  const Tensor x = Tensor::FromValues<bool>({true, false, true, true}, ShapeOf({2, 2}));
  EXPECT_EQ(Values<bool>(Eval("All", {x, Axes({1})})), (std::vector<bool>{false, true}));
  EXPECT_EQ(Values<bool>(Eval("All", {x, Axes({0})})), (std::vector<bool>{true, false}));
  EXPECT_EQ(Values<bool>(Eval("Any", {x, Axes({0})})), (std::vector<bool>{true, true}));
}

TEST(ArgMax, FirstOfEqualsAlongAnyAxis) {
  const Tensor x = Matrix<int32_t>(2, 3, {1, 7, 7, 8, 2, 7});
  EXPECT_EQ(Values<int64_t>(Eval("ArgMax", {x, Tensor::Scalar(int32_t{1})})),
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(Values<int64_t>(Eval("ArgMax", {x, Tensor::Scalar(int32_t{-2})})),
            (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(Values<int64_t>(Eval("ArgMin", {x, Tensor::Scalar(int32_t{0})})),
            (std::vector<int64_t>{0, 1, 0}));
}

TEST(ArgMax, SkipsNansUnlessThereIsNothingElse) {
  const Tensor axis = Tensor::Scalar(int32_t{0});
  EXPECT_EQ(Eval("ArgMax", {Tensor::Vector<float>({kNan, 1, 2}), axis}).scalar<int64_t>(), 2);
  EXPECT_EQ(Eval("ArgMin", {Tensor::Vector<float>({kNan, 3, 2}), axis}).scalar<int64_t>(), 2);
  EXPECT_EQ(Eval("ArgMax", {Tensor::Vector<float>({kNan, kNan}), axis}).scalar<int64_t>(), 0);
  EXPECT_EQ(
      Eval("ArgMax", {Tensor::Vector<float>({-kInf, -3.4028235e38f}), axis}).scalar<int64_t>(), 1);
}

TEST(ArgMax, OutputTypesAndBooleans) {
  const AttrMap attrs = Attrs({{"output_type", DType::kUint16}});
  EXPECT_EQ(
      Eval("ArgMax", {Tensor::Vector<Half>({Half(1), Half(3)}), Tensor::Scalar(int16_t{0})}, attrs)
          .scalar<uint16_t>(),
      1);
  EXPECT_EQ(Eval("ArgMin", {Tensor::Vector<bool>({true, false}), Tensor::Scalar(int64_t{0})})
                .scalar<int64_t>(),
            1);
}

TEST(ArgMax, RefusesWhatHasNoElements) {
  const Tensor empty = Tensor::FromValues<float>({}, ShapeOf({0, 2}));
  EXPECT_THAT(Message(EvalError("ArgMax", {empty, Tensor::Scalar(int32_t{0})})),
              HasSubstr("dimension 0 is empty in shape [0,2]"));
  EXPECT_EQ(Eval("ArgMax", {empty, Tensor::Scalar(int32_t{1})}).shape(), ShapeOf({0}));
  EXPECT_TRUE(absl::IsInvalidArgument(
      EvalError("ArgMax", {Tensor::Scalar(1.0f), Tensor::Scalar(int32_t{0})})));
}

TEST(Cumsum, ExclusiveAndReverse) {
  const Tensor x = Tensor::Vector<int32_t>({1, 2, 3});
  const Tensor axis = Tensor::Scalar(int32_t{0});
  EXPECT_EQ(Values<int32_t>(Eval("Cumsum", {x, axis})), (std::vector<int32_t>{1, 3, 6}));
  EXPECT_EQ(Values<int32_t>(Eval("Cumsum", {x, axis}, Attrs({{"exclusive", true}}))),
            (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(Values<int32_t>(Eval("Cumsum", {x, axis}, Attrs({{"reverse", true}}))),
            (std::vector<int32_t>{6, 5, 3}));
  EXPECT_EQ(
      Values<int32_t>(Eval("Cumprod", {x, axis}, Attrs({{"reverse", true}, {"exclusive", true}}))),
      (std::vector<int32_t>{6, 3, 1}));
}

TEST(Cumsum, AlongEachAxis) {
  const Tensor x = Matrix<double>(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Values<double>(Eval("Cumsum", {x, Tensor::Scalar(int32_t{0})})),
            (std::vector<double>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(Values<double>(Eval("Cumsum", {x, Tensor::Scalar(int32_t{-1})})),
            (std::vector<double>{1, 3, 6, 4, 9, 15}));
  EXPECT_TRUE(absl::IsInvalidArgument(EvalError("Cumsum", {x, Tensor::Scalar(int32_t{2})})));
  EXPECT_TRUE(absl::IsInvalidArgument(
      EvalError("Cumsum", {Tensor::Scalar(1.0f), Tensor::Scalar(int32_t{0})})));
}

PartialShape RuleOutput(absl::string_view op, const std::vector<Tensor>& inputs,
                        const std::vector<PartialShape>& shapes, AttrMap attrs = {}) {
  const Node node = *MakeNode(Ops(), op, inputs, std::move(attrs));
  std::vector<ValueInfo> infos(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    infos[i].shape = shapes[i];
    if (i > 0) infos[i].constant = inputs[i];
  }
  ShapeContext context(node, infos);
  EXPECT_TRUE(node.op->shape(context).ok());
  return context.outputs()[0].shape;
}

TEST(ReductionShapes, FollowTheAxes) {
  const Tensor x = Matrix<float>(1, 1, {0});
  const PartialShape input(Dims{-1, 3});
  const PartialShape axes(Dims{1});
  EXPECT_EQ(RuleOutput("Sum", {x, Axes({0})}, {input, axes}), PartialShape(Dims{3}));
  EXPECT_EQ(RuleOutput("Sum", {x, Axes({-1})}, {input, axes}, Attrs({{"keep_dims", true}})),
            PartialShape(Dims{-1, 1}));
  EXPECT_EQ(RuleOutput("ArgMax", {x, Tensor::Scalar(int32_t{1})}, {input, PartialShape::Scalar()}),
            PartialShape(Dims{-1}));
  EXPECT_FALSE(RuleOutput("Sum", {x, Axes({0})}, {PartialShape::Unknown(), axes}).has_rank());
}

}  // namespace
}  // namespace gyre::test
