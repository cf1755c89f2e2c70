// Samplers that draw again until a draw is accepted: gamma, Poisson and binomial numbers, as
// TensorFlow draws them, number for number.
//
// Element i of a result starts from the generator skipped by so many blocks, so that filling may be
// split anywhere. A block is two doubles, of which the second is taken first.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "ops/random/philox.h"

namespace gyre::rejection {

inline constexpr uint64_t kReserved = 256;  // blocks for an element

// Doubles of [0, 1), and normal ones, from one generator.
class Source {
 public:
  explicit Source(const Philox& generator) : generator_(generator) {}

  double Uniform() {
    if (uniforms_ == 0) {
      const Philox::Block bits = generator_.Next();
      uniform_[0] = DoubleOf(bits[0], bits[1]);
      uniform_[1] = DoubleOf(bits[2], bits[3]);
      uniforms_ = 2;
    }
    return uniform_[--uniforms_];
  }

  double Normal() {
    if (normals_ == 0) {
      const Philox::Block bits = generator_.Next();
      constexpr double kEpsilon = 1.0e-7;  // keeps the logarithm finite
      const double u1 = DoubleOf(bits[0], bits[1]), u2 = DoubleOf(bits[2], bits[3]);
      const double radius = std::sqrt(-2.0 * std::log(u1 < kEpsilon ? kEpsilon : u1));
      const double angle = 2 * M_PI * u2;
      normal_[0] = std::sin(angle) * radius;
      normal_[1] = std::cos(angle) * radius;
      normals_ = 2;
    }
    return normal_[--normals_];
  }

 private:
  static double DoubleOf(uint32_t high, uint32_t low) {
    const uint64_t u =
        (uint64_t{1023} << 52) | (static_cast<uint64_t>(high & 0xfffffu) << 32) | low;
    double value;
    std::memcpy(&value, &u, sizeof(value));
    return value - 1.0;
  }

  Philox generator_;
  double uniform_[2] = {}, normal_[2] = {};
  int uniforms_ = 0, normals_ = 0;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. `alpha` > 0; what is
// not, or no number, gives NaN.
double Gamma(double alpha, const Philox& generator);
// Knuth, The art of computer programming, volume 2, for small rates; Hörmann, "The transformed
// rejection method for generating Poisson random variables", 1993. NaN for rates that are none; no
// result is above `most`.
double Poisson(double rate, double most, const Philox& generator);
// Hörmann, "The generation of binomial random variates", 1993. `generator`: of the first element;
// of `element`, it is skipped by what each of those before it may use.
double Binomial(double count, double probability, const Philox& generator, uint64_t element);

}  // namespace gyre::rejection
