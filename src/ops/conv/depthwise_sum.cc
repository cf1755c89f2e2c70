#include "ops/conv/depthwise_sum.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "ops/dispatch.h"

namespace gyre {
namespace {

constexpr int64_t kMost = 64;  // rows whose products are added up at once

using Index = std::array<int64_t, kWindowAxes>;

// Pairs of rows, some at a time.
template <typename T>
class Sums {
 public:
  // Into `out`, of n channels.
  void Begin(T* out, int64_t n) {
    out_ = out;
    n_ = n;
    has_some_ = false;
    count_ = 0;
  }
  void Add(const T* x, const T* w) {
    if (count_ == kMost) Flush();
    xs_[count_] = x;
    ws_[count_] = w;
    ++count_;
  }
  // Whether it is time to look whether the run is to stop.
  bool IsDue() {
    if (work_ < (1 << 17)) return false;
    work_ = 0;
    return true;
  }
  void Flush() {
    work_ += count_ * n_;
    SumRowProducts(RowProducts<T>{xs_, ws_, count_, n_, out_, has_some_});
    has_some_ = true;
    count_ = 0;
  }

 private:
  const T* xs_[kMost];
  const T* ws_[kMost];
  int64_t count_ = 0;
  int64_t n_ = 0;
  int64_t work_ = 0;
  T* out_ = nullptr;
  bool has_some_ = false;
};

Index Split(int64_t i, const Index& sizes) {
  Index at;
  for (int a = kWindowAxes; a-- > 0;) {
    at[a] = i % sizes[a];
    i /= sizes[a];
  }
  return at;
}
int64_t Join(const Index& at, const Index& sizes) {
  return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
}
int64_t Count(const Index& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// The taps [begin, end) at which place `o` of a window meets an input.
std::pair<int64_t, int64_t> TapsAt(const WindowAxis& axis, int64_t o) {
  const int64_t start = axis.Start(o);
  const int64_t begin = start >= 0 ? 0 : (-start + axis.dilation - 1) / axis.dilation;
  const int64_t left = axis.input - start;  // inputs from there on
  const int64_t end = left <= 0 ? 0 : (left - 1) / axis.dilation + 1;
  return {std::min(begin, axis.size), std::min(end, axis.size)};
}

struct Sizes {
  explicit Sizes(const Convolution& sizes) : multiplier(sizes.out_channels / sizes.in_channels) {
    for (int a = 0; a < kWindowAxes; ++a) {
      inputs[a] = sizes.axes[a].input;
      outputs[a] = sizes.axes[a].output;
      taps[a] = sizes.axes[a].size;
    }
  }
  int64_t multiplier;
  Index inputs, outputs, taps;
};

// Each channel of the images as often as channels come of it.
template <typename T>
absl::StatusOr<Tensor> Repeat(const KernelContext& ctx, const Tensor& images, int64_t multiplier) {
  if (multiplier == 1) return images;
  Dims dims(images.shape().dims().begin(), images.shape().dims().end());
  dims.back() *= multiplier;  // which fits: there are as many channels of results
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), shape));
  const T* from = static_cast<const T*>(images.raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / multiplier);
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(images.num_elements(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) std::fill_n(to + i * multiplier, multiplier, from[i]);
      }));
  return out;
}

template <typename F>
absl::Status ForType(const Tensor& t, const F& f) {
  return VisitType<Types<float, double>>(t.dtype(), f);
}

int64_t Grain(int64_t taps, int64_t channels) {
  return std::max<int64_t>(
      1, (1 << 17) / std::max<int64_t>(1, std::min(taps, int64_t{1} << 20) * channels));
}

}  // namespace

absl::Status DepthwiseSum(const KernelContext& ctx, const Convolution& sizes, const Tensor& images,
                          const Tensor& filter, Tensor& out) {
  return ForType(images, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const Sizes s(sizes);
    GYRE_ASSIGN_OR_RETURN(const Tensor repeated, Repeat<T>(ctx, images, s.multiplier));
    const T* x = static_cast<const T*>(repeated.raw_data());
    const T* w = static_cast<const T*>(filter.raw_data());
    T* y = static_cast<T*>(out.mutable_raw_data());
    const int64_t n = sizes.out_channels, places = Count(s.outputs);
    const auto body = [&](int64_t begin, int64_t end) {
      Sums<T> sums;
      for (int64_t row = begin; row < end; ++row) {
        const Index o = Split(row % places, s.outputs);
        const T* image = x + row / places * Count(s.inputs) * n;
        sums.Begin(y + row * n, n);
        const auto [x0, x1] = TapsAt(sizes.axes[0], o[0]);
        const auto [y0, y1] = TapsAt(sizes.axes[1], o[1]);
        const auto [z0, z1] = TapsAt(sizes.axes[2], o[2]);
        Index tap, pixel;
        for (tap[0] = x0; tap[0] < x1; ++tap[0]) {
          pixel[0] = sizes.axes[0].Start(o[0]) + tap[0] * sizes.axes[0].dilation;
          for (tap[1] = y0; tap[1] < y1; ++tap[1]) {
            pixel[1] = sizes.axes[1].Start(o[1]) + tap[1] * sizes.axes[1].dilation;
            for (tap[2] = z0; tap[2] < z1; ++tap[2]) {
              if (sums.IsDue() && !ctx.Poll().ok()) return;
              pixel[2] = sizes.axes[2].Start(o[2]) + tap[2] * sizes.axes[2].dilation;
              sums.Add(image + Join(pixel, s.inputs) * n, w + Join(tap, s.taps) * n);
            }
          }
        }
        sums.Flush();
      }
    };
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(sizes.batch * places, Grain(sizes.taps(), n), body));
    return ctx.Poll();
  });
}

namespace {

// The taps through which pixel i of one axis goes into places, and these.
struct Meeting {
  int64_t tap, place;
};
void MeetingsOf(const WindowAxis& axis, int64_t i, std::vector<Meeting>& meetings) {
  meetings.clear();
  for (int64_t tap = 0; tap < axis.size; ++tap) {
    const int64_t distance = i + axis.before - tap * axis.dilation;
    if (distance < 0) return;
    if (distance % axis.stride == 0 && distance / axis.stride < axis.output)
      meetings.push_back({tap, distance / axis.stride});
  }
}

// Adds up the channels that come of one.
template <typename T>
absl::Status SumMultiples(const KernelContext& ctx, const T* from, int64_t multiplier,
                          int64_t count, T* to) {
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / multiplier);
  return ctx.ParallelRun(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T sum = 0;
      for (int64_t q = 0; q < multiplier; ++q) sum += from[i * multiplier + q];
      to[i] = sum;
    }
  });
}

}  // namespace

absl::Status DepthwiseInputGradient(const KernelContext& ctx, const Convolution& sizes,
                                    const Tensor& filter, const Tensor& grad, Tensor& images) {
  return ForType(grad, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const Sizes s(sizes);
    const int64_t n = sizes.out_channels, pixels = Count(s.inputs), places = Count(s.outputs);
    Tensor multiples;  // where more than one channel comes of each
    if (s.multiplier != 1) {
      GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({sizes.batch, pixels, n}));
      GYRE_ASSIGN_OR_RETURN(multiples, ctx.Allocate(images.dtype(), shape));
    }
    const T* dy = static_cast<const T*>(grad.raw_data());
    const T* w = static_cast<const T*>(filter.raw_data());
    T* dx = s.multiplier == 1 ? static_cast<T*>(images.mutable_raw_data())
                              : static_cast<T*>(multiples.mutable_raw_data());
    const auto body = [&](int64_t begin, int64_t end) {
      Sums<T> sums;
      std::array<std::vector<Meeting>, kWindowAxes> meetings;
      Index last = {-1, -1, -1};
      for (int64_t row = begin; row < end; ++row) {
        const Index at = Split(row % pixels, s.inputs);
        for (int a = 0; a < kWindowAxes; ++a) {
          if (at[a] != last[a]) MeetingsOf(sizes.axes[a], at[a], meetings[a]);
        }
        last = at;
        const T* image = dy + row / pixels * places * n;
        sums.Begin(dx + row * n, n);
        for (const Meeting& x : meetings[0]) {
          for (const Meeting& y : meetings[1]) {
            for (const Meeting& z : meetings[2]) {
              if (sums.IsDue() && !ctx.Poll().ok()) return;
              sums.Add(image + Join({x.place, y.place, z.place}, s.outputs) * n,
                       w + Join({x.tap, y.tap, z.tap}, s.taps) * n);
            }
          }
        }
        sums.Flush();
      }
    };
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(sizes.batch * pixels, Grain(sizes.taps(), n), body));
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (s.multiplier == 1) return absl::OkStatus();
    return SumMultiples(ctx, dx, s.multiplier, images.num_elements(),
                        static_cast<T*>(images.mutable_raw_data()));
  });
}

absl::Status DepthwiseFilterGradient(const KernelContext& ctx, const Convolution& sizes,
                                     const Tensor& images, const Tensor& grad, Tensor& filter) {
  return ForType(grad, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const Sizes s(sizes);
    GYRE_ASSIGN_OR_RETURN(const Tensor repeated, Repeat<T>(ctx, images, s.multiplier));
    const T* x = static_cast<const T*>(repeated.raw_data());
    const T* dy = static_cast<const T*>(grad.raw_data());
    T* dw = static_cast<T*>(filter.mutable_raw_data());
    const int64_t n = sizes.out_channels, places = Count(s.outputs);
    // A tap is added up over all places.
    const auto body = [&](int64_t begin, int64_t end) {
      Sums<T> sums;
      for (int64_t i = begin; i < end; ++i) {
        const Index tap = Split(i, s.taps);
        sums.Begin(dw + i * n, n);
        for (int64_t b = 0; b < sizes.batch; ++b) {
          Index o, pixel;
          for (o[0] = 0; o[0] < s.outputs[0]; ++o[0]) {
            pixel[0] = sizes.axes[0].Start(o[0]) + tap[0] * sizes.axes[0].dilation;
            if (pixel[0] < 0 || pixel[0] >= s.inputs[0]) continue;
            for (o[1] = 0; o[1] < s.outputs[1]; ++o[1]) {
              pixel[1] = sizes.axes[1].Start(o[1]) + tap[1] * sizes.axes[1].dilation;
              if (pixel[1] < 0 || pixel[1] >= s.inputs[1]) continue;
              for (o[2] = 0; o[2] < s.outputs[2]; ++o[2]) {
                if (sums.IsDue() && !ctx.Poll().ok()) return;
                pixel[2] = sizes.axes[2].Start(o[2]) + tap[2] * sizes.axes[2].dilation;
                if (pixel[2] < 0 || pixel[2] >= s.inputs[2]) continue;
                sums.Add(x + (b * Count(s.inputs) + Join(pixel, s.inputs)) * n,
                         dy + (b * places + Join(o, s.outputs)) * n);
              }
            }
          }
        }
        sums.Flush();
      }
    };
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(sizes.taps(), Grain(sizes.batch * places, n), body));
    return ctx.Poll();
  });
}

}  // namespace gyre
