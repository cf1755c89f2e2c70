// The checksum of files, against the values of RFC 3720, appendix B.4.
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace gyre {
namespace {

uint32_t Of(const std::string& bytes) { return Crc32c(bytes.data(), bytes.size()); }

TEST(Crc32c, IsTheOneThatOthersCompute) {
  std::string up(32, '\0');
  std::iota(up.begin(), up.end(), '\0');
  EXPECT_EQ(Of(""), 0u);
  EXPECT_EQ(Of("123456789"), 0xe3069283u);
  EXPECT_EQ(Of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Of(up), 0x46dd794eu);
  EXPECT_EQ(Of(std::string(up.rbegin(), up.rend())), 0x113fdb5cu);
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const std::string text = "in two parts, wherever they meet";
  for (size_t n = 0; n <= text.size(); ++n)
    EXPECT_EQ(Crc32c(text.data() + n, text.size() - n, Crc32c(text.data(), n)), Of(text)) << n;
}

TEST(Crc32c, IsTheSameWithAndWithoutAnInstructionForIt) {
  std::string text(300, '\0');
  std::iota(text.begin(), text.end(), '\7');
  for (size_t n = 0; n <= text.size(); ++n)
    EXPECT_EQ(Crc32c(text.data(), n, 77), Crc32cByTables(text.data(), n, 77)) << n;
}

}  // namespace
}  // namespace gyre
