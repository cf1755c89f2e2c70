// Binary elementwise ops: how operands broadcast, and what each op does at the edges of its types.
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "ops/math_values.h"

namespace gyre {
namespace {

using test::Eval;
using test::EvalError;
using test::Message;
using test::ShapeOf;
using test::Values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> Binary(absl::string_view op, T x, T y) {
  return Values<T>(Eval(op, {Tensor::Scalar<T>(x), Tensor::Scalar<T>(y)}));
}

// The element of `t` that meets position `index` of a broadcast result, by the definition of
// broadcasting.
template <typename T>
T ElementAt(const Tensor& t, const Shape& result, int64_t index) {
  int64_t offset = 0;
  int64_t stride = 1;
  for (int d = result.rank() - 1, k = t.rank() - 1; d >= 0; --d, --k) {
    const int64_t i = index % result.dim(d);
    index /= result.dim(d);
    if (k < 0) continue;
    if (t.dim(k) != 1) offset += i * stride;
    stride *= t.dim(k);
  }
  return t.values<T>()[offset];
}

template <typename T>
Tensor RandomTensor(const Shape& shape, std::mt19937& random) {
  Tensor t = *Tensor::Make(DTypeOf<T>, shape);
  for (T& v : t.mutable_values<T>()) v = static_cast<T>(static_cast<int>(random() % 41) - 20);
  return t;
}

struct BroadcastCase {
  std::vector<int64_t> x, y, z;
};

const std::vector<BroadcastCase>& BroadcastCases() {
  static const auto* const cases = new std::vector<BroadcastCase>{
      {{5}, {5}, {5}},
      {{}, {37}, {37}},
      {{37}, {}, {37}},
      {{1}, {3}, {3}},
      {{1, 1}, {7}, {1, 7}},
      {{4, 1}, {1, 6}, {4, 6}},
      {{4, 6}, {6}, {4, 6}},
      {{4, 6}, {4, 1}, {4, 6}},
      {{2, 3, 4}, {3, 1}, {2, 3, 4}},
      {{2, 1, 4}, {3, 1}, {2, 3, 4}},
      {{2, 1, 3, 1, 2}, {1, 5, 1, 3, 1}, {2, 5, 3, 3, 2}},
      {{3, 0}, {1, 1}, {3, 0}},
      {{0}, {1}, {0}},
      {{1, 1, 1, 1, 1, 1, 1, 2}, {2, 1, 1, 1, 1, 1, 1, 1}, {2, 1, 1, 1, 1, 1, 1, 2}},
      {{200, 1}, {1, 200}, {200, 200}},
      {{300, 171}, {171}, {300, 171}},
  };
  return *cases;
}

template <typename T>
void CheckBroadcasts(absl::string_view op, const std::function<T(T, T)>& expected) {
  std::mt19937 random(7);
  for (const BroadcastCase& c : BroadcastCases()) {
    const Tensor x = RandomTensor<T>(ShapeOf(c.x), random);
    const Tensor y = RandomTensor<T>(ShapeOf(c.y), random);
    const Tensor z = Eval(op, {x, y});
    ASSERT_EQ(z.shape(), ShapeOf(c.z)) << std::string(op);
    for (int64_t i = 0; i < z.num_elements(); ++i) {
      ASSERT_EQ(z.values<T>()[i],
                expected(ElementAt<T>(x, z.shape(), i), ElementAt<T>(y, z.shape(), i)))
          << std::string(op) << " at " << i << " of " << z.shape().ToString();
    }
  }
}

TEST(MathBinary, BroadcastsAsDefinedWithAndWithoutVectorCode) {
  CheckBroadcasts<float>("Sub", [](float x, float y) { return x - y; });
  CheckBroadcasts<double>("Mul", [](double x, double y) { return x * y; });
  CheckBroadcasts<int32_t>("Sub", [](int32_t x, int32_t y) { return x - y; });
  CheckBroadcasts<int64_t>("AddV2", [](int64_t x, int64_t y) { return x + y; });
  CheckBroadcasts<int16_t>("Sub", [](int16_t x, int16_t y) { return static_cast<int16_t>(x - y); });
  CheckBroadcasts<uint8_t>("BitwiseXor",
                           [](uint8_t x, uint8_t y) { return static_cast<uint8_t>(x ^ y); });
  CheckBroadcasts<float>("Maximum", [](float x, float y) { return std::max(x, y); });
  CheckBroadcasts<double>("SquaredDifference",
                          [](double x, double y) { return (x - y) * (x - y); });
}

template <typename T>
void CheckComparisons() {
  const std::vector<std::pair<const char*, std::function<bool(T, T)>>> ops = {
      {"Less", std::less<T>()},
      {"LessEqual", std::less_equal<T>()},
      {"Greater", std::greater<T>()},
      {"Equal", std::equal_to<T>()},
      {"NotEqual", std::not_equal_to<T>()},
      {"GreaterEqual", std::greater_equal<T>()}};
  std::mt19937 random(3);
  for (const auto& [op, expected] : ops) {
    for (const BroadcastCase& c : BroadcastCases()) {
      const Tensor x = RandomTensor<T>(ShapeOf(c.x), random);
      const Tensor y = RandomTensor<T>(ShapeOf(c.y), random);
      const Tensor z = Eval(op, {x, y});
      ASSERT_EQ(z.shape(), ShapeOf(c.z));
      for (int64_t i = 0; i < z.num_elements(); ++i) {
        ASSERT_EQ(z.values<bool>()[i],
                  expected(ElementAt<T>(x, z.shape(), i), ElementAt<T>(y, z.shape(), i)))
            << op << " at " << i << " of " << z.shape().ToString();
      }
    }
  }
}

TEST(MathBinary, ComparesWithAndWithoutVectorCode) {
  CheckComparisons<float>();
  CheckComparisons<double>();
  CheckComparisons<int32_t>();
  CheckComparisons<int64_t>();
  CheckComparisons<int8_t>();
  CheckComparisons<uint64_t>();
}

TEST(MathBinary, ShapesThatDontBroadcastAreNamed) {
  const absl::Status status =
      EvalError("AddV2", {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({1, 2, 3})});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "Incompatible shapes: [2] vs. [3]");
}

TEST(MathBinary, BroadcastToMoreElementsThanCanBeCountedIsAnError) {
  const Tensor column = *Tensor::Make(DType::kBool, ShapeOf({1 << 20, 1, 1, 1}));
  Tensor x = column;
  Tensor huge = column.Reshaped(ShapeOf({1, 1 << 20, 1, 1}));
  EXPECT_EQ(EvalError("LogicalOr", {x, huge}).code(), absl::StatusCode::kResourceExhausted);
}

TEST(MathBinary, ScalarTailAndMiddleOfAVectorGiveTheSameBits) {
  std::mt19937 random(11);
  Tensor x = *Tensor::Make(DType::kFloat, Shape::Vector(67));
  Tensor y = *Tensor::Make(DType::kFloat, Shape::Vector(67));
  for (Tensor* t : {&x, &y}) {
    for (float& v : t->mutable_values<float>())
      v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  }
  for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum"}) {
    const std::vector<float> all = Values<float>(Eval(op, {x, y}));
    for (int i = 0; i < 67; ++i) {
      const float one = Binary<float>(op, x.values<float>()[i], y.values<float>()[i])[0];
      if (std::isnan(one) && std::isnan(all[i])) continue;
      EXPECT_EQ(std::bit_cast<uint32_t>(one), std::bit_cast<uint32_t>(all[i])) << op << " at " << i;
    }
  }
}

TEST(MathBinary, AnInputThatOthersSeeIsNotOverwritten) {
  const Tensor x = Tensor::Vector<float>({1, 2, 3});
  const Tensor y = Tensor::Vector<float>({10, 20, 30});
  EXPECT_EQ(Values<float>(Eval("Sub", {y, x})), (std::vector<float>{9, 18, 27}));
  EXPECT_EQ(Values<float>(x), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Values<float>(y), (std::vector<float>{10, 20, 30}));
}

TEST(MathBinary, AnInputThatNobodyElseSeesHoldsTheResult) {
  Tensor x = *Tensor::Make(DType::kFloat, ShapeOf({64, 64}));
  Tensor row = *Tensor::Make(DType::kFloat, ShapeOf({64}));
  for (float& v : x.mutable_values<float>()) v = 3;
  for (float& v : row.mutable_values<float>()) v = 10;
  const void* buffer = x.raw_data();
  std::vector<Tensor> inputs;
  inputs.push_back(row);
  inputs.push_back(std::move(x));
  Node node = *MakeNode(Ops(), "Sub", inputs);
  RunEnv env;
  const std::vector<Tensor> outputs = *EvaluateNode(Ops(), node, std::move(inputs), env);
  EXPECT_EQ(outputs[0].raw_data(), buffer);
  EXPECT_EQ(Values<float>(outputs[0]), std::vector<float>(64 * 64, 7.0f));
}

TEST(MathBinary, IntegersWrapAround) {
  EXPECT_EQ(Binary<int32_t>("AddV2", INT32_MAX, 1)[0], INT32_MIN);
  EXPECT_EQ(Binary<int64_t>("Sub", INT64_MIN, 1)[0], INT64_MAX);
  EXPECT_EQ(Binary<int8_t>("Mul", 100, 3)[0], 44);
  EXPECT_EQ(Binary<uint16_t>("Mul", 65535, 65535)[0], 1);
  EXPECT_EQ(Binary<int32_t>("SquaredDifference", INT32_MAX, -1)[0], 0);
  EXPECT_EQ(Binary<uint8_t>("Sub", 0, 1)[0], 255);
}

TEST(MathBinary, DivisionOfIntegersRounds) {
  const std::vector<std::array<int32_t, 6>> cases = {
      // x, y, truncated quotient, floored quotient, truncated remainder, floored remainder
      {7, 2, 3, 3, 1, 1},
      {-7, 2, -3, -4, -1, 1},
      {7, -2, -3, -4, 1, -1},
      {-7, -2, 3, 3, -1, -1},
      {-6, 3, -2, -2, 0, 0},
      {0, -5, 0, 0, 0, 0},
      {INT32_MIN, -1, INT32_MIN, INT32_MIN, 0, 0},
      {INT32_MIN, 2, INT32_MIN / 2, INT32_MIN / 2, 0, 0},
      {INT32_MIN, INT32_MAX, -1, -2, -1, INT32_MAX - 1}};
  for (const auto& [x, y, div, floor_div, mod, floor_mod] : cases) {
    SCOPED_TRACE(testing::Message() << x << " by " << y);
    EXPECT_EQ(Binary<int32_t>("Div", x, y)[0], div);
    EXPECT_EQ(Binary<int32_t>("TruncateDiv", x, y)[0], div);
    EXPECT_EQ(Binary<int32_t>("FloorDiv", x, y)[0], floor_div);
    EXPECT_EQ(Binary<int32_t>("TruncateMod", x, y)[0], mod);
    EXPECT_EQ(Binary<int32_t>("Mod", x, y)[0], mod);
    EXPECT_EQ(Binary<int32_t>("FloorMod", x, y)[0], floor_mod);
  }
  EXPECT_EQ(Binary<uint8_t>("FloorDiv", 255, 2)[0], 127);
  EXPECT_EQ(Binary<uint64_t>("FloorMod", UINT64_MAX, 10)[0], 5u);
  EXPECT_EQ(Binary<int8_t>("FloorDiv", -128, -1)[0], -128);
}

TEST(MathBinary, DivisionOfAnIntegerByZeroIsAnError) {
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod"}) {
    const absl::Status scalar =
        EvalError(op, {Tensor::Scalar<int32_t>(1), Tensor::Scalar<int32_t>(0)});
    EXPECT_EQ(scalar.code(), absl::StatusCode::kInvalidArgument) << op;
    EXPECT_EQ(Message(scalar), "Integer division by zero") << op;
    const absl::Status vector =
        EvalError(op, {Tensor::Vector<int64_t>({1, 2, 3}), Tensor::Vector<int64_t>({1, 0, 3})});
    EXPECT_EQ(Message(vector), "Integer division by zero") << op;
  }
}

TEST(MathBinary, DivisionOfFloatsFollowsIeee) {
  EXPECT_EQ(Binary<float>("RealDiv", 1, 0)[0], kInf);
  EXPECT_TRUE(std::isnan(Binary<float>("Div", 0, 0)[0]));
  EXPECT_EQ(Binary<double>("DivNoNan", 5, 0)[0], 0);
  EXPECT_EQ(Binary<double>("DivNoNan", 5, 4)[0], 1.25);
  EXPECT_EQ(Binary<double>("DivNoNan", 5, -0.0)[0], 0);
  EXPECT_EQ(Binary<double>("FloorDiv", -7.5, 2)[0], -4);
  EXPECT_EQ(Binary<double>("FloorMod", -7.5, 2)[0], 0.5);
  EXPECT_EQ(Binary<double>("FloorMod", 7.5, -2)[0], -0.5);
  EXPECT_EQ(Binary<double>("TruncateMod", -7.5, 2)[0], -1.5);
  EXPECT_EQ(Binary<double>("TruncateDiv", -7.5, 2)[0], -3);
  EXPECT_EQ(Binary<float>("TruncateDiv", 1, 0)[0], kInf);
  EXPECT_TRUE(std::isnan(Binary<float>("FloorMod", 1, 0)[0]));
  EXPECT_EQ(Binary<complex128>("RealDiv", {4, 2}, {1, 1})[0], complex128(3, -1));
}

TEST(MathBinary, QuotientsOfSmallFloatsAreRoundedBeforeTheyAreMadeWhole) {
  // 17.03 in magnitude: the nearest bfloat16 is 17.
  const Tensor z = Eval("FloorDiv", {Tensor::Scalar<BFloat16>(BFloat16(-6.71875f)),
                                     Tensor::Scalar<BFloat16>(BFloat16(0.39453125f))});
  EXPECT_EQ(static_cast<float>(z.scalar<BFloat16>()), -17);
  // 16.9412, and 17 after rounding.
  const Tensor t = Eval("TruncateDiv", {Tensor::Scalar<BFloat16>(BFloat16(18.0f)),
                                        Tensor::Scalar<BFloat16>(BFloat16(1.0625f))});
  EXPECT_EQ(static_cast<float>(t.scalar<BFloat16>()), 17);
}

TEST(MathBinary, RealDivOfIntegersHasNoKernel) {
  EXPECT_EQ(EvalError("RealDiv", {Tensor::Scalar<int32_t>(1), Tensor::Scalar<int32_t>(2)}).code(),
            absl::StatusCode::kUnimplemented);
}

TEST(MathBinary, NanWinsOverAnyNumber) {
  std::vector<float> xs(33, 1), ys(33, 2);
  xs[3] = kNan;
  ys[20] = kNan;
  xs[32] = ys[32] = kNan;
  xs[4] = kInf;
  ys[5] = -kInf;
  const Tensor x = Tensor::FromValues<float>(xs, Shape::Vector(33));
  const Tensor y = Tensor::FromValues<float>(ys, Shape::Vector(33));
  for (const char* op : {"Maximum", "Minimum"}) {
    const std::vector<float> z = Values<float>(Eval(op, {x, y}));
    for (const int i : {3, 20, 32}) EXPECT_TRUE(std::isnan(z[i])) << op << " at " << i;
    EXPECT_FALSE(std::isnan(z[4])) << op;
    EXPECT_TRUE(std::isnan(Binary<double>(op, kNan, 1)[0]));
    EXPECT_TRUE(std::isnan(Binary<double>(op, 1, kNan)[0]));
  }
  EXPECT_EQ(Values<float>(Eval("Maximum", {x, y}))[4], kInf);
  EXPECT_EQ(Values<float>(Eval("Minimum", {x, y}))[5], -kInf);
  EXPECT_EQ(Binary<uint64_t>("Maximum", UINT64_MAX, 1)[0], UINT64_MAX);
  EXPECT_EQ(Binary<int8_t>("Minimum", -128, 127)[0], -128);
}

TEST(MathBinary, ComparisonsWithNan) {
  const std::vector<std::pair<const char*, bool>> ops = {
      {"Less", false},         {"LessEqual", false}, {"Equal", false},
      {"GreaterEqual", false}, {"Greater", false},   {"NotEqual", true}};
  for (const auto& [op, expected] : ops) {
    EXPECT_EQ(Values<bool>(Eval(op, {Tensor::Scalar<float>(kNan), Tensor::Scalar<float>(1)}))[0],
              expected)
        << op;
    const Tensor nans = Tensor::FromValues<float>(std::vector<float>(40, kNan), Shape::Vector(40));
    EXPECT_EQ(Values<bool>(Eval(op, {nans, Tensor::Scalar<float>(1)})),
              std::vector<bool>(40, expected))
        << op;
  }
}

TEST(MathBinary, EqualityOfEveryKindOfValue) {
  const auto equal = [](const Tensor& x, const Tensor& y) {
    return Values<bool>(Eval("Equal", {x, y}));
  };
  EXPECT_EQ(equal(Tensor::Vector<std::string>({"a", "b"}), Tensor::Scalar<std::string>("b")),
            (std::vector<bool>{false, true}));
  EXPECT_EQ(equal(Tensor::Vector<bool>({true, false}), Tensor::Vector<bool>({true, true})),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(equal(Tensor::Scalar<complex64>({1, 2}), Tensor::Scalar<complex64>({1, 2}))[0], true);
  EXPECT_EQ(equal(Tensor::Scalar<Half>(Half(0.0f)), Tensor::Scalar<Half>(Half(-0.0f)))[0], true);
  EXPECT_EQ(equal(Tensor::Scalar<int8_t>(-1).Bitcast(DType::kQint8),
                  Tensor::Scalar<int8_t>(-1).Bitcast(DType::kQint8))[0],
            true);
  EXPECT_EQ(EvalError("Equal", {Tensor::FromObject(DType::kResource, nullptr),
                                Tensor::FromObject(DType::kResource, nullptr)})
                .code(),
            absl::StatusCode::kUnimplemented);
}

TEST(MathBinary, EqualityOfIncompatibleShapesIsAnErrorUnlessAllowed) {
  const std::vector<Tensor> inputs = {Tensor::Vector<float>({1, 2}),
                                      Tensor::Vector<float>({1, 2, 3})};
  EXPECT_EQ(EvalError("Equal", inputs).code(), absl::StatusCode::kInvalidArgument);
  const AttrMap lenient = test::Attrs({{"incompatible_shape_error", false}});
  EXPECT_EQ(Values<bool>(Eval("Equal", inputs, lenient)), std::vector<bool>{false});
  EXPECT_EQ(Values<bool>(Eval("NotEqual", inputs, lenient)), std::vector<bool>{true});
}

TEST(MathBinary, Powers) {
  EXPECT_EQ(Binary<int32_t>("Pow", 3, 4)[0], 81);
  EXPECT_EQ(Binary<int32_t>("Pow", -2, 31)[0], INT32_MIN);
  EXPECT_EQ(Binary<int64_t>("Pow", 0, 0)[0], 1);
  EXPECT_EQ(Binary<int8_t>("Pow", 2, 100)[0], 0);
  EXPECT_EQ(Binary<float>("Pow", 2, -1)[0], 0.5f);
  EXPECT_TRUE(std::isnan(Binary<double>("Pow", -8, 1.0 / 3)[0]));
  EXPECT_NEAR(std::abs(Binary<complex128>("Pow", {0, 1}, {2, 0})[0] - complex128(-1, 0)), 0, 1e-15);
  const absl::Status status =
      EvalError("Pow", {Tensor::Vector<int32_t>({2, 2}), Tensor::Vector<int32_t>({1, -1})});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "Integers to negative integer powers are not allowed");
  EXPECT_DOUBLE_EQ(Binary<double>("Atan2", 1, -1)[0], 3 * std::atan(1.0));
}

TEST(MathBinary, ShiftsClampTheirAmount) {
  EXPECT_EQ(Binary<int32_t>("RightShift", -8, 1)[0], -4);
  EXPECT_EQ(Binary<int32_t>("RightShift", -8, 100)[0], -1);
  EXPECT_EQ(Binary<int32_t>("RightShift", -8, -3)[0], -8);
  EXPECT_EQ(Binary<uint8_t>("RightShift", 255, 4)[0], 15);
  EXPECT_EQ(Binary<int8_t>("LeftShift", 1, 7)[0], -128);
  EXPECT_EQ(Binary<int8_t>("LeftShift", 3, 127)[0], -128);
  EXPECT_EQ(Binary<int64_t>("LeftShift", -1, 63)[0], INT64_MIN);
}

TEST(MathBinary, BitsOfIntegers) {
  EXPECT_EQ(Binary<int32_t>("BitwiseAnd", 12, 10)[0], 8);
  EXPECT_EQ(Binary<int32_t>("BitwiseOr", 12, 10)[0], 14);
  EXPECT_EQ(Binary<int64_t>("BitwiseXor", -1, 1)[0], -2);
  EXPECT_EQ(Values<uint8_t>(Eval("Invert", {Tensor::Scalar<uint8_t>(1)}))[0], 254);
}

TEST(MathBinary, TruthTables) {
  const Tensor x = Tensor::Vector<bool>({false, false, true, true});
  const Tensor y = Tensor::Vector<bool>({false, true, false, true});
  EXPECT_EQ(Values<bool>(Eval("LogicalAnd", {x, y})),
            (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(Values<bool>(Eval("LogicalOr", {x, y})), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(Values<bool>(Eval("LogicalNot", {x})), (std::vector<bool>{true, true, false, false}));
}

TEST(MathBinary, StringsAreJoined) {
  const Tensor x = Tensor::FromValues<std::string>({"a", "b"}, ShapeOf({2, 1}));
  const Tensor y = Tensor::Vector<std::string>({"1", "2"});
  EXPECT_EQ(Values<std::string>(Eval("Add", {x, y})),
            (std::vector<std::string>{"a1", "a2", "b1", "b2"}));
}

TEST(MathBinary, JoinedStringsMustFitTheBudget) {
  Tensor x = *Tensor::Make(DType::kString, ShapeOf({1000, 1}));
  x.mutable_values<std::string>()[0] = std::string(1000000, 'x');
  const std::vector<Tensor> inputs = {x, *Tensor::Make(DType::kString, ShapeOf({1, 1000}))};
  const Node node = *MakeNode(Ops(), "Add", inputs);
  MemoryBudget budget(256 << 20);
  RunEnv env;
  env.budget = &budget;
  const auto outputs = EvaluateNode(Ops(), node, inputs, env);
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.used(), 0);
}

TEST(MathBinary, SmallFloatsAreComputedInFloatAndRoundedOnce) {
  EXPECT_EQ(static_cast<float>(Binary<Half>("AddV2", Half(2048.0f), Half(1.0f))[0]), 2048.0f);
  EXPECT_EQ(static_cast<float>(Binary<Half>("Mul", Half(60000.0f), Half(2.0f))[0]), kInf);
  EXPECT_EQ(static_cast<float>(Binary<BFloat16>("Sub", BFloat16(256.0f), BFloat16(1.0f))[0]),
            255.0f);
  EXPECT_EQ(Values<bool>(Eval("Less", {Tensor::Scalar(Half(1.0f)), Tensor::Scalar(Half(2.0f))}))[0],
            true);
}

TEST(MathBinary, SquaredDifferenceOfComplexNumbersIsReal) {
  EXPECT_EQ(Binary<complex64>("SquaredDifference", {3, 4}, {0, 0})[0], complex64(25, 0));
}

}  // namespace
}  // namespace gyre
