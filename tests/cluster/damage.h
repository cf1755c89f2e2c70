// Bytes damaged from a seed: bits, numbers, lengths, pieces. One owner, one thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace gyre::test {

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  // `bytes` with one to four places changed, cut out, doubled or cut off.
  std::string To(std::string bytes);
  // The same without a change of length.
  std::string InPlace(std::string bytes);
  // Below `n`, which is not 0.
  uint64_t Draw(uint64_t n) { return random_() % n; }

 private:
  void Overwrite(std::string& bytes);
  void Move(std::string& bytes);

  std::mt19937_64 random_;
};

}  // namespace gyre::test
