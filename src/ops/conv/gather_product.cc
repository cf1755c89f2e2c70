#include "ops/conv/gather_product.h"

#include <algorithm>
#include <cstring>

#include "ops/dispatch.h"
#include "ops/linalg/gemm_tile.h"

namespace gyre {
namespace {

using Computed = Types<float, double, uint32_t>;

constexpr int64_t kRows = 256;     // places of one piece
constexpr int64_t kColumns = 256;  // channels of the target of one piece
constexpr int64_t kDepth = kGemmBlockK;

DType ComputedAs(DType dtype) { return dtype == DType::kInt32 ? DType::kUint32 : dtype; }

void MultiplyTile(const GemmTile<float>& tile) { RunTile(tile); }
void MultiplyTile(const GemmTile<double>& tile) { RunTile(tile); }
void MultiplyTile(const GemmTile<uint32_t>& tile) {
  for (int64_t i = 0; i < tile.m; ++i) {
    uint32_t* c = tile.c + i * tile.c_row;
    if (!tile.accumulate) std::fill_n(c, tile.n, 0u);
    for (int64_t p = 0; p < tile.k; ++p) {
      const uint32_t x = tile.a[i * tile.a_row + p * tile.a_column];
      const uint32_t* b = tile.b + p * tile.b_row;
      for (int64_t j = 0; j < tile.n; ++j) c[j] += x * b[j * tile.b_column];
    }
  }
}

int64_t Ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }

// A few elements, which a call of memmove would take longer for.
template <typename T>
T* Copy(const T* from, int64_t n, T* to) {
  constexpr int64_t kFew = 64, kStep = 16 / sizeof(T);
  if (n > kFew) return std::copy_n(from, n, to);
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) std::memcpy(to + i, from + i, 16);
  for (; i < n; ++i) to[i] = from[i];
  return to + n;
}

// What a piece of work multiplies, over all.
int64_t Grain(int64_t work) { return std::max<int64_t>(1, (1 << 17) / std::max<int64_t>(work, 1)); }

// The left factor.
template <typename T>
class Gathered {
 public:
  template <typename Product>
  explicit Gathered(const Product& product)
      : axes_(product.axes),
        channels_(product.source_channels),
        group_(product.source_channels / product.groups),
        source_(static_cast<const T*>(product.source)) {
    image_ = channels_;
    for (const TapAxis& axis : axes_) {
      image_ *= axis.pixels;
      places_ *= axis.places;
      taps_ *= static_cast<int64_t>(axis.taps.size());
    }
    rows_ = product.batch * places_;
    pixel_stride_ = {axes_[1].pixels * axes_[2].pixels * channels_, axes_[2].pixels * channels_,
                     channels_};
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return taps_ * group_; }
  int64_t group_channels() const { return group_; }

  // Whether row p is pixel p, all of it.
  bool IsPlain() const {
    for (const TapAxis& axis : axes_) {
      if (axis.taps.size() != 1 || axis.taps[0] != 0 || axis.step != 1 ||
          axis.places != axis.pixels)
        return false;
    }
    return true;
  }
  const T* plain(int64_t row, int64_t column, int64_t group) const {
    return source_ + row * channels_ + group * group_ + column;
  }
  int64_t plain_stride() const { return channels_; }

  // Where a row lies.
  struct Place {
    int64_t image;
    std::array<int64_t, kWindowAxes> p;
  };
  Place At(int64_t row) const {
    Place place;
    place.image = row / places_;
    int64_t rest = row % places_;
    for (int i = kWindowAxes; i-- > 0;) {
      place.p[i] = rest % axes_[i].places;
      rest /= axes_[i].places;
    }
    return place;
  }
  void Advance(Place& place) const {
    for (int i = kWindowAxes; i-- > 0;) {
      if (++place.p[i] < axes_[i].places) return;
      place.p[i] = 0;
    }
    ++place.image;
  }

  // A stretch of columns that lies side by side in the source, if it lies inside of the image.
  struct Run {
    std::array<int64_t, kWindowAxes> tap;  // of its first pixel
    int64_t last;                          // the tap of its last pixel, along the last axis
    int64_t channel;
    int64_t n;
  };

  // Columns [begin, end) of a group.
  void Cut(int64_t begin, int64_t end, int64_t group, std::vector<Run>& runs) const {
    runs.clear();
    const auto taps1 = static_cast<int64_t>(axes_[1].taps.size());
    const auto taps2 = static_cast<int64_t>(axes_[2].taps.size());
    for (int64_t k = begin; k < end;) {
      const int64_t tap = k / group_, channel = k % group_;
      Run run;
      run.tap = {axes_[0].taps[tap / taps2 / taps1], axes_[1].taps[tap / taps2 % taps1],
                 axes_[2].taps[tap % taps2]};
      run.last = run.tap[2];
      run.channel = group * group_ + channel;
      run.n = std::min(group_ - channel, end - k);
      k += run.n;
      // Pixels whose channels all belong to the group, side by side.
      for (int64_t t = tap % taps2 + 1; group_ == channels_ && k < end && t < taps2; ++t) {
        if (axes_[2].taps[t] != run.last + 1) break;
        run.last = axes_[2].taps[t];
        const int64_t n = std::min(group_, end - k);
        run.n += n;
        k += n;
      }
      runs.push_back(run);
    }
  }

  // Writes these columns of `rows` rows from `row` on.
  void Gather(int64_t row, int64_t rows, const std::vector<Run>& runs, T* to) const {
    Place place = At(row);
    for (int64_t i = 0; i < rows; ++i, Advance(place)) {
      const T* image = source_ + place.image * image_;
      for (const Run& run : runs) {
        to = CopyRun(image, place, run, to);
      }
    }
  }

 private:
  T* CopyRun(const T* image, const Place& place, const Run& run, T* to) const {
    const int64_t x = place.p[0] * axes_[0].step + run.tap[0];
    const int64_t y = place.p[1] * axes_[1].step + run.tap[1];
    const int64_t z = place.p[2] * axes_[2].step;
    const int64_t first = z + run.tap[2], last = z + run.last;
    if (x < 0 || x >= axes_[0].pixels || y < 0 || y >= axes_[1].pixels || last < 0 ||
        first >= axes_[2].pixels) {
      return std::fill_n(to, run.n, T{0});
    }
    int64_t n = run.n;
    int64_t from =
        x * pixel_stride_[0] + y * pixel_stride_[1] + first * pixel_stride_[2] + run.channel;
    if (first < 0) {  // runs over several pixels hold all channels
      const int64_t missing = std::min(n, -first * channels_ - run.channel);
      to = std::fill_n(to, missing, T{0});
      from += missing;
      n -= missing;
    }
    int64_t behind = 0;
    if (last >= axes_[2].pixels) {
      const int64_t end = x * pixel_stride_[0] + y * pixel_stride_[1] + pixel_stride_[1];
      behind = std::max<int64_t>(0, from + n - end);
      n -= behind;
    }
    to = Copy(image + from, n, to);
    return std::fill_n(to, behind, T{0});
  }

  const std::array<TapAxis, kWindowAxes>& axes_;
  const int64_t channels_;
  const int64_t group_;
  const T* const source_;
  int64_t image_ = 0;  // elements of one
  int64_t places_ = 1;
  int64_t taps_ = 1;
  int64_t rows_ = 0;
  std::array<int64_t, kWindowAxes> pixel_stride_;
};

template <typename T>
class Multiplication {
 public:
  Multiplication(const KernelContext& ctx, const GatherProduct& product)
      : ctx_(ctx),
        product_(product),
        left_(product),
        group_(product.target_channels / product.groups),
        is_plain_(left_.IsPlain()) {
    for (const TapAxis& axis : product.axes) {
      in_order_ &= axis.start == 0 && axis.stride == 1 && axis.places == axis.size;
    }
    row_blocks_ = Ceil(left_.rows(), kRows);
    column_blocks_ = Ceil(group_, kColumns);
  }

  absl::Status Run() const {
    const int64_t units = row_blocks_ * column_blocks_ * product_.groups;
    const int64_t work = std::min(kRows, left_.rows()) * std::min(kColumns, group_) *
                         std::min(left_.columns(), int64_t{1} << 20);
    GYRE_RETURN_IF_ERROR(ctx_.ParallelRun(units, Grain(work), [this](int64_t begin, int64_t end) {
      std::vector<T> buffer(kRows * kDepth + (in_order_ ? 0 : kRows * kColumns));
      std::vector<typename Gathered<T>::Run> runs;
      for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit, buffer.data(), runs);
    }));
    return ctx_.Poll();  // RunUnit stops half-way when cancelled
  }

 private:
  void RunUnit(int64_t unit, T* buffer, std::vector<typename Gathered<T>::Run>& runs) const {
    const int64_t column = unit % column_blocks_ * kColumns;
    const int64_t group = unit / column_blocks_ % product_.groups;
    const int64_t row = unit / column_blocks_ / product_.groups * kRows;
    const int64_t channel = group * group_ + column;  // of the target
    GemmTile<T> tile;
    tile.m = std::min(kRows, left_.rows() - row);
    tile.n = std::min(kColumns, group_ - column);
    tile.b_row = product_.target_channels;
    tile.b_column = 1;
    T* const placed = buffer + kRows * kDepth;
    tile.c_row = in_order_ ? product_.target_channels : tile.n;
    tile.c = in_order_ ? static_cast<T*>(product_.target) + row * tile.c_row + channel : placed;
    for (int64_t k = 0; k < left_.columns(); k += kDepth) {
      if (k > 0 && !ctx_.Poll().ok()) return;
      tile.k = std::min(kDepth, left_.columns() - k);
      if (is_plain_) {
        tile.a = left_.plain(row, k, group);
        tile.a_row = left_.plain_stride();
      } else {
        left_.Cut(k, k + tile.k, group, runs);
        left_.Gather(row, tile.m, runs, buffer);
        tile.a = buffer;
        tile.a_row = tile.k;
      }
      tile.a_column = 1;
      tile.b = static_cast<const T*>(product_.matrix) + k * tile.b_row + channel;
      tile.accumulate = k > 0;
      MultiplyTile(tile);
    }
    if (!in_order_) Place(row, channel, tile, placed);
  }

  // Puts rows where they belong.
  void Place(int64_t row, int64_t channel, const GemmTile<T>& tile, const T* from) const {
    auto place = left_.At(row);
    for (int64_t i = 0; i < tile.m; ++i, left_.Advance(place)) {
      int64_t pixel = place.image;
      for (int a = 0; a < kWindowAxes; ++a) {
        const TapAxis& axis = product_.axes[a];
        pixel = pixel * axis.size + axis.start + place.p[a] * axis.stride;
      }
      std::copy_n(from + i * tile.n, tile.n,
                  static_cast<T*>(product_.target) + pixel * product_.target_channels + channel);
    }
  }

  const KernelContext& ctx_;
  const GatherProduct& product_;
  const Gathered<T> left_;
  const int64_t group_;  // channels of the target in one
  const bool is_plain_;
  bool in_order_ = true;
  int64_t row_blocks_ = 0;
  int64_t column_blocks_ = 0;
};

template <typename T>
class TransposedMultiplication {
 public:
  TransposedMultiplication(const KernelContext& ctx, const GatherTransposed& product)
      : ctx_(ctx),
        product_(product),
        left_(product),
        group_(product.target_channels / product.groups),
        matrix_(left_.columns() * product.target_channels) {
    depth_blocks_ = Ceil(left_.columns(), kRows);
    column_blocks_ = Ceil(group_, kColumns);
    // Few blocks: rows are added up in parts, too.
    const int64_t units = depth_blocks_ * column_blocks_ * product.groups;
    constexpr int64_t kEnough = 16, kLeastRows = 8 * kDepth;
    parts_ = std::clamp(std::min(kEnough / units, left_.rows() / kLeastRows), int64_t{1}, kEnough);
    part_rows_ = Ceil(Ceil(left_.rows(), parts_), kDepth) * kDepth;
  }

  absl::Status Run() const {
    T* const matrix = static_cast<T*>(product_.matrix);
    if (parts_ == 1) {
      GYRE_RETURN_IF_ERROR(RunParts(matrix));
      return ctx_.Poll();
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({parts_, matrix_}));
    GYRE_ASSIGN_OR_RETURN(Tensor sums, ctx_.Allocate(product_.dtype, shape));
    T* const parts = static_cast<T*>(sums.mutable_raw_data());
    GYRE_RETURN_IF_ERROR(RunParts(parts));
    GYRE_RETURN_IF_ERROR(ctx_.Poll());
    return ctx_.ParallelRun(matrix_, 1 << 13, [&](int64_t begin, int64_t end) {
      std::copy(parts + begin, parts + end, matrix + begin);
      for (int64_t part = 1; part < parts_; ++part) {
        const T* from = parts + part * matrix_;
        for (int64_t i = begin; i < end; ++i) matrix[i] += from[i];
      }
    });
  }

 private:
  absl::Status RunParts(T* to) const {
    const int64_t units = parts_ * depth_blocks_ * column_blocks_ * product_.groups;
    const int64_t work = std::min(kRows, left_.columns()) * std::min(kColumns, group_) *
                         std::min(part_rows_, int64_t{1} << 20);
    return ctx_.ParallelRun(units, Grain(work), [&](int64_t begin, int64_t end) {
      std::vector<T> buffer(kRows * kDepth);
      std::vector<typename Gathered<T>::Run> runs;
      for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit, to, buffer.data(), runs);
    });
  }

  void RunUnit(int64_t unit, T* to, T* buffer, std::vector<typename Gathered<T>::Run>& runs) const {
    const int64_t column = unit % column_blocks_ * kColumns;
    unit /= column_blocks_;
    const int64_t k = unit % depth_blocks_ * kRows;
    unit /= depth_blocks_;
    const int64_t group = unit % product_.groups, part = unit / product_.groups;
    const int64_t channel = group * group_ + column;
    GemmTile<T> tile;
    tile.m = std::min(kRows, left_.columns() - k);
    tile.n = std::min(kColumns, group_ - column);
    tile.b_row = product_.target_channels;
    tile.b_column = 1;
    tile.c_row = product_.target_channels;
    tile.c = to + part * matrix_ + k * tile.c_row + channel;
    const bool is_plain = left_.IsPlain();
    if (!is_plain) left_.Cut(k, k + tile.m, group, runs);
    const int64_t first = part * part_rows_;
    const int64_t last = std::min(first + part_rows_, left_.rows());
    if (first >= last) {
      for (int64_t i = 0; i < tile.m; ++i) std::fill_n(tile.c + i * tile.c_row, tile.n, T{0});
      return;
    }
    for (int64_t row = first; row < last; row += kDepth) {
      if (row > first && !ctx_.Poll().ok()) return;
      tile.k = std::min(kDepth, last - row);
      tile.a_row = 1;
      if (is_plain) {
        tile.a = left_.plain(row, k, group);
        tile.a_column = left_.plain_stride();
      } else {
        left_.Gather(row, tile.k, runs, buffer);
        tile.a = buffer;
        tile.a_column = tile.m;
      }
      tile.b = static_cast<const T*>(product_.target) + row * tile.b_row + channel;
      tile.accumulate = row > first;
      MultiplyTile(tile);
    }
  }

  const KernelContext& ctx_;
  const GatherTransposed& product_;
  const Gathered<T> left_;
  const int64_t group_;
  const int64_t matrix_;  // elements of the result
  int64_t depth_blocks_ = 0;
  int64_t column_blocks_ = 0;
  int64_t parts_ = 1;
  int64_t part_rows_ = 0;
};

}  // namespace

absl::Status MultiplyGathered(const KernelContext& ctx, const GatherProduct& product) {
  return VisitType<Computed>(ComputedAs(product.dtype), [&](auto tag) {
    return Multiplication<typename decltype(tag)::type>(ctx, product).Run();
  });
}

absl::Status MultiplyGatheredTransposed(const KernelContext& ctx, const GatherTransposed& product) {
  return VisitType<Computed>(ComputedAs(product.dtype), [&](auto tag) {
    return TransposedMultiplication<typename decltype(tag)::type>(ctx, product).Run();
  });
}

}  // namespace gyre
