#include "ops/linalg/gemm_tile.h"

#include <algorithm>

#include "ops/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/linalg/gemm_tile.cc"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors of c that are held in registers: 6 * 2 sums, 2 vectors of b and 1 of a fit into
// 16 registers.
constexpr int64_t kRows = 6;
constexpr int64_t kVectors = 2;

// `panel` holds k rows of kV vectors, `stride` elements apart; the sums go to `out`, `out_row`
// elements apart.
template <int64_t kR, int64_t kV, typename T>
HWY_INLINE void MultiplyRows(const GemmTile<T>& tile, const T* a, const T* panel, int64_t stride,
                             bool accumulate, T* out, int64_t out_row) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kR][kV];
  for (int64_t r = 0; r < kR; ++r) {
    for (int64_t v = 0; v < kV; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < tile.k; ++p) {
    V b[kV];
    for (int64_t v = 0; v < kV; ++v) b[v] = hn::LoadU(d, panel + p * stride + v * lanes);
    for (int64_t r = 0; r < kR; ++r) {
      const V x = hn::Set(d, a[r * tile.a_row + p * tile.a_column]);
      for (int64_t v = 0; v < kV; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
  for (int64_t r = 0; r < kR; ++r) {
    for (int64_t v = 0; v < kV; ++v) {
      T* to = out + r * out_row + v * lanes;
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, to), sums[r][v]) : sums[r][v], d, to);
    }
  }
}

// Rows [i, i + kR) of one panel, `width` of whose columns are real.
template <int64_t kR, int64_t kV, typename T>
HWY_INLINE void MultiplyStrip(const GemmTile<T>& tile, int64_t i, int64_t column, int64_t width,
                              const T* panel, int64_t stride) {
  const int64_t full = kV * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const T* a = tile.a + i * tile.a_row;
  T* c = tile.c + i * tile.c_row + column;
  if (width == full) {
    MultiplyRows<kR, kV>(tile, a, panel, stride, tile.accumulate, c, tile.c_row);
    return;
  }
  alignas(64) T sums[kR * kV * HWY_MAX_BYTES / sizeof(T)] = {};
  MultiplyRows<kR, kV>(tile, a, panel, stride, false, sums, full);
  for (int64_t r = 0; r < kR; ++r) {
    for (int64_t j = 0; j < width; ++j) {
      T& to = c[r * tile.c_row + j];
      to = tile.accumulate ? to + sums[r * full + j] : sums[r * full + j];
    }
  }
}

template <int64_t kV, typename T>
void MultiplyPanel(const GemmTile<T>& tile, int64_t column, int64_t width, const T* panel,
                   int64_t stride) {
  int64_t i = 0;
  for (; i + kRows <= tile.m; i += kRows) {
    MultiplyStrip<kRows, kV>(tile, i, column, width, panel, stride);
  }
  for (; i + 2 <= tile.m; i += 2) MultiplyStrip<2, kV>(tile, i, column, width, panel, stride);
  if (i < tile.m) MultiplyStrip<1, kV>(tile, i, column, width, panel, stride);
}

// Copies columns [column, column + width) of b, filled up with zeros to `full`.
template <typename T>
void PackPanel(const GemmTile<T>& tile, int64_t column, int64_t width, int64_t full, T* panel) {
  for (int64_t p = 0; p < tile.k; ++p) {
    const T* from = tile.b + p * tile.b_row + column * tile.b_column;
    T* to = panel + p * full;
    for (int64_t j = 0; j < width; ++j) to[j] = from[j * tile.b_column];
    std::fill(to + width, to + full, T{0});
  }
}

template <typename T>
void RunTileFor(const GemmTile<T>& tile) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  alignas(64) T packed[kGemmBlockK * kVectors * HWY_MAX_BYTES / sizeof(T)];
  // Rows of b that lie in different pages are copied once they are used often enough.
  const bool far_apart = tile.k * tile.b_row * static_cast<int64_t>(sizeof(T)) > 32 * 1024;
  const bool pack = tile.b_column != 1 || (far_apart && tile.m >= 4 * kRows);
  for (int64_t column = 0; column < tile.n;) {
    const int64_t left = tile.n - column;
    const int64_t full = left > lanes ? kVectors * lanes : lanes;
    const int64_t width = std::min(full, left);
    const T* panel = tile.b + column;
    int64_t stride = tile.b_row;
    if (pack || width < full) {
      PackPanel(tile, column, width, full, packed);
      panel = packed;
      stride = full;
    }
    if (full > lanes) {
      MultiplyPanel<kVectors>(tile, column, width, panel, stride);
    } else {
      MultiplyPanel<1>(tile, column, width, panel, stride);
    }
    column += width;
  }
}

void RunFloatTile(const GemmTile<float>& tile) { RunTileFor(tile); }
void RunDoubleTile(const GemmTile<double>& tile) { RunTileFor(tile); }

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(RunFloatTile);
HWY_EXPORT(RunDoubleTile);

void RunTile(const GemmTile<float>& tile) { HWY_DYNAMIC_DISPATCH(RunFloatTile)(tile); }
void RunTile(const GemmTile<double>& tile) { HWY_DYNAMIC_DISPATCH(RunDoubleTile)(tile); }

}  // namespace gyre
#endif  // HWY_ONCE
