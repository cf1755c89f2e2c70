// Hash functions of bytes whose values are the same everywhere and for ever: programs keep tables
// by them. Stateless; any thread.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace gyre {

// FarmHash's Fingerprint64 (farmhashna, by Geoff Pike; MIT licence).
uint64_t FarmFingerprint64(absl::string_view bytes);

// SipHash-2-4, by Aumasson and Bernstein, with a key of 128 bits.
uint64_t SipHash24(uint64_t key0, uint64_t key1, absl::string_view bytes);

// MurmurHash64A, by Austin Appleby, with the seed that TensorFlow's StringToHashBucket has.
uint64_t SeededMurmur64(absl::string_view bytes);

}  // namespace gyre
