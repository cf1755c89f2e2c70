// The functions of floating-point numbers that are written for GPUs, here on the host: within the
// units in the last place that compiled/gpu/math.h states.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "compiled/gpu/math.h"
#include "gtest/gtest.h"

namespace gyre::compiled {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Function {
  const char* name;
  double (*ours)(double);
  long double (*exact)(long double);
  double most;  // ulp
  double least_x, most_x;
};

// How many units in the last place `y` is from what it should be; none for what is subnormal.
double Ulps(double y, long double exact) {
  if (std::isnan(y) || std::isnan(static_cast<double>(exact)))
    return std::isnan(y) && std::isnan(static_cast<double>(exact)) ? 0 : kInf;
  const auto rounded = static_cast<double>(exact);
  if (y == rounded) return 0;
  if (std::isinf(y) || std::isinf(rounded)) return kInf;
  if (std::fabs(rounded) < 2 * std::numeric_limits<double>::min())
    return std::fabs(y - rounded) <= 4 * std::numeric_limits<double>::denorm_min() ? 0 : kInf;
  const double unit = std::nextafter(std::fabs(rounded), kInf) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(y) - exact) / unit);
}

const Function kFunctions[] = {
    {"exp", &gpu::Exp, [](long double x) { return std::exp(x); }, 1, -750, 720},
    {"expm1", &gpu::Expm1, [](long double x) { return std::expm1(x); }, 2, -60, 720},
    {"log", &gpu::Log, [](long double x) { return std::log(x); }, 1, 0, 1e6},
    {"log1p", &gpu::Log1p, [](long double x) { return std::log1p(x); }, 3, -1, 1e6},
    {"tanh", &gpu::Tanh, [](long double x) { return std::tanh(x); }, 3, -30, 30},
    {"sigmoid", &gpu::Sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 3, -700, 50},
    {"sinh", &gpu::Sinh, [](long double x) { return std::sinh(x); }, 3, -715, 715},
    {"cosh", &gpu::Cosh, [](long double x) { return std::cosh(x); }, 3, -715, 715},
    {"erf", &gpu::Erf, [](long double x) { return std::erf(x); }, 2, -7, 7},
    {"erfc", &gpu::Erfc, [](long double x) { return std::erfc(x); }, 4, -7, 27},
};

TEST(GpuMath, IsWithinTheUlpsThatItStates) {
  for (const Function& f : kFunctions) {
    std::mt19937_64 random(1);
    double worst = 0, at = 0;
    const auto check = [&](double x) {
      const double ulps = Ulps(f.ours(x), f.exact(x));
      if (!(ulps <= worst)) worst = ulps, at = x;
    };
    std::uniform_real_distribution<double> all(f.least_x, f.most_x), near(-2, 2), power(-60, 9);
    for (int i = 0; i < 200'000; ++i) {
      check(all(random));
      check(near(random));
      check(std::ldexp(near(random), static_cast<int>(power(random))));
      check(std::bit_cast<double>(random()));
    }
    for (const double x : {0.0, -0.0, 1.0, -1.0, kInf, -kInf, 5e-324, -5e-324, 1e308, -1e308,
                           std::nan(""), 0.84375, 1.25, 1 / 0.35, 22.0, 28.0, 709.782712893384})
      check(x);
    EXPECT_LE(worst, f.most) << f.name << " at " << at;
    RecordProperty(f.name, std::to_string(worst));
    std::cout << f.name << ": " << worst << " ulp, at " << at << "\n";
  }
}

TEST(GpuMath, KeepsSignsOfZeros) {
  for (const auto f : {&gpu::Expm1, &gpu::Log1p, &gpu::Tanh, &gpu::Sinh, &gpu::Erf}) {
    EXPECT_TRUE(std::signbit(f(-0.0)));
    EXPECT_FALSE(std::signbit(f(0.0)));
  }
  EXPECT_TRUE(std::signbit(gpu::Log(1.0)) == false);
}

}  // namespace
}  // namespace gyre::compiled
