// Colors between red, green, blue and hue, saturation, value.
//
// Smith, "Color gamut transform pairs", SIGGRAPH 1978. Free functions without state; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gyre::image {

template <typename F>
void RgbToHsv(const F* rgb, F* hsv) {
  const F r = rgb[0], g = rgb[1], b = rgb[2];
  const F value = std::max(r, std::max(g, b));
  const F range = value - std::min(r, std::min(g, b));
  F hue = 0;
  if (range > 0) {
    const F norm = (F{1} / range) * (F{1} / F{6});
    if (r == value) {
      hue = norm * (g - b);
    } else if (g == value) {
      hue = norm * (b - r) + F{2} / F{6};
    } else {
      hue = norm * (r - g) + F{4} / F{6};
    }
    if (hue < 0) hue += 1;
  }
  hsv[0] = hue;
  hsv[1] = value > 0 ? range / value : F{0};
  hsv[2] = value;
}

template <typename F>
void HsvToRgb(const F* hsv, F* rgb) {
  const F s = hsv[1], v = hsv[2];
  const F six = hsv[0] * F{6};
  const auto ramp = [](F x) { return std::min(std::max(x, F{0}), F{1}); };
  const F rest = F{1} - s;
  rgb[0] = (rest + s * ramp(std::abs(six - F{3}) - F{1})) * v;
  rgb[1] = (rest + s * ramp(F{2} - std::abs(six - F{2}))) * v;
  rgb[2] = (rest + s * ramp(F{2} - std::abs(six - F{4}))) * v;
}

}  // namespace gyre::image
