// Boxes of two corners (y, x), and how much they overlap.
//
// Free functions without state; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gyre::image {

// Intersection over union of two boxes, whose corners may be in any order; 0 where one has no area.
template <typename T>
float OverlapOf(const T* a, const T* b) {
  const auto corner = [](const T* box, int i) { return static_cast<float>(box[i]); };
  const auto low = [&](const T* box, int i) {
    return std::min(corner(box, i), corner(box, i + 2));
  };
  const auto high = [&](const T* box, int i) {
    return std::max(corner(box, i), corner(box, i + 2));
  };
  const float top_a = low(a, 0), left_a = low(a, 1), bottom_a = high(a, 0), right_a = high(a, 1);
  const float top_b = low(b, 0), left_b = low(b, 1), bottom_b = high(b, 0), right_b = high(b, 1);
  const float area_a = (bottom_a - top_a) * (right_a - left_a);
  const float area_b = (bottom_b - top_b) * (right_b - left_b);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(bottom_a, bottom_b) - std::max(top_a, top_b), 0.0f);
  const float width = std::max(std::min(right_a, right_b) - std::max(left_a, left_b), 0.0f);
  const float common = height * width;
  return common / (area_a + area_b - common);
}

}  // namespace gyre::image
