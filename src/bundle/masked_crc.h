// The checksums of tensor bundles: CRC-32C, masked, so that the checksum of bytes that hold a
// checksum is a good one, too. Stateless; any thread.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/crc32c.h"

namespace gyre {

inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

inline uint32_t MaskedCrc(absl::string_view bytes) {
  return MaskCrc(Crc32c(bytes.data(), bytes.size()));
}

}  // namespace gyre
