#include "ops/image/resample.h"

#include <algorithm>
#include <cstring>

#include "ops/dispatch.h"
#include "ops/first_error.h"

namespace gyre::image {
namespace {

constexpr int64_t kGrain = 1 << 15;     // additions in a piece
constexpr int64_t kPollWork = 1 << 16;  // additions between two looks at the time

template <typename T>
void LoadAs(const void* row, int64_t first, int64_t n, float* out) {
  const T* from = static_cast<const T*>(row) + first;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(from[i]);
}

using StoreRow = void (*)(const float* row, int64_t n, void* out, int64_t first);
template <typename T>
void StoreAs(const float* row, int64_t n, void* out, int64_t first) {
  T* to = static_cast<T*>(out) + first;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(row[i]);
}

StoreRow RowStorer(DType dtype) {
  StoreRow store = nullptr;
  (void)VisitType<FloatTypes>(dtype, [&](auto tag) {
    store = &StoreAs<typename decltype(tag)::type>;
    return absl::OkStatus();
  });
  return store;
}

// out[x] = Σ weight * row[from], for each channel. kChannels: 0 when it is not known.
template <int kChannels>
void AddColumns(const float* row, const Taps& taps, int64_t channels, int64_t begin, int64_t end,
                float* out) {
  if constexpr (kChannels > 0) {
    for (int64_t x = begin; x < end; ++x) {
      float sums[kChannels] = {};
      for (int64_t t = taps.begin(x); t < taps.begin(x + 1); ++t) {
        const float* pixel = row + taps.from(t) * kChannels;
        const float weight = taps.weight(t);
        for (int c = 0; c < kChannels; ++c) sums[c] += pixel[c] * weight;
      }
      std::copy_n(sums, kChannels, out + x * kChannels);
    }
  } else {
    for (int64_t x = begin; x < end; ++x) {
      float* sums = out + x * channels;
      std::fill_n(sums, channels, 0.0f);
      for (int64_t t = taps.begin(x); t < taps.begin(x + 1); ++t) {
        const float* pixel = row + taps.from(t) * channels;
        const float weight = taps.weight(t);
        for (int64_t c = 0; c < channels; ++c) sums[c] += pixel[c] * weight;
      }
    }
  }
}

// The same for two taps, between whose samples a position lies.
template <int kChannels>
void Between(const float* row, const Taps& taps, int64_t channels, int64_t begin, int64_t end,
             float* out) {
  const int64_t count = kChannels > 0 ? kChannels : channels;
  const int32_t* froms = taps.froms();
  const float* weights = taps.weights();
  for (int64_t x = begin; x < end; ++x) {
    const float* left = row + froms[2 * x] * count;
    const float* right = row + froms[2 * x + 1] * count;
    const float part = weights[2 * x + 1];
    for (int64_t c = 0; c < count; ++c) out[x * count + c] = left[c] + (right[c] - left[c]) * part;
  }
}

using ColumnsFn = void (*)(const float*, const Taps&, int64_t, int64_t, int64_t, float*);
ColumnsFn ColumnsOf(Order order, int64_t channels) {
  const bool between = order == Order::kInterpolate;
  switch (channels) {
    case 1:
      return between ? &Between<1> : &AddColumns<1>;
    case 3:
      return between ? &Between<3> : &AddColumns<3>;
    case 4:
      return between ? &Between<4> : &AddColumns<4>;
    default:
      return between ? &Between<0> : &AddColumns<0>;
  }
}

// Makes rows of the output, one after the other. One thread.
class Resampler {
 public:
  Resampler(const KernelContext& ctx, const Tensor& images, const ImageDims& dims, const Taps& rows,
            const Taps& columns, Order order)
      : ctx_(ctx),
        images_(images),
        dims_(dims),
        rows_(rows),
        columns_(columns),
        order_(order),
        load_(images.dtype() == DType::kFloat ? nullptr : RowLoader(images.dtype())),
        add_columns_(ColumnsOf(order, dims.channels)) {}

  absl::Status Prepare() {
    const int64_t wide = std::max(dims_.row(), out_row());
    // Some rows as floats, as many that columns were made of, and one that is added up.
    GYRE_ASSIGN_OR_RETURN(scratch_,
                          ctx_.Allocate(DType::kFloat, Shape::Vector((2 * kSlots + 1) * wide)));
    float* const at = scratch_.mutable_values<float>().data();
    for (int i = 0; i < kSlots; ++i) {
      loaded_[i] = at + i * wide;
      made_[i] = at + (kSlots + i) * wide;
      in_loaded_[i] = in_made_[i] = -1;
    }
    sum_ = at + 2 * kSlots * wide;
    return absl::OkStatus();
  }

  int64_t out_row() const { return columns_.size() * dims_.channels; }

  // Row y of image `batch`.
  absl::Status Make(int64_t batch, int64_t y, float factor, float* out) {
    if (batch != batch_) {
      batch_ = batch;
      std::fill_n(in_loaded_, kSlots, -1);
      std::fill_n(in_made_, kSlots, -1);
    }
    switch (order_) {
      case Order::kRowsFirst:
        GYRE_RETURN_IF_ERROR(
            AddRows(y, dims_.row(), [&](int64_t from) { return Row(from); }, sum_));
        GYRE_RETURN_IF_ERROR(AddColumnsOf(sum_, out));
        break;
      case Order::kColumnsFirst:
        GYRE_RETURN_IF_ERROR(
            AddRows(y, out_row(), [&](int64_t from) { return MadeRow(from); }, out));
        break;
      case Order::kInterpolate: {
        const int64_t tap = rows_.begin(y);
        GYRE_ASSIGN_OR_RETURN(const float* above, MadeRow(rows_.from(tap)));
        GYRE_ASSIGN_OR_RETURN(const float* below, MadeRow(rows_.from(tap + 1)));
        const float part = rows_.weight(tap + 1);
        GYRE_RETURN_IF_ERROR(Stretches(out_row(), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) out[i] = above[i] + (below[i] - above[i]) * part;
        }));
        break;
      }
    }
    if (factor != 1) {
      for (int64_t i = 0; i < out_row(); ++i) out[i] *= factor;
    }
    return absl::OkStatus();
  }

 private:
  template <typename Body>
  absl::Status Stretches(int64_t n, const Body& body) {
    for (int64_t begin = 0; begin < n; begin += kPollWork) {
      body(begin, std::min(n, begin + kPollWork));
      if (n > kPollWork) GYRE_RETURN_IF_ERROR(ctx_.Poll());
    }
    return absl::OkStatus();
  }

  // A row of the input, as floats: good until a row that is a multiple of kSlots away is asked for.
  absl::StatusOr<const float*> Row(int64_t y) {
    const int64_t first = batch_ * dims_.plane() + y * dims_.row();
    if (load_ == nullptr) return static_cast<const float*>(images_.raw_data()) + first;
    const int slot = static_cast<int>(y % kSlots);
    if (in_loaded_[slot] != y) {
      in_loaded_[slot] = -1;
      GYRE_RETURN_IF_ERROR(Stretches(dims_.row(), [&](int64_t begin, int64_t end) {
        load_(images_.raw_data(), first + begin, end - begin, loaded_[slot] + begin);
      }));
      in_loaded_[slot] = y;
    }
    return loaded_[slot];
  }

  // A row of the input whose columns have been added up: as good for as long.
  absl::StatusOr<const float*> MadeRow(int64_t y) {
    const int slot = static_cast<int>(y % kSlots);
    if (in_made_[slot] != y) {
      in_made_[slot] = -1;
      GYRE_ASSIGN_OR_RETURN(const float* row, Row(y));
      GYRE_RETURN_IF_ERROR(AddColumnsOf(row, made_[slot]));
      in_made_[slot] = y;
    }
    return made_[slot];
  }

  absl::Status AddColumnsOf(const float* row, float* out) {
    const int64_t n = columns_.size();
    int64_t begin = 0;
    while (begin < n) {
      // As many positions as make up some work.
      const int64_t work = (columns_.begin(begin + 1) - columns_.begin(begin) + 1) * dims_.channels;
      const int64_t end = std::min(n, begin + std::max<int64_t>(1, kPollWork / work));
      add_columns_(row, columns_, dims_.channels, begin, end, out);
      begin = end;
      if (begin < n) GYRE_RETURN_IF_ERROR(ctx_.Poll());
    }
    return absl::OkStatus();
  }

  // out = Σ weight * row, in the order of the taps; up to kSlots rows at a time.
  template <typename GetRow>
  absl::Status AddRows(int64_t y, int64_t n, const GetRow& row_at, float* out) {
    std::fill_n(out, n, 0.0f);
    int64_t work = 0;
    const int64_t end = rows_.begin(y + 1);
    for (int64_t t = rows_.begin(y); t < end;) {
      const float* rows[kSlots];
      float weights[kSlots];
      int count = 0;
      for (; count < kSlots && t < end && SharesNoSlot(t, count); ++count, ++t) {
        GYRE_ASSIGN_OR_RETURN(rows[count], row_at(rows_.from(t)));
        weights[count] = rows_.weight(t);
      }
      AddWeighted(rows, weights, count, n, out);
      if ((work += count * n) >= kPollWork) {
        work = 0;
        GYRE_RETURN_IF_ERROR(ctx_.Poll());
      }
    }
    return absl::OkStatus();
  }

  // Whether the row of tap t can be held beside those of the `count` taps before it.
  bool SharesNoSlot(int64_t t, int count) const {
    for (int i = 1; i <= count; ++i) {
      const int64_t a = rows_.from(t), b = rows_.from(t - i);
      if (a != b && a % kSlots == b % kSlots) return false;
    }
    return true;
  }

  static void AddWeighted(const float* const* rows, const float* weights, int count, int64_t n,
                          float* __restrict out) {
    if (count == 4) {
      const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
      const float wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
      for (int64_t i = 0; i < n; ++i)
        out[i] = (((out[i] + a[i] * wa) + b[i] * wb) + c[i] * wc) + d[i] * wd;
      return;
    }
    for (int r = 0; r < count; ++r) {
      const float* row = rows[r];
      const float weight = weights[r];
      for (int64_t i = 0; i < n; ++i) out[i] += row[i] * weight;
    }
  }

  const KernelContext& ctx_;
  const Tensor& images_;
  const ImageDims dims_;
  const Taps& rows_;
  const Taps& columns_;
  const Order order_;
  const LoadRow load_;
  const ColumnsFn add_columns_;
  Tensor scratch_;
  static constexpr int kSlots = 4;
  float* loaded_[kSlots] = {};
  float* made_[kSlots] = {};
  float* sum_ = nullptr;
  int64_t batch_ = -1;
  int64_t in_loaded_[kSlots] = {};  // which rows these are; -1: none
  int64_t in_made_[kSlots] = {};
};

}  // namespace

LoadRow RowLoader(DType dtype) {
  LoadRow load = nullptr;
  (void)VisitType<RealTypes>(dtype, [&](auto tag) {
    load = &LoadAs<typename decltype(tag)::type>;
    return absl::OkStatus();
  });
  return load;
}

absl::StatusOr<Tensor> Resample(const KernelContext& ctx, const Tensor& images,
                                const ImageDims& dims, const Taps& rows, const Taps& columns,
                                Order order, DType result, float factor) {
  if (RowLoader(images.dtype()) == nullptr) return NoKernelFor(images.dtype());
  const StoreRow store = RowStorer(result);
  if (store == nullptr) return NoKernelFor(result);
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({dims.batch, rows.size(), columns.size(), dims.channels}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(result, shape));
  if (shape.num_elements() == 0) return out;
  const int64_t height = rows.size(), out_row = columns.size() * dims.channels;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max(out_row, dims.row()));
  void* const to = out.mutable_raw_data();
  FirstError error;
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(dims.batch * height, grain, [&](int64_t begin, int64_t end) {
    Resampler resampler(ctx, images, dims, rows, columns, order);
    absl::Status status = resampler.Prepare();
    Tensor narrow;
    if (status.ok() && result != DType::kFloat) {
      absl::StatusOr<Tensor> made = ctx.Allocate(DType::kFloat, Shape::Vector(out_row));
      status = made.status();
      if (made.ok()) narrow = *std::move(made);
    }
    for (int64_t i = begin; i < end && status.ok(); ++i) {
      float* const row = result == DType::kFloat ? static_cast<float*>(to) + i * out_row
                                                 : narrow.mutable_values<float>().data();
      status = resampler.Make(i / height, i % height, factor, row);
      if (status.ok() && result != DType::kFloat) store(row, out_row, to, i * out_row);
    }
    if (!status.ok()) error.Set(begin, std::move(status));
  }));
  GYRE_RETURN_IF_ERROR(error.status());
  return out;
}

}  // namespace gyre::image
