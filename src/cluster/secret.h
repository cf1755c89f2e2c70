// Comparing what only those who belong may know: a worker's token, a cluster's secret. Stateless;
// any thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace gyre::cluster {

// In time that does not tell where the two differ.
inline bool IsSameSecret(absl::string_view a, absl::string_view b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

}  // namespace gyre::cluster
