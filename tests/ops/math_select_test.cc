// Ops of the math family that choose, convert, check or add up whole tensors.
#include <cmath>
#include <limits>

#include "ops/math_values.h"
#include "ops/variant_ops.h"

namespace gyre {
namespace {

using test::Attrs;
using test::Eval;
using test::EvalError;
using test::Message;
using test::ShapeOf;
using test::Values;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename D, typename S>
std::vector<D> CastTo(std::vector<S> values, bool truncate = false) {
  const Tensor x =
      Tensor::FromValues<S>(values, Shape::Vector(static_cast<int64_t>(values.size())));
  return Values<D>(Eval("Cast", {x}, Attrs({{"DstT", DTypeOf<D>}, {"Truncate", truncate}})));
}

TEST(MathCast, BetweenAllPairsOfNumbers) {
  const std::vector<DType> types = {
      DType::kBool,  DType::kInt8,   DType::kInt16,    DType::kInt32,     DType::kInt64,
      DType::kUint8, DType::kUint16, DType::kUint32,   DType::kUint64,    DType::kHalf,
      DType::kFloat, DType::kDouble, DType::kBfloat16, DType::kComplex64, DType::kComplex128};
  // 0 and 1 are the numbers that every type has.
  const Tensor bits = Tensor::Vector<bool>({false, true, true, false});
  for (const DType from : types) {
    const Tensor x = Eval("Cast", {bits}, Attrs({{"DstT", from}}));
    for (const DType to : types) {
      const Tensor y = Eval("Cast", {x}, Attrs({{"DstT", to}}));
      ASSERT_EQ(y.dtype(), to);
      EXPECT_EQ(Values<bool>(Eval("Cast", {y}, Attrs({{"DstT", DType::kBool}}))),
                Values<bool>(bits))
          << std::string(DTypeName(from)) << " to " << std::string(DTypeName(to));
    }
  }
}

TEST(MathCast, FractionsAreCutOffAndIntegersWrapAround) {
  EXPECT_EQ((CastTo<int32_t, float>({2.9f, -2.9f, -0.5f})), (std::vector<int32_t>{2, -2, 0}));
  EXPECT_EQ((CastTo<int8_t, int32_t>({300, -129, 127})), (std::vector<int8_t>{44, 127, 127}));
  EXPECT_EQ((CastTo<uint32_t, int64_t>({-1, int64_t{1} << 32})),
            (std::vector<uint32_t>{UINT32_MAX, 0}));
  EXPECT_EQ((CastTo<int64_t, uint64_t>({UINT64_MAX})), std::vector<int64_t>{-1});
  EXPECT_EQ((CastTo<uint8_t, double>({255.7})), std::vector<uint8_t>{255});
}

TEST(MathCast, NumbersAnIntegerCannotHoldBecomeWhatX86MakesOfThem) {
  const std::vector<double> xs = {kNan, kInf, -kInf, 1e30, -1e30};
  EXPECT_EQ((CastTo<int32_t, double>(xs)), std::vector<int32_t>(5, INT32_MIN));
  EXPECT_EQ((CastTo<int64_t, double>(xs)), std::vector<int64_t>(5, INT64_MIN));
  EXPECT_EQ((CastTo<int8_t, double>(xs)), std::vector<int8_t>(5, 0));
  EXPECT_EQ((CastTo<uint16_t, double>(xs)), std::vector<uint16_t>(5, 0));
  EXPECT_EQ((CastTo<uint32_t, double>({-1, 4294967295.0})),
            (std::vector<uint32_t>{UINT32_MAX, UINT32_MAX}));
  EXPECT_EQ((CastTo<uint64_t, double>({0x1p63, -1})),
            (std::vector<uint64_t>{uint64_t{1} << 63, UINT64_MAX}));
  EXPECT_EQ((CastTo<int8_t, float>({300.0f, -1.5f})), (std::vector<int8_t>{44, -1}));
}

TEST(MathCast, FloatsAreRoundedToNearestOrCutOff) {
  const double just_below_two = 1.9999999999;
  EXPECT_EQ((CastTo<float, double>({just_below_two}))[0], 2.0f);
  EXPECT_LT((CastTo<float, double>({just_below_two}, /*truncate=*/true))[0], 2.0f);
  EXPECT_EQ(static_cast<float>(CastTo<BFloat16, float>({1.0078124f})[0]), 1.0078125f);
  EXPECT_EQ(static_cast<float>(CastTo<BFloat16, float>({1.0078124f}, /*truncate=*/true)[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(CastTo<Half, int64_t>({2049})[0]), 2048.0f);
  EXPECT_EQ((CastTo<float, uint64_t>({UINT64_MAX}))[0], 0x1p64f);
  EXPECT_TRUE(std::isnan(static_cast<float>(CastTo<Half, double>({kNan}, /*truncate=*/true)[0])));
}

TEST(MathCast, TruthAndComplexNumbers) {
  EXPECT_EQ((CastTo<bool, double>({0.0, -0.0, 0.1, kNan})),
            (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ((CastTo<int32_t, complex64>({{2.5f, 9}})), std::vector<int32_t>{2});
  EXPECT_EQ((CastTo<complex128, complex64>({{2.5f, 9}})), (std::vector<complex128>{{2.5, 9}}));
  EXPECT_EQ((CastTo<complex64, int8_t>({-3})), (std::vector<complex64>{{-3, 0}}));
}

TEST(MathCast, ToTheSameTypePassesAnythingOn) {
  const Tensor text = Tensor::Vector<std::string>({"a", "b"});
  EXPECT_EQ(Values<std::string>(Eval("Cast", {text}, Attrs({{"DstT", DType::kString}}))),
            (std::vector<std::string>{"a", "b"}));
  const Tensor quantised =
      Eval("Cast", {Tensor::Vector<int8_t>({-1, 5})}, Attrs({{"DstT", DType::kQint8}}));
  EXPECT_EQ(quantised.dtype(), DType::kQint8);
  EXPECT_EQ(Values<int8_t>(quantised.Bitcast(DType::kInt8)), (std::vector<int8_t>{-1, 5}));
  EXPECT_EQ(Message(EvalError("Cast", {text}, Attrs({{"DstT", DType::kInt32}}))),
            "there is no cast from string to int32: StringToNumber reads numbers");
}

TEST(MathCast, LongTensorsAreConvertedInBlocks) {
  std::vector<uint8_t> xs(1000);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<uint8_t>(i);
  const std::vector<Half> ys = CastTo<Half, uint8_t>(xs);
  for (size_t i = 0; i < xs.size(); ++i)
    ASSERT_EQ(static_cast<float>(ys[i]), static_cast<float>(xs[i]));
}

TEST(MathSelect, ElementByElementRowByRowOrAsAWhole) {
  const Tensor t = Tensor::FromValues<int32_t>({1, 2, 3, 4}, ShapeOf({2, 2}));
  const Tensor e = Tensor::FromValues<int32_t>({-1, -2, -3, -4}, ShapeOf({2, 2}));
  const Tensor mask = Tensor::FromValues<bool>({true, false, false, true}, ShapeOf({2, 2}));
  EXPECT_EQ(Values<int32_t>(Eval("Select", {mask, t, e})), (std::vector<int32_t>{1, -2, -3, 4}));
  EXPECT_EQ(Values<int32_t>(Eval("Select", {Tensor::Vector<bool>({false, true}), t, e})),
            (std::vector<int32_t>{-1, -2, 3, 4}));
  EXPECT_EQ(Eval("Select", {Tensor::Scalar<bool>(true), t, e}).raw_data(), t.raw_data());
  // A vector is a row of conditions to SelectV2, and a column to Select.
  EXPECT_EQ(Values<int32_t>(Eval("SelectV2", {Tensor::Vector<bool>({false, true}), t, e})),
            (std::vector<int32_t>{-1, 2, -3, 4}));
}

TEST(MathSelect, V2BroadcastsAllThree) {
  const Tensor mask = Tensor::FromValues<bool>({true, false}, ShapeOf({2, 1}));
  const Tensor t = Tensor::Vector<double>({1, 2, 3});
  EXPECT_EQ(Values<double>(Eval("SelectV2", {mask, t, Tensor::Scalar<double>(9)})),
            (std::vector<double>{1, 2, 3, 9, 9, 9}));
  EXPECT_EQ(
      Values<double>(Eval("SelectV2", {Tensor::Scalar<bool>(false), t, Tensor::Scalar<double>(9)})),
      (std::vector<double>{9, 9, 9}));
  EXPECT_EQ(EvalError("SelectV2", {Tensor::Vector<bool>({true, false}), t, t}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MathSelect, ElementsOfAnyTypeAreMoved) {
  const Tensor mask = Tensor::Vector<bool>({true, false});
  EXPECT_EQ(Values<std::string>(Eval("SelectV2", {mask, Tensor::Scalar<std::string>("yes"),
                                                  Tensor::Vector<std::string>({"no", "never"})})),
            (std::vector<std::string>{"yes", "never"}));
  EXPECT_EQ(Values<complex128>(Eval("SelectV2", {mask, Tensor::Scalar<complex128>({1, 2}),
                                                 Tensor::Scalar<complex128>({3, 4})})),
            (std::vector<complex128>{{1, 2}, {3, 4}}));
}

TEST(MathSelect, ShapesThatDontFitAreNamed) {
  const Tensor t = Tensor::Vector<float>({1, 2, 3});
  EXPECT_EQ(
      Message(EvalError("Select", {Tensor::Scalar<bool>(true), t, Tensor::Vector<float>({1})})),
      "'then' and 'else' must have the same shape, but they have [3] and [1]");
  EXPECT_EQ(EvalError("Select", {Tensor::Vector<bool>({true, false}), t, t}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MathAddN, AddsInOrderAndInPlace) {
  const auto sum = Eval("AddN", {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({10, 20}),
                                 Tensor::Vector<float>({100, 200})});
  EXPECT_EQ(Values<float>(sum), (std::vector<float>{111, 222}));
  // From the left: the small numbers are lost one by one.
  const Tensor small = Tensor::Scalar<float>(1);
  EXPECT_EQ(Values<float>(Eval("AddN", {Tensor::Scalar<float>(0x1p24f), small, small}))[0],
            0x1p24f);
  EXPECT_EQ(Values<float>(Eval("AddN", {small, small, Tensor::Scalar<float>(0x1p24f)}))[0],
            0x1p24f + 2);
  EXPECT_EQ(Values<int32_t>(Eval("AccumulateNV2",
                                 {Tensor::Scalar<int32_t>(3), Tensor::Scalar<int32_t>(4)},
                                 Attrs({{"shape", PartialShape::Scalar()}})))[0],
            7);
  EXPECT_EQ(Values<complex64>(Eval("AddN", {Tensor::Scalar<complex64>({1, 2})}))[0],
            complex64(1, 2));
}

TEST(MathAddN, ShapesMustAgree) {
  EXPECT_EQ(Message(EvalError("AddN", {Tensor::Vector<float>({1, 2}), Tensor::Scalar<float>(1)})),
            "all inputs must have the same shape, but input 0 has [2] and input 1 has []");
}

// A variant that counts: its sum is the sum of the counts.
class Count final : public AddableObject {
 public:
  explicit Count(int n) : n(n) {}
  absl::string_view type_name() const override { return "Count"; }
  absl::StatusOr<RefPtr<Object>> Add(KernelContext&, const Object& other) const override {
    const auto* count = dynamic_cast<const Count*>(&other);
    if (count == nullptr) return absl::InvalidArgumentError("not a Count");
    return RefPtr<Object>(MakeRef<Count>(n + count->n));
  }
  absl::StatusOr<RefPtr<Object>> ZerosLike(KernelContext&) const override {
    return RefPtr<Object>(MakeRef<Count>(0));
  }
  int64_t PayloadBytes() const override { return 0; }

  const int n;
};

class Opaque final : public Object {
 public:
  absl::string_view type_name() const override { return "Opaque"; }
};

TEST(MathAddN, VariantsAddAsTheirObjectsSay) {
  const auto variant = [](RefPtr<Object> object) {
    return Tensor::FromObject(DType::kVariant, std::move(object));
  };
  const Tensor sum = Eval(
      "AddN", {variant(MakeRef<Count>(1)), variant(MakeRef<Count>(2)), variant(MakeRef<Count>(4))});
  ASSERT_NE(sum.object_as<Count>(), nullptr);
  EXPECT_EQ(sum.object_as<Count>()->n, 7);
  EXPECT_EQ(Message(EvalError("AddN", {variant(MakeRef<Opaque>()), variant(MakeRef<Count>(2))})),
            "variants that hold Opaque cannot be added");
  EXPECT_EQ(Message(EvalError("AddN", {variant(MakeRef<Count>(2)), variant(nullptr)})),
            "variants that hold nothing cannot be added");
}

std::pair<std::vector<int32_t>, std::vector<int32_t>> GradientAxes(std::vector<int32_t> s0,
                                                                   std::vector<int32_t> s1) {
  const auto vector = [](const std::vector<int32_t>& v) {
    return Tensor::FromValues<int32_t>(v, Shape::Vector(static_cast<int64_t>(v.size())));
  };
  const auto outputs = EvaluateOp("BroadcastGradientArgs", {vector(s0), vector(s1)});
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return {};
  }
  return {Values<int32_t>((*outputs)[0]), Values<int32_t>((*outputs)[1])};
}

TEST(MathBroadcastGradientArgs, ListsTheAxesToSumOver) {
  using Axes = std::vector<int32_t>;
  EXPECT_EQ(GradientAxes({2, 3}, {2, 3}), std::make_pair(Axes{}, Axes{}));
  EXPECT_EQ(GradientAxes({2, 3}, {3}), std::make_pair(Axes{}, Axes{0}));
  EXPECT_EQ(GradientAxes({}, {2, 3}), std::make_pair(Axes{0, 1}, Axes{}));
  EXPECT_EQ(GradientAxes({2, 1, 5}, {1, 3, 1}), std::make_pair(Axes{1}, Axes{0, 2}));
  EXPECT_EQ(GradientAxes({2, 0, 3}, {2, 1, 3}), std::make_pair(Axes{}, Axes{1}));
  EXPECT_EQ(GradientAxes({1, 1}, {1, 1}), std::make_pair(Axes{}, Axes{}));
  EXPECT_EQ(GradientAxes({1}, {}), std::make_pair(Axes{0}, Axes{0}));
}

TEST(MathBroadcastGradientArgs, RefusesWhatIsNoPairOfShapes) {
  const Tensor two = Tensor::Vector<int64_t>({2});
  EXPECT_EQ(Message(EvalError("BroadcastGradientArgs", {two, Tensor::Vector<int64_t>({3})})),
            "Incompatible shapes: [2] vs. [3]");
  EXPECT_EQ(EvalError("BroadcastGradientArgs", {two, Tensor::Scalar<int64_t>(2)}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EvalError("BroadcastGradientArgs", {two, Tensor::Vector<int64_t>({-1})}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MathCheckNumerics, PassesNumbersOnAndNamesWhatIsNone) {
  const AttrMap attrs = Attrs({{"message", std::string("loss")}});
  EXPECT_EQ(Values<float>(Eval("CheckNumerics", {Tensor::Vector<float>({1, 2})}, attrs)),
            (std::vector<float>{1, 2}));
  const absl::Status status =
      EvalError("CheckNumerics", {Tensor::Vector<double>({1, kNan})}, attrs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "loss : Tensor had NaN values");
  EXPECT_EQ(Message(EvalError("CheckNumerics", {Tensor::Scalar<double>(-kInf)}, attrs)),
            "loss : Tensor had Inf values");
  EXPECT_EQ(Message(EvalError("CheckNumerics", {Tensor::Vector<double>({kInf, kNan})}, attrs)),
            "loss : Tensor had Inf and NaN values");
}

TEST(MathToBool, OfScalarsByValueAndOfOthersBySize) {
  const auto truth = [](const Tensor& x) -> bool { return Values<bool>(Eval("ToBool", {x}))[0]; };
  EXPECT_FALSE(truth(Tensor::Scalar<int32_t>(0)));
  EXPECT_TRUE(truth(Tensor::Scalar<int8_t>(-1)));
  EXPECT_FALSE(truth(Tensor::Scalar<Half>(Half(-0.0f))));
  EXPECT_TRUE(truth(Tensor::Scalar<double>(kNan)));
  EXPECT_FALSE(truth(Tensor::Scalar<std::string>("")));
  EXPECT_TRUE(truth(Tensor::Scalar<std::string>("x")));
  EXPECT_TRUE(truth(Tensor::Vector<float>({0})));
  EXPECT_FALSE(truth(*Tensor::Make(DType::kFloat, ShapeOf({0, 3}))));
  EXPECT_EQ(EvalError("ToBool", {Tensor::FromObject(DType::kVariant, nullptr)}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
