// Random numbers. Expected numbers are those of TensorFlow 2.21 for the seed [3, 7].
#include <algorithm>
#include <cmath>
#include <set>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

const Tensor kKey = Tensor::Vector<uint64_t>({9222191355702222625u});
const Tensor kCounter = Tensor::Vector<uint64_t>({0, 8674681144361816581u});
const Tensor kPhilox = Tensor::Scalar(int32_t{1});

Tensor ShapeTensor(std::vector<int32_t> dims) {
  return Tensor::FromValues<int32_t>(dims, Shape::Vector(static_cast<int64_t>(dims.size())));
}

Tensor Draw(absl::string_view op, std::vector<int32_t> shape, DType dtype) {
  return Eval(op, {ShapeTensor(std::move(shape)), kKey, kCounter, kPhilox},
              Attrs({{"dtype", dtype}}));
}

template <typename T>
std::vector<double> AsDoubles(const Tensor& t) {
  std::vector<double> values;
  for (const T& v : t.values<T>()) {
    if constexpr (std::is_same_v<T, double>) {
      values.push_back(v);
    } else {
      values.push_back(double{static_cast<float>(v)});
    }
  }
  return values;
}

auto Near(std::vector<double> want, double tolerance) {
  return ::testing::Pointwise(::testing::DoubleNear(tolerance), want);
}

TEST(StatelessRandomKey, ScramblesTheSeed) {
  const std::vector<Tensor> out =
      *EvaluateOp("StatelessRandomGetKeyCounter", {Tensor::Vector<int32_t>({3, 7})});
  EXPECT_EQ(Values<uint64_t>(out[0]), Values<uint64_t>(kKey));
  EXPECT_EQ(Values<uint64_t>(out[1]), Values<uint64_t>(kCounter));
  const std::vector<Tensor> negative =
      *EvaluateOp("StatelessRandomGetKeyCounter", {Tensor::Vector<int32_t>({-1, -7})});
  EXPECT_EQ(Values<uint64_t>(negative[0])[0], 14622695834159675533u);
  const std::vector<Tensor> wide = *EvaluateOp("StatelessRandomGetKeyCounterAlg",
                                               {Tensor::Vector<int64_t>({int64_t{1} << 40, -7})});
  EXPECT_EQ(Values<uint64_t>(wide[0])[0], 16988320147767186026u);
  EXPECT_EQ(Values<uint64_t>(wide[1])[1], 3289899953769841052u);
  EXPECT_EQ(wide[2].scalar<int32_t>(), 1);
  EXPECT_EQ(Eval("StatelessRandomGetAlg", {}).scalar<int32_t>(), 1);
}

TEST(StatelessRandomUniform, HasThePeersBits) {
  const char* op = "StatelessRandomUniformV2";
  EXPECT_EQ(AsDoubles<float>(Draw(op, {7}, DType::kFloat)),
            (std::vector<double>{0.8822014331817627, 0.028234124183654785, 0.9534571170806885,
                                 0.003298521041870117, 0.49390101432800293, 0.9725600481033325,
                                 0.2474435567855835}));
  EXPECT_EQ(AsDoubles<double>(Draw(op, {5}, DType::kDouble)),
            (std::vector<double>{0.05761204106404283, 0.6276573818238425, 0.9512083921070398,
                                 0.9795487775546308, 0.7397358912139516}));
  EXPECT_EQ(AsDoubles<Half>(Draw(op, {3}, DType::kHalf)),
            (std::vector<double>{0.994140625, 0.2939453125, 0.720703125}));
  EXPECT_EQ(AsDoubles<BFloat16>(Draw(op, {3}, DType::kBfloat16)),
            (std::vector<double>{0.953125, 0.3515625, 0.765625}));
  const std::vector<double> many = AsDoubles<float>(Draw(op, {1000, 3}, DType::kFloat));
  EXPECT_EQ(std::vector<double>(many.end() - 3, many.end()),
            (std::vector<double>{0.5315202474594116, 0.19258904457092285, 0.4722762107849121}));
}

TEST(StatelessRandomNormal, HasThePeersNumbers) {
  const char* op = "StatelessRandomNormalV2";
  EXPECT_THAT(
      AsDoubles<float>(Draw(op, {7}, DType::kFloat)),
      Near({0.0883537158370018, 0.4928117096424103, 0.006398288067430258, 0.30867573618888855,
            -0.2037738561630249, 1.1701780557632446, -0.5586051344871521},
           1e-7));
  EXPECT_THAT(AsDoubles<double>(Draw(op, {3}, DType::kDouble)),
              Near({-1.7173561739083023, -1.6609440525473393, -0.040532119404693694}, 1e-15));
  EXPECT_THAT(AsDoubles<Half>(Draw(op, {2}, DType::kHalf)),
              Near({0.08837890625, 0.492919921875}, 1e-6));
}

TEST(StatelessTruncatedNormal, HasThePeersNumbers) {
  const char* op = "StatelessTruncatedNormalV2";
  EXPECT_THAT(
      AsDoubles<float>(Draw(op, {7}, DType::kFloat)),
      Near({0.0883537158370018, 0.4928117096424103, 0.006398288067430258, 0.30867573618888855,
            0.6313673853874207, 1.2058933973312378, -0.39673274755477905},
           1e-7));
  EXPECT_THAT(
      AsDoubles<double>(Draw(op, {7}, DType::kDouble)),
      Near({-1.7173561739083023, -1.6609440525473393, -0.5066344600282846, 1.0178284774334132,
            -0.2669288767904111, -1.8704577811601935, -0.6666667125168638},
           1e-15));
  const std::vector<double> tail = AsDoubles<float>(Draw(op, {100}, DType::kFloat));
  EXPECT_THAT(std::vector<double>(tail.end() - 2, tail.end()),
              Near({0.2904566824436188, 1.024977207183838}, 2e-7));
}

TEST(StatelessRandomInteger, HasThePeersNumbers) {
  const auto draw = [](const Tensor& low, const Tensor& high) {
    return Eval("StatelessRandomUniformIntV2",
                {ShapeTensor({5}), kKey, kCounter, kPhilox, low, high});
  };
  EXPECT_EQ(Values<int32_t>(draw(Tensor::Scalar(int32_t{-5}), Tensor::Scalar(int32_t{1000}))),
            (std::vector<int32_t>{230, 617, 963, 327, 662}));
  EXPECT_EQ(
      Values<int64_t>(draw(Tensor::Scalar(int64_t{-5}), Tensor::Scalar(int64_t{1000000000000}))),
      (std::vector<int64_t>{520433092782, 329536013120, 131120716291, 477982571592, 742423510892}));
  const char* full = "StatelessRandomUniformFullIntV2";
  EXPECT_EQ(Values<int32_t>(Draw(full, {5}, DType::kInt32)),
            (std::vector<int32_t>{99675130, -1702650579, 301599458, 2004904982, -515950554}));
  EXPECT_EQ(Values<uint64_t>(Draw(full, {2}, DType::kUint64)),
            (std::vector<uint64_t>{11133915520488762362u, 8611001329579068130u}));
}

TEST(StatelessRandomBySeed, EqualsTheKeyedForm) {
  const Tensor seed = Tensor::Vector<int64_t>({3, 7});
  const AttrMap as_float = Attrs({{"dtype", DType::kFloat}});
  EXPECT_EQ(Values<float>(Eval("StatelessRandomUniform", {ShapeTensor({9}), seed}, as_float)),
            Values<float>(Draw("StatelessRandomUniformV2", {9}, DType::kFloat)));
  EXPECT_EQ(Values<float>(Eval("StatelessTruncatedNormal", {ShapeTensor({9}), seed}, as_float)),
            Values<float>(Draw("StatelessTruncatedNormalV2", {9}, DType::kFloat)));
  EXPECT_EQ(Values<int32_t>(Eval("StatelessRandomUniformInt",
                                 {ShapeTensor({5}), seed, Tensor::Scalar(int32_t{0}),
                                  Tensor::Scalar(int32_t{100})})),
            (std::vector<int32_t>{30, 17, 58, 82, 42}));
}

TEST(StatelessRandom, CounterCarries) {
  const Tensor counter = Tensor::Vector<uint64_t>({~uint64_t{0}, 5});
  EXPECT_EQ(AsDoubles<float>(
                Eval("StatelessRandomUniformV2", {ShapeTensor({6}), kKey, counter, kPhilox})),
            (std::vector<double>{0.5810295343399048, 0.22213292121887207, 0.5552438497543335,
                                 0.6312634944915771, 0.05437171459197998, 0.010165810585021973}));
}

TEST(StatelessRandom, BadArgumentsAreNamed) {
  const auto call = [](const Tensor& shape, const Tensor& key, int32_t alg) {
    return Message(
        EvalError("StatelessRandomUniformV2", {shape, key, kCounter, Tensor::Scalar(alg)}));
  };
  EXPECT_THAT(call(ShapeTensor({5}), kCounter, 1), HasSubstr("key must have shape [1]"));
  EXPECT_THAT(call(ShapeTensor({5}), kKey, 2), HasSubstr("alg 2 is not supported"));
  EXPECT_THAT(call(ShapeTensor({-5}), kKey, 1), HasSubstr("-5"));
  EXPECT_THAT(call(Tensor::Scalar(int32_t{5}), kKey, 1), HasSubstr("shape must be a vector"));
  EXPECT_THAT(Message(EvalError("StatelessRandomGetKeyCounter", {Tensor::Vector<int64_t>({1})})),
              HasSubstr("seed must have shape [2], not [1]"));
}

Tensor DrawStateful(absl::string_view op, const Tensor& shape, AttrMap attrs, uint64_t run,
                    int64_t iteration) {
  attrs.Set("dtype", DType::kFloat);
  const Node node = *MakeNode(Ops(), op, {shape}, attrs);
  RunEnv env;
  env.run_id = run;
  env.seed = 99;
  return (*EvaluateNode(Ops(), node, {shape}, env, Tag{0, iteration}))[0];
}

TEST(RandomUniform, DependsOnRunAndIterationAlone) {
  const auto draw = [](uint64_t run, int64_t iteration) {
    return Values<float>(DrawStateful("RandomUniform", ShapeTensor({4}), {}, run, iteration));
  };
  EXPECT_EQ(draw(1, 2), draw(1, 2));
  EXPECT_NE(draw(1, 2), draw(2, 2));
  EXPECT_NE(draw(1, 2), draw(1, 3));
}

TEST(RandomDistributions, HaveTheirMoments) {
  const Tensor shape = ShapeTensor({100000});
  const auto moments = [&](absl::string_view op) {
    double sum = 0, squares = 0;
    const std::vector<float> x = Values<float>(DrawStateful(op, shape, {}, 1, 0));
    for (const float v : x) {
      sum += v;
      squares += double{v} * v;
    }
    const double mean = sum / 1e5;
    return std::make_pair(mean, squares / 1e5 - mean * mean);
  };
  const auto [uniform_mean, uniform_variance] = moments("RandomUniform");
  EXPECT_NEAR(uniform_mean, 0.5, 0.005);
  EXPECT_NEAR(uniform_variance, 1.0 / 12, 0.002);
  const auto [normal_mean, normal_variance] = moments("RandomStandardNormal");
  EXPECT_NEAR(normal_mean, 0, 0.02);
  EXPECT_NEAR(normal_variance, 1, 0.03);
  const std::vector<float> truncated =
      Values<float>(DrawStateful("TruncatedNormal", shape, {}, 1, 0));
  EXPECT_LT(std::abs(*std::max_element(truncated.begin(), truncated.end())), 2);
  EXPECT_GT(*std::min_element(truncated.begin(), truncated.end()), -2);
}

TEST(RandomUniformInt, StaysInRange) {
  const Tensor low = Tensor::Scalar(int64_t{-3});
  const std::vector<int64_t> x = Values<int64_t>(
      Eval("RandomUniformInt", {ShapeTensor({1000}), low, Tensor::Scalar(int64_t{4})}));
  EXPECT_EQ(std::set<int64_t>(x.begin(), x.end()), (std::set<int64_t>{-3, -2, -1, 0, 1, 2, 3}));
  EXPECT_THAT(Message(EvalError("RandomUniformInt", {ShapeTensor({5}), low, low})),
              HasSubstr("-3 >= -3"));
  EXPECT_EQ(Eval("RandomUniformInt", {ShapeTensor({0}), low, low}).shape(), ShapeOf({0}));
}

TEST(RandomShuffle, PermutesRows) {
  const Tensor x =
      Tensor::FromValues<std::string>({"a", "A", "b", "B", "c", "C", "d", "D"}, ShapeOf({4, 2}));
  const std::vector<std::string> shuffled = Values<std::string>(Eval("RandomShuffle", {x}));
  std::set<std::string> rows;
  for (int i = 0; i < 8; i += 2) rows.insert(shuffled[i] + shuffled[i + 1]);
  EXPECT_EQ(rows, (std::set<std::string>{"aA", "bB", "cC", "dD"}));
}

}  // namespace
}  // namespace gyre::test
