// Integrals that have names: Dawson's, Fresnel's, Spence's, and that of the exponential. Computed
// in double.
#include <cmath>
#include <complex>
#include <limits>

#include "ir/gradient_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// exp(-x²) times the integral of exp(t²) from 0 to x.
double Dawson(double x) {
  const double size = std::abs(x);
  if (size < 0.2) {
    double term = x, sum = x;
    for (int k = 1; k < 12; ++k) {
      term *= -2 * x * x / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (!(size < 50)) {
    const double r = 1 / (2 * x * x);
    return (1 + r * (1 + 3 * r * (1 + 5 * r * (1 + 7 * r * (1 + 9 * r))))) / (2 * x);
  }
  // Rybicki (1989): the sum of exp(-(x - n h)²) / n for odd n, whose error falls as exp(-(π /
  // 2h)²).
  constexpr double kStep = 0.2;
  const double nearest = 2 * std::round(size / (2 * kStep));
  double sum = 0;
  for (int n = 1; n < 36; n += 2) {
    const double up = size - (nearest + n) * kStep, down = size - (nearest - n) * kStep;
    sum += std::exp(-up * up) / (nearest + n) + std::exp(-down * down) / (nearest - n);
  }
  return std::copysign(sum / std::sqrt(kPi), x);
}

// The integral of exp(t) / t up to x; NaN for negative x, as in TensorFlow.
double ExponentialIntegral(double x) {
  constexpr double kGamma = 0.57721566490153286061;
  if (!(x >= 0)) return kNan;
  if (x == 0) return -kInfinity;
  if (x > 720) return x == kInfinity ? x : std::exp(x / 2) / x * std::exp(x / 2);
  if (x > 40) {
    double term = 1, sum = 1;
    for (int k = 1; k < 60 && term > kEpsilon * sum && k < x; ++k) {
      term *= k / x;
      sum += term;
    }
    return std::exp(x) / x * sum;
  }
  double power = x, sum = x;
  for (int k = 2; k < 200; ++k) {
    power *= x / k;
    sum += power / k;
    if (power < 1e-18 * k * sum) break;
  }
  return kGamma + std::log(x) + sum;
}

// The integral of log(t) / (1 - t) from 1 to x.
double Spence(double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kPi * kPi / 6;
  if (x == kInfinity) return -kInfinity;
  if (x > 2) {
    const double log = std::log(x);
    return -0.5 * log * log - Spence(1 / x);
  }
  if (x < 0.5) return kPi * kPi / 6 - std::log(x) * std::log1p(-x) - Spence(1 - x);
  // Σ B_n u^(n + 1) / (n + 1)!, with Bernoulli's numbers.
  constexpr double kCoefficients[] = {1.0 / 36,
                                      -1.0 / 3600,
                                      1.0 / 211680,
                                      -1.0 / 10886400,
                                      1.0 / 526901760,
                                      -691.0 / 16999766784000.0,
                                      1.0 / 1120863744000.0,
                                      -3617.0 / 181400588328960000.0};
  const double u = -std::log(x), square = u * u;
  double power = u * square, sum = u - square / 4;
  for (const double coefficient : kCoefficients) {
    sum += coefficient * power;
    power *= square;
  }
  return sum;
}

// The integrals of cos(π t² / 2) and sin(π t² / 2) from 0 to x, as parts of one number.
std::complex<double> Fresnel(double x) {
  if (std::isnan(x)) return {kNan, kNan};
  const double size = std::abs(x);
  const auto with_sign = [&](std::complex<double> z) { return x < 0 ? -z : z; };
  if (size > 36974) return with_sign({0.5, 0.5});  // as TensorFlow
  if (size < 1.6) {
    const std::complex<double> z(0, kPi / 2 * size * size);
    std::complex<double> power = size, sum = size;
    for (int k = 1; k < 60; ++k) {
      power *= z / static_cast<double>(k);
      sum += power / (2.0 * k + 1);
      if (std::abs(power) < 1e-18 * std::abs(sum)) break;
    }
    return with_sign(sum);
  }
  // The complementary error function as a continued fraction, by Lentz' method.
  const double square = kPi * size * size;
  std::complex<double> b(1, -square), c(1e300, 0), d = 1.0 / b, h = d;
  for (int k = 1, n = -1; k < 200; ++k) {
    n += 2;
    const double a = -1.0 * n * (n + 1);
    b += 4.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const std::complex<double> ratio = c * d;
    h *= ratio;
    if (std::abs(ratio.real() - 1) + std::abs(ratio.imag()) < kEpsilon) break;
  }
  h *= std::complex<double>(size, -size);
  const std::complex<double> turn(std::cos(square / 2), std::sin(square / 2));
  return with_sign(std::complex<double>(0.5, 0.5) * (1.0 - turn * h));
}

#define GYRE_INTEGRAL(Name, expression)           \
  struct Name##Fn {                               \
    template <typename T>                         \
    static T Apply(T number) {                    \
      const auto x = static_cast<double>(number); \
      return static_cast<T>(expression);          \
    }                                             \
  };                                              \
  template <typename T>                           \
  using Name##Kernel = Unary<Name##Fn, T>;

GYRE_INTEGRAL(Dawsn, Dawson(x))
GYRE_INTEGRAL(Expint, ExponentialIntegral(x))
GYRE_INTEGRAL(Spence, Spence(x))
GYRE_INTEGRAL(FresnelCos, Fresnel(x).real())
GYRE_INTEGRAL(FresnelSin, Fresnel(x).imag())
#undef GYRE_INTEGRAL

void DawsnGradient(GradientContext& g) {
  g.Add(0, g.grad() * (1.0 - 2.0 * (g.input(0) * g.output(0))));
}

void ExpintGradient(GradientContext& g) {
  g.Add(0, g.grad() * (g.op("Exp", {g.input(0)}) / g.input(0)));
}

// log(x) / (1 - x), and -1 where x is 1.
void SpenceGradient(GradientContext& g) {
  const Expr x = g.input(0);
  const Expr one = g.builder().Scalar(x.dtype(), 1);
  const Expr at_one = g.op("Equal", {x, one});
  const Expr other = Where(at_one, 2.0 * OnesLike(x), x);
  g.Add(0, g.grad() * Where(at_one, -OnesLike(x), g.op("Log", {other}) / (1.0 - other)));
}

void Fresnel(GradientContext& g, absl::string_view function) {
  const Expr angle = (kPi / 2) * g.op("Square", {g.input(0)});
  g.Add(0, g.grad() * g.op(function, {angle}));
}

template <template <typename> class K>
void Add(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
         absl::string_view doc, GradientFn gradient) {
  AddUnaryOp(ops, name, std::move(api), kFloatTypes, doc, ForTypes<K, FloatTypes>("T"), {gradient});
}

}  // namespace

void RegisterIntegrals(OpRegistry& ops) {
  Add<DawsnKernel>(ops, "Dawsn", {"math.special.dawsn"},
                   "Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x.",
                   DawsnGradient);
  Add<ExpintKernel>(ops, "Expint", {"math.special.expint"},
                    "The exponential integral: that of exp(t) / t up to x.", ExpintGradient);
  Add<SpenceKernel>(ops, "Spence", {"math.special.spence"},
                    "Spence's integral: that of log(t) / (1 - t) from 1 to x.", SpenceGradient);
  Add<FresnelCosKernel>(ops, "FresnelCos", {"math.special.fresnel_cos"},
                        "Fresnel's integral of cos(π t² / 2) from 0 to x.",
                        [](GradientContext& g) { Fresnel(g, "Cos"); });
  Add<FresnelSinKernel>(ops, "FresnelSin", {"math.special.fresnel_sin"},
                        "Fresnel's integral of sin(π t² / 2) from 0 to x.",
                        [](GradientContext& g) { Fresnel(g, "Sin"); });
}

}  // namespace gyre
