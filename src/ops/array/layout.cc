#include "ops/array/layout.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "ops/device_memory.h"
#include "ops/dispatch.h"
#include "ops/mover.h"

namespace gyre {
namespace {

// A square of elements whose source and destination rows fit the first-level cache together.
constexpr int64_t kTile = 32;

// Results smaller than this are copied rather than shared.
constexpr int64_t kMinSharedBytes = 1024;

// Drops axes of size 1 and merges neighbours that both sides lay out as one.
void Collapse(StridedAxes& axes) {
  size_t kept = 0;
  for (const StridedAxis axis : axes) {
    if (axis.size == 1) continue;
    if (kept > 0 && axes[kept - 1].src == axis.src * axis.size &&
        axes[kept - 1].dst == axis.dst * axis.size) {
      axes[kept - 1] = {axes[kept - 1].size * axis.size, axis.src, axis.dst};
    } else {
      axes[kept++] = axis;
    }
  }
  axes.resize(kept);
}

template <typename T>
void CopyRow(const T* src, int64_t src_stride, T* dst, int64_t dst_stride, int64_t n,
             Mover<T>& mover) {
  if (dst_stride != 1) {
    for (int64_t i = 0; i < n; ++i) mover.Set(dst[i * dst_stride], src[i * src_stride]);
  } else if (src_stride == 1) {
    mover.Copy(src, n, dst);
  } else if (src_stride == 0) {
    mover.Fill(*src, n, dst);
  } else {
    for (int64_t i = 0; i < n; ++i) mover.Set(dst[i], src[i * src_stride]);
  }
}

// Copies elements [begin, end), counted in the row-major order of `axes`.
template <typename T>
void CopyPiece(const T* src, T* dst, absl::Span<const StridedAxis> axes, int64_t begin, int64_t end,
               Mover<T>& mover) {
  const int last = static_cast<int>(axes.size()) - 1;
  absl::InlinedVector<int64_t, 6> index(axes.size());
  int64_t src_at = 0;
  int64_t dst_at = 0;
  int64_t rest = begin;
  for (int k = last; k >= 0; --k) {
    index[k] = rest % axes[k].size;
    rest /= axes[k].size;
    src_at += index[k] * axes[k].src;
    dst_at += index[k] * axes[k].dst;
  }
  const StridedAxis inner = axes[last];
  while (true) {
    const int64_t n = std::min(inner.size - index[last], end - begin);
    CopyRow(src + src_at, inner.src, dst + dst_at, inner.dst, n, mover);
    begin += n;
    if (begin >= end) return;
    src_at -= index[last] * inner.src;
    dst_at -= index[last] * inner.dst;
    index[last] = 0;
    for (int k = last - 1; k >= 0; --k) {
      src_at += axes[k].src;
      dst_at += axes[k].dst;
      if (++index[k] < axes[k].size) break;
      src_at -= axes[k].size * axes[k].src;
      dst_at -= axes[k].size * axes[k].dst;
      index[k] = 0;
    }
  }
}

// A transposition: one axis is contiguous in the source, another in the destination. Walking it in
// tiles keeps both sides in cache.
struct Tiling {
  StridedAxis src_run;  // src == 1
  StridedAxis dst_run;  // dst == 1
  StridedAxes others;
  int64_t src_tiles = 0;
  int64_t dst_tiles = 0;
  int64_t count = 0;
};

// Finds the two axes; false when a plain walk is as good.
bool PlanTiles(const StridedAxes& axes, Tiling& tiling) {
  const int last = static_cast<int>(axes.size()) - 1;
  if (axes[last].dst != 1 || axes[last].src == 1 || axes[last].src == 0 || axes[last].size < 4) {
    return false;
  }
  int run = last - 1;
  while (run >= 0 && (axes[run].src != 1 || axes[run].size < 4)) --run;
  if (run < 0) return false;
  tiling.src_run = axes[run];
  tiling.dst_run = axes[last];
  tiling.src_tiles = (axes[run].size + kTile - 1) / kTile;
  tiling.dst_tiles = (axes[last].size + kTile - 1) / kTile;
  tiling.count = tiling.src_tiles * tiling.dst_tiles;
  for (int k = 0; k < last; ++k) {
    if (k == run) continue;
    tiling.others.push_back(axes[k]);
    tiling.count *= axes[k].size;
  }
  return true;
}

template <typename T>
void CopyTiles(const T* src, T* dst, const Tiling& tiling, int64_t begin, int64_t end,
               Mover<T>& mover) {
  const int64_t src_stride = tiling.dst_run.src;
  const int64_t dst_stride = tiling.src_run.dst;
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t j0 = tile % tiling.dst_tiles * kTile;
    const int64_t j1 = std::min(j0 + kTile, tiling.dst_run.size);
    int64_t rest = tile / tiling.dst_tiles;
    const int64_t i0 = rest % tiling.src_tiles * kTile;
    const int64_t i1 = std::min(i0 + kTile, tiling.src_run.size);
    rest /= tiling.src_tiles;
    int64_t src_at = 0;
    int64_t dst_at = 0;
    for (int k = static_cast<int>(tiling.others.size()) - 1; k >= 0; --k) {
      const StridedAxis& axis = tiling.others[k];
      src_at += rest % axis.size * axis.src;
      dst_at += rest % axis.size * axis.dst;
      rest /= axis.size;
    }
    for (int64_t i = i0; i < i1; ++i) {
      const T* from = src + src_at + i;
      T* to = dst + dst_at + i * dst_stride;
      for (int64_t j = j0; j < j1; ++j) mover.Set(to[j], from[j * src_stride]);
    }
  }
}

template <typename T>
absl::Status CopyAxes(const KernelContext& ctx, const T* src, T* dst, const StridedAxes& axes,
                      int64_t total, Mover<T>& mover) {
  Tiling tiling;
  if (axes.size() > 1 && PlanTiles(axes, tiling)) {
    return RunPieces(
        ctx, tiling.count, kElementGrain / (kTile * kTile),
        [&](int64_t begin, int64_t end) { CopyTiles(src, dst, tiling, begin, end, mover); });
  }
  return RunPieces(ctx, total, kElementGrain, [&](int64_t begin, int64_t end) {
    CopyPiece<T>(src, dst, axes, begin, end, mover);
  });
}

}  // namespace

Dims RowMajorStrides(const Shape& shape) {
  Dims strides(shape.rank());
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape.dim(i);
  }
  return strides;
}

absl::Status CopyStrided(const KernelContext& ctx, const Tensor& src, int64_t src_offset,
                         Tensor& dst, int64_t dst_offset, StridedAxes axes) {
  for (const StridedAxis& axis : axes) {
    if (axis.size == 0) return absl::OkStatus();
  }
  Collapse(axes);
  if (axes.empty()) axes.push_back({1, 1, 1});
  if (src.device() != nullptr || dst.device() != nullptr) [[unlikely]]
    return TheDeviceMemory().copy(ctx, src, src_offset, dst, dst_offset, axes);
  int64_t total = 1;
  for (const StridedAxis& axis : axes) total *= axis.size;
  return VisitElement(src.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    Mover<T> mover(ctx, dst);
    GYRE_RETURN_IF_ERROR(CopyAxes(ctx, static_cast<const T*>(src.raw_data()) + src_offset,
                                  static_cast<T*>(dst.mutable_raw_data()) + dst_offset, axes, total,
                                  mover));
    return mover.status();
  });
}

absl::Status FillWith(const KernelContext& ctx, const Tensor& value, Tensor& dst) {
  return CopyStrided(ctx, value, 0, dst, 0, {{dst.num_elements(), 0, 1}});
}

absl::StatusOr<Tensor> TakeRows(const KernelContext& ctx, const Tensor& t, int64_t begin, int64_t n,
                                const Shape& shape) {
  if (begin == 0 && n == t.dim(0)) return t.Reshaped(shape);
  const size_t element_bytes = t.num_elements() == 0 ? 0 : t.bytes() / t.num_elements();
  if (shape.num_elements() * static_cast<int64_t>(element_bytes) >= kMinSharedBytes) {
    return t.SliceRows(begin, n).Reshaped(shape);
  }
  GYRE_ASSIGN_OR_RETURN(Tensor rows, ctx.Allocate(t.dtype(), shape));
  const int64_t row = t.dim(0) == 0 ? 0 : t.num_elements() / t.dim(0);
  GYRE_RETURN_IF_ERROR(CopyStrided(ctx, t, begin * row, rows, 0, {{shape.num_elements(), 1, 1}}));
  return rows;
}

}  // namespace gyre
