#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes are taken from words in order");

// Eight bytes a turn: kTables[k][b] is what byte b does to the checksum with k bytes behind it.
// Source: Kounavis and Berry, A systematic approach to building high performance software-based CRC
// generators (2005).
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41 with its bits the other way round
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (kPolynomial & (0u - (crc & 1u)));
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xffu];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

#ifdef __x86_64__
[[gnu::target("sse4.2")]] uint32_t ByInstruction(const unsigned char* bytes, size_t size,
                                                 uint32_t crc) {
  uint64_t wide = crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; --size, ++bytes) crc = __builtin_ia32_crc32qi(crc, *bytes);
  return crc;
}

const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

uint32_t Crc32cByTables(const void* data, size_t size, uint32_t before) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint32_t crc = ~before;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xffu];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ *bytes) & 0xffu];
  return ~crc;
}

uint32_t Crc32c(const void* data, size_t size, uint32_t before) {
#ifdef __x86_64__
  if (kHasInstruction)
    return ~ByInstruction(static_cast<const unsigned char*>(data), size, ~before);
#endif
  return Crc32cByTables(data, size, before);
}

}  // namespace gyre
