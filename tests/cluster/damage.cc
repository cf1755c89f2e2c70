#include "cluster/damage.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gyre::test {
namespace {

// Where arithmetic goes wrong.
constexpr std::array<uint64_t, 12> kNumbers = {0,
                                               1,
                                               2,
                                               0x7f,
                                               0xff,
                                               0x7fff'ffff,
                                               0x8000'0000,
                                               0xffff'ffff,
                                               0x1'0000'0000,
                                               uint64_t{1} << 62,
                                               uint64_t{1} << 63,
                                               ~uint64_t{0}};

}  // namespace

// A bit, a byte, or a number of one to eight bytes. Requirement: there are bytes.
void Damage::Overwrite(std::string& bytes) {
  const size_t at = Draw(bytes.size());
  switch (Draw(3)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << Draw(8)));
      return;
    case 1:
      bytes[at] = static_cast<char>(Draw(256));
      return;
    default: {
      const uint64_t number = kNumbers[Draw(kNumbers.size())];
      const size_t size = std::min(size_t{1} << Draw(4), bytes.size() - at);
      std::memcpy(bytes.data() + at, &number, size);
    }
  }
}

void Damage::Move(std::string& bytes) {
  const size_t at = Draw(bytes.size()), n = 1 + Draw(std::min<size_t>(bytes.size() - at, 64));
  switch (Draw(3)) {
    case 0:
      bytes.resize(at);
      return;
    case 1:
      bytes.erase(at, n);
      return;
    default:
      bytes.insert(Draw(bytes.size() + 1), bytes.substr(at, n));
  }
}

std::string Damage::To(std::string bytes) {
  for (uint64_t times = 1 + Draw(4); times > 0 && !bytes.empty(); --times) {
    if (Draw(3) == 0) {
      Move(bytes);
    } else {
      Overwrite(bytes);
    }
  }
  return bytes;
}

std::string Damage::InPlace(std::string bytes) {
  for (uint64_t times = 1 + Draw(4); times > 0 && !bytes.empty(); --times) Overwrite(bytes);
  return bytes;
}

}  // namespace gyre::test
