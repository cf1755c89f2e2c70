#include "ops/random/rejection.h"

#include <algorithm>
#include <limits>

namespace gyre::rejection {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// A draw is accepted three times out of four, or oftener: so many refusals do not happen, but where
// numbers are at the limits of what they can be.
constexpr int kMostDraws = 10000;

// Sums of geometric numbers until they are more than `count`: how many there were.
double BinomialByInversion(double count, double probability, Source source) {
  double sum = 0;
  int64_t n = 0;
  while (true) {
    sum += std::ceil(std::log(source.Uniform()) / std::log1p(-probability));
    if (!(sum <= count)) return static_cast<double>(n);
    ++n;
  }
}

double StirlingTail(double k) {
  constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                               0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                               0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                               0.00833056343336287};
  if (k <= 9) return kTails[static_cast<int>(std::max(k, 0.0))];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

double BinomialByRejection(double count, double probability, Source source) {
  const double deviation = std::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double c = count * probability + 0.5;
  const double tight = 0.92 - 4.2 / b;
  const double odds = probability / (1 - probability);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * probability);
  for (int i = 0; i < kMostDraws; ++i) {
    const double u = source.Uniform() - 0.5;
    double v = source.Uniform();
    const double edge = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / edge + b) * u + c);
    if (edge >= 0.07 && v <= tight) return k;
    if (!(k >= 0 && k <= count)) continue;
    v = std::log(v * alpha / (a / (edge * edge) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) +
                         StirlingTail(mode) + StirlingTail(count - mode) - StirlingTail(k) -
                         StirlingTail(count - k);
    if (v <= bound) return k;
  }
  return mode;
}

Philox Skipped(Philox generator, uint64_t blocks) {
  generator.Skip(blocks);
  return generator;
}

}  // namespace

double Gamma(double alpha, const Philox& generator) {
  if (!(alpha > 0) || std::isinf(alpha)) return alpha > 0 ? alpha : kNan;
  Source source(generator);
  if (alpha == 1) return -std::log1p(-source.Uniform());
  const bool small = alpha < 1;
  const double d = alpha + (small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  for (int i = 0; i < kMostDraws; ++i) {
    const double x = source.Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = source.Uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      const double result = d * v;
      return small ? result * std::pow(source.Uniform(), 1 / alpha) : result;
    }
  }
  return d;
}

double Poisson(double rate, double most, const Philox& generator) {
  if (!(rate >= 0)) return kNan;
  Source source(generator);
  if (rate < 10) {
    const double end = std::exp(-rate);
    double product = 1;
    for (int i = 0; i < kMostDraws; ++i) {
      product *= source.Uniform();
      if (product <= end) return std::min<double>(i, most);
    }
    return rate;
  }
  if (std::isinf(rate)) return rate;
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (int i = 0; i < kMostDraws; ++i) {
    const double u = source.Uniform() - 0.5;
    const double v = source.Uniform();
    const double edge = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / edge + b) * u + rate + 0.43);
    if (!(k <= most)) continue;
    if (edge >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    const double s = std::log(v * inverse_alpha / (a / (edge * edge) + b));
    const double t = -rate + k * log_rate - std::lgamma(k + 1);
    if (s <= t) return k;
  }
  return std::min(std::floor(rate), most);
}

double Binomial(double count, double probability, const Philox& generator, uint64_t element) {
  if (std::isnan(count) || std::isnan(probability)) return kNan;
  if (count <= 0 || probability <= 0) return 0;
  if (probability >= 1) return count;
  if (std::isinf(count)) return count;
  const bool likely = probability > 0.5;
  const double p = likely ? 1 - probability : probability;
  constexpr uint64_t kReservedByInversion = 42;
  const double n =
      count * p >= 10
          ? BinomialByRejection(count, p, Source(Skipped(generator, kReserved * element)))
          : BinomialByInversion(count, p,
                                Source(Skipped(generator, kReservedByInversion * element)));
  return likely ? count - n : n;
}

}  // namespace gyre::rejection
