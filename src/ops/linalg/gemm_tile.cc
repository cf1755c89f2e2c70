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

// Rows and vectors of c that are held in registers: with 16 registers 6 * 2 sums, 2 vectors of b
// and 1 of a; with 32 of them 6 * 4, 4 and 1.
constexpr int64_t kRows = 6;
constexpr int64_t kVectors =
    HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 ? 2 : 4;
// Whether a load of some lanes touches only those. Targets are numbered from the best down; those
// of other architectures come behind.
constexpr bool kLoadsParts = HWY_TARGET <= HWY_AVX2;

// Columns [column, column + width) of b, of which `panel` holds k rows, `stride` elements apart.
template <typename T>
struct GemmPanel {
  int64_t column;
  int64_t width;
  const T* data;
  int64_t stride;
};

// Rows [i, i + kR) of c in the columns of a panel of kV vectors. kPart: only `width` columns of the
// one vector are real. The loops over registers must be unrolled, or these lie in memory.
template <int64_t kR, int64_t kV, bool kPart, typename T>
HWY_INLINE void MultiplyRows(const GemmTile<T>& tile, int64_t i, const GemmPanel<T>& panel) {
  static_assert(!kPart || kV == 1);
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto real = hn::FirstN(d, static_cast<size_t>(panel.width));
  const T* a = tile.a + i * tile.a_row;
  const T* from = panel.data;
  V sums[kR][kV];
  HWY_UNROLL(8)
  for (int64_t r = 0; r < kR; ++r) {
    HWY_UNROLL(8)
    for (int64_t v = 0; v < kV; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t p = 0; p < tile.k; ++p) {
    V b[kV];
    HWY_UNROLL(8)
    for (int64_t v = 0; v < kV; ++v) {
      b[v] = kPart && kLoadsParts ? hn::MaskedLoad(real, d, from) : hn::LoadU(d, from + v * lanes);
    }
    HWY_UNROLL(8)
    for (int64_t r = 0; r < kR; ++r) {
      const V x = hn::Set(d, a[r * tile.a_row]);
      HWY_UNROLL(8)
      for (int64_t v = 0; v < kV; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
    a += tile.a_column;
    from += panel.stride;
  }
  T* c = tile.c + i * tile.c_row + panel.column;
  HWY_UNROLL(8)
  for (int64_t r = 0; r < kR; ++r) {
    T* to = c + r * tile.c_row;
    if constexpr (kPart) {
      V sum = sums[r][0];
      if (tile.accumulate) {
        HWY_ALIGN T before[hn::MaxLanes(d)] = {};
        std::copy_n(to, panel.width, before);
        sum = hn::Add(hn::Load(d, before), sum);
      }
      hn::BlendedStore(sum, real, d, to);
    } else {
      HWY_UNROLL(8)
      for (int64_t v = 0; v < kV; ++v) {
        T* at = to + v * lanes;
        hn::StoreU(tile.accumulate ? hn::Add(hn::LoadU(d, at), sums[r][v]) : sums[r][v], d, at);
      }
    }
  }
}

template <int64_t kV, bool kPart, typename T>
void MultiplyPanel(const GemmTile<T>& tile, const GemmPanel<T>& panel) {
  int64_t i = 0;
  for (; i + kRows <= tile.m; i += kRows) MultiplyRows<kRows, kV, kPart>(tile, i, panel);
  for (; i + 2 <= tile.m; i += 2) MultiplyRows<2, kV, kPart>(tile, i, panel);
  if (i < tile.m) MultiplyRows<1, kV, kPart>(tile, i, panel);
}

// Copies the panel's columns of b to `packed`, filled up with zeros to `full`.
template <typename T>
void Pack(const GemmTile<T>& tile, int64_t full, T* packed, GemmPanel<T>& panel) {
  for (int64_t p = 0; p < tile.k; ++p) {
    const T* from = tile.b + p * tile.b_row + panel.column * tile.b_column;
    T* to = packed + p * full;
    for (int64_t j = 0; j < panel.width; ++j) to[j] = from[j * tile.b_column];
    std::fill(to + panel.width, to + full, T{0});
  }
  panel.data = packed;
  panel.stride = full;
}

// Few rows of a times columns of b, each of which lies in one piece: as dot products.
template <typename T>
void MultiplyColumns(const GemmTile<T>& tile) {
  constexpr int64_t kColumns = 4;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < tile.m; ++i) {
    const T* a = tile.a + i * tile.a_row;
    T* c = tile.c + i * tile.c_row;
    for (int64_t column = 0; column < tile.n; column += kColumns) {
      const int64_t width = std::min(kColumns, tile.n - column);
      // Those that are missing are the last one again.
      const T* b[kColumns];
      for (int64_t j = 0; j < kColumns; ++j)
        b[j] = tile.b + (column + std::min(j, width - 1)) * tile.b_column;
      V sums[kColumns];
      HWY_UNROLL(8)
      for (int64_t j = 0; j < kColumns; ++j) sums[j] = hn::Zero(d);
      int64_t p = 0;
      for (; p + lanes <= tile.k; p += lanes) {
        const V x = hn::LoadU(d, a + p);
        HWY_UNROLL(8)
        for (int64_t j = 0; j < kColumns; ++j)
          sums[j] = hn::MulAdd(x, hn::LoadU(d, b[j] + p), sums[j]);
      }
      T totals[kColumns];
      HWY_UNROLL(8)
      for (int64_t j = 0; j < kColumns; ++j) totals[j] = hn::GetLane(hn::SumOfLanes(d, sums[j]));
      for (; p < tile.k; ++p) {
        for (int64_t j = 0; j < kColumns; ++j) totals[j] += a[p] * b[j][p];
      }
      for (int64_t j = 0; j < width; ++j)
        c[column + j] = tile.accumulate ? c[column + j] + totals[j] : totals[j];
    }
  }
}

template <typename T>
void RunTileFor(const GemmTile<T>& tile) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // Turning b round would take longer than the product.
  constexpr int64_t kFewRows = 4;
  const bool has_columns = tile.a_column == 1 && tile.b_row == 1 && tile.b_column != 1;
  if (has_columns && tile.m <= kFewRows && tile.k >= 2 * lanes) {
    MultiplyColumns(tile);
    return;
  }
  alignas(64) T packed[kGemmBlockK * kVectors * HWY_MAX_BYTES / sizeof(T)];
  // Rows of b that lie in different pages are copied once they are used often enough.
  const bool far_apart = tile.k * tile.b_row * static_cast<int64_t>(sizeof(T)) > 32 * 1024;
  const bool pack = tile.b_column != 1 || (far_apart && tile.m >= 4 * kRows);
  for (int64_t column = 0; column < tile.n;) {
    const int64_t left = tile.n - column;
    const int64_t vectors = left >= kVectors * lanes ? kVectors : left >= 2 * lanes ? 2 : 1;
    const int64_t full = vectors * lanes;
    GemmPanel<T> panel = {column, std::min(full, left), tile.b + column, tile.b_row};
    const bool is_part = panel.width < full;
    if (pack || (is_part && !kLoadsParts)) Pack(tile, full, packed, panel);
    if (is_part) {
      MultiplyPanel<1, true>(tile, panel);
    } else if (vectors == 1) {
      MultiplyPanel<1, false>(tile, panel);
    } else if (vectors == 2) {
      MultiplyPanel<2, false>(tile, panel);
    } else {
      MultiplyPanel<kVectors, false>(tile, panel);
    }
    column += panel.width;
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
