// Samplers that draw again until a draw is accepted: gamma, Poisson and binomial numbers, as
// TensorFlow draws them, number for number.
//
// Element i of a result starts from the generator skipped by so many blocks, so that filling may be
// split anywhere. A block is two doubles, of which the second is taken first.
#pragma once

#include <cstdint>

#include "ops/random/philox.h"
#include "ops/random/uniform_bits.h"

namespace gyre::rejection {

inline constexpr uint64_t kReserved = 256;  // blocks for an element

// Doubles of [0, 1), and normal ones, from one generator.
class Source {
 public:
  explicit Source(const Philox& generator) : generator_(generator) {}

  double Uniform() {
    if (uniforms_ == 0) {
      const Philox::Block bits = generator_.Next();
      uniform_[0] = UniformDouble(bits[0], bits[1]);
      uniform_[1] = UniformDouble(bits[2], bits[3]);
      uniforms_ = 2;
    }
    return uniform_[--uniforms_];
  }

  double Normal() {
    if (normals_ == 0) {
      const Philox::Block bits = generator_.Next();
      BoxMuller(UniformDouble(bits[0], bits[1]), UniformDouble(bits[2], bits[3]), normal_);
      normals_ = 2;
    }
    return normal_[--normals_];
  }

 private:
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
