// CRC-32C, the checksum that finds damaged bytes in files (Castagnoli's polynomial, as in iSCSI,
// ext4 and TensorFlow's checkpoints: RFC 3720, section 12.1). No protection against intent.
// Stateless; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/internal_export.h"

namespace gyre {

// The checksum of `size` bytes that follow bytes whose checksum is `before` (0: nothing).
GYRE_INTERNAL_EXPORT uint32_t Crc32c(const void* data, size_t size, uint32_t before = 0);
// The same, as processors compute it that have no instruction for it.
uint32_t Crc32cByTables(const void* data, size_t size, uint32_t before = 0);

}  // namespace gyre
