// Fourier transforms against sums by their definition.
#include <cmath>
#include <complex>
#include <random>

#include "gmock/gmock.h"
#include "ops/math_values.h"

namespace gyre::test {
namespace {

using ::testing::HasSubstr;

template <typename R>
std::vector<std::complex<R>> Random(int64_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::complex<R>> x(n);
  for (auto& v : x) {
    const auto re = static_cast<R>(normal(random));
    v = {re, static_cast<R>(normal(random))};
  }
  return x;
}

// Of rows of length n.
template <typename R>
std::vector<std::complex<R>> Naive(const std::vector<std::complex<R>>& x, int64_t n, bool inverse) {
  std::vector<std::complex<R>> y(x.size());
  for (size_t row = 0; row < x.size(); row += n) {
    for (int64_t j = 0; j < n; ++j) {
      std::complex<double> sum;
      for (int64_t k = 0; k < n; ++k) {
        const double angle =
            (inverse ? 2 : -2) * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
        sum += std::complex<double>(x[row + k]) * std::polar(1.0, angle);
      }
      y[row + j] = std::complex<R>(inverse ? sum / static_cast<double>(n) : sum);
    }
  }
  return y;
}

template <typename R>
double Error(const std::vector<std::complex<R>>& got, const std::vector<std::complex<R>>& want) {
  double most = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    most = std::max<double>(most, std::abs(got[i] - want[i]));
    size = std::max<double>(size, std::abs(want[i]));
  }
  return most / std::max(size, 1e-30);
}

template <typename R>
void CheckLengths(double tolerance) {
  using C = std::complex<R>;
  for (const int64_t n : {1,  2,  3,  4,  5,  6,  7,   8,   9,   12,  15,  16,  17,  20,   30,  31,
                          32, 37, 49, 60, 64, 97, 100, 121, 128, 210, 256, 331, 480, 1009, 1024}) {
    const int64_t rows = n < 64 ? 5 : 2;
    const auto x = Random<R>(rows * n);
    const Tensor input = Tensor::FromValues<C>(x, ShapeOf({rows, n}));
    EXPECT_LE(Error(Values<C>(Eval("FFT", {input})), Naive(x, n, false)), tolerance) << n;
    EXPECT_LE(Error(Values<C>(Eval("IFFT", {input})), Naive(x, n, true)), tolerance) << n;
  }
}

TEST(Fft, IsTheSumForAllKindsOfLengths) {
  CheckLengths<double>(2e-15 * 16);
  CheckLengths<float>(1e-6);
}

template <typename T>
Tensor Lengths(std::vector<T> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::FromValues<T>(values, ShapeOf({n}));
}

TEST(Fft, AlongSeveralAxes) {
  const auto x = Random<double>(2 * 3 * 40 * 5);
  const Tensor input = Tensor::FromValues<complex128>(x, ShapeOf({2, 3, 40, 5}));
  Tensor by_axes = input;
  for (int axis = 3; axis >= 1; --axis) {
    // The axis last, transformed, and back.
    std::vector<int32_t> order = {0, 1, 2, 3};
    std::swap(order[axis], order[3]);
    const Tensor turned = Eval("Transpose", {by_axes, Lengths<int32_t>(order)});
    by_axes = Eval("Transpose", {Eval("FFT", {turned}), Lengths<int32_t>(order)});
    const absl::string_view op = axis == 2 ? "FFT2D" : "FFT3D";
    if (axis == 3) continue;
    EXPECT_LE(Error(Values<complex128>(Eval(op, {input})), Values<complex128>(by_axes)), 1e-14);
  }
  const Tensor back = Eval("IFFT3D", {by_axes});
  EXPECT_LE(Error(Values<complex128>(back), x), 1e-14);
  const Tensor any =
      Eval("FFTND", {input, Lengths<int32_t>({3, 40, 5}), Lengths<int32_t>({-3, 2, 3})});
  EXPECT_LE(Error(Values<complex128>(any), Values<complex128>(by_axes)), 1e-14);
}

TEST(Fft, OfRealNumbersIsHalfOfTheWholeOne) {
  for (const int64_t n : {1, 2, 3, 8, 9, 30, 37}) {
    auto x = Random<double>(3 * n);
    std::vector<double> real(3 * n);
    for (size_t i = 0; i < x.size(); ++i) {
      real[i] = x[i].real();
      x[i] = real[i];
    }
    const Tensor input = Tensor::FromValues<double>(real, ShapeOf({3, n}));
    const Tensor length = Lengths<int32_t>({static_cast<int32_t>(n)});
    const AttrMap types = Attrs({{"Treal", DType::kDouble}, {"Tcomplex", DType::kComplex128}});
    const Tensor half = Eval("RFFT", {input, length}, types);
    ASSERT_EQ(half.shape(), ShapeOf({3, n / 2 + 1}));
    const auto whole = Naive(x, n, false);
    const auto got = Values<complex128>(half);
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t j = 0; j <= n / 2; ++j)
        EXPECT_LE(std::abs(got[row * (n / 2 + 1) + j] - whole[row * n + j]), 1e-13 * n);
    }
    const auto back = Values<double>(Eval("IRFFT", {half, length}, types));
    for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], real[i], 1e-13);
  }
}

TEST(Fft, RealTransformsCutTheirInput) {
  std::vector<float> values(24);
  for (int i = 0; i < 24; ++i) values[i] = static_cast<float>(i * i % 7);
  const Tensor input = Tensor::FromValues<float>(values, ShapeOf({4, 6}));
  const Tensor cut = Eval("RFFT2D", {input, Lengths<int32_t>({3, 4})});
  ASSERT_EQ(cut.shape(), ShapeOf({3, 3}));
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) sum += values[i * 6 + j];
  }
  EXPECT_NEAR(Values<complex64>(cut)[0].real(), sum, 1e-5);
  EXPECT_THAT(Message(EvalError("RFFT", {input, Lengths<int32_t>({8})})),
              HasSubstr("must have length of at least 8"));
  EXPECT_THAT(Message(EvalError("RFFT", {input, Lengths<int32_t>({-1})})),
              HasSubstr("non-negative"));
  EXPECT_EQ(Eval("RFFT", {input, Lengths<int32_t>({0})}).shape(), ShapeOf({4, 0}));
}

}  // namespace
}  // namespace gyre::test
