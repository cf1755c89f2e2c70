// The spellings and the version of GraphDef that Gyre reads and writes.
#pragma once

#include <cstdint>

namespace gyre {

enum class GraphFormat {
  kDetect,  // reading only: text if the content has no bytes that only binary has
  kBinary,  // .pb
  kText,    // .pbtxt
};

// The version that TensorFlow 2.21 writes. Files whose min_consumer is larger are refused.
inline constexpr int32_t kGraphVersion = 2474;

}  // namespace gyre
