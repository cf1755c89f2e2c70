// Draws: single numbers from blocks of Philox, one after the other, as TensorFlow's samplers take
// them. A value type; not thread-safe.
#pragma once

#include <cstdint>

#include "ops/random/philox.h"
#include "ops/random/uniform_bits.h"

namespace gyre {

class Draws {
 public:
  explicit Draws(const Philox& generator) : generator_(generator) {}

  uint32_t Bits() {
    if (used_ == 4) {
      block_ = generator_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }
  uint64_t Bits64() {
    const uint64_t low = Bits();
    return low | static_cast<uint64_t>(Bits()) << 32;
  }

  // In [0, 1).
  float Float() { return UniformFloat(Bits()); }
  double Double() {
    const uint32_t high = Bits(), low = Bits();
    return UniformDouble(high, low);
  }

  // In [0, n): none is likelier than another. Requirement: n > 0.
  uint32_t Below(uint32_t n) {
    if ((n & (n - 1)) == 0) return Bits() & (n - 1);
    const uint32_t rest = ~uint32_t{0} % n + 1;
    uint32_t bits;
    do {
      bits = Bits();
    } while (bits < rest);
    return bits % n;
  }
  uint64_t Below64(uint64_t n) {
    if ((n & (n - 1)) == 0) return Bits64() & (n - 1);
    const uint64_t rest = ~uint64_t{0} % n + 1;
    uint64_t bits;
    do {
      bits = Bits64();
    } while (bits < rest);
    return bits % n;
  }

 private:
  Philox generator_;
  Philox::Block block_ = {};
  int used_ = 4;
};

}  // namespace gyre
