// Bands of diagonals, as ops take them: one diagonal to a row, the longest filling it, the upper
// ones first.
//
// Plain values; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/kernel.h"

namespace gyre {

struct DiagAttrs {
  explicit DiagAttrs(const Node& node) {
    const std::string align = node.attrs.GetOr<std::string>("align", "LEFT_LEFT");
    left_super = align == "LEFT_LEFT" || align == "LEFT_RIGHT";
    left_sub = align == "LEFT_LEFT" || align == "RIGHT_LEFT";
  }
  // Diagonals shorter than the longest stand at the left of their row: those above the main one,
  // those below it.
  bool left_super;
  bool left_sub;
};

// The band [lower, upper] of diagonals, and the matrices that it is put into.
struct Band {
  int64_t lower;
  int64_t upper;
  int64_t rows;
  int64_t columns;
  int64_t max_length;  // length of a row that holds a diagonal

  int64_t count() const { return upper - lower + 1; }
  // Where diagonal d starts in its row.
  int64_t Start(int64_t d, const DiagAttrs& attrs) const {
    const bool left = (d >= 0 && attrs.left_super) || (d <= 0 && attrs.left_sub);
    return left ? 0 : max_length - Length(d);
  }
  int64_t Length(int64_t d) const {
    return std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
  }
};

// INVALID_ARGUMENT where k is no band.
inline absl::Status BandLimits(absl::Span<const int64_t> k, Band& band) {
  if (k.empty() || k.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("k must have one or two elements, but has ", k.size()));
  }
  band.lower = k.front();
  band.upper = k.back();
  if (band.lower > band.upper) {
    return absl::InvalidArgumentError(absl::StrCat(
        "k's lower limit must not exceed its upper one, but ", band.lower, " > ", band.upper));
  }
  return absl::OkStatus();
}

}  // namespace gyre
