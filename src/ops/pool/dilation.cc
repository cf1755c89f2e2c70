// Dilation2D, Dilation2DBackpropInput, Dilation2DBackpropFilter: the largest sum of an image and a
// filter at each place of a window, channel by channel (grayscale morphology).
//
// Where sums are equal, the first counts. A window that meets no pixel gives the least number of
// the type, and has no gradient.
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/node_attrs.h"
#include "ops/conv/window.h"
#include "ops/dispatch.h"
#include "ops/nn/map_elements.h"
#include "ops/pool/pool.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(WindowAttrs window, WindowAttrs::Read(node, 2));
    if (window.channel_stride != 1) {
      return absl::UnimplementedError(
          absl::StrCat("windows must not go along channels, but strides has ",
                       window.channel_stride, " for them"));
    }
    return Attrs{std::move(window)};
  }
  WindowAttrs window;
};

template <typename T>
T Lowest() {
  if constexpr (kIsSmallFloat<T>) {
    return T(std::is_same_v<T, Half> ? -65504.0F : -3.38953139e38F);
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// The windows of one call. Images are [batch, height, width, channels] in memory.
struct Windows {
  static absl::StatusOr<Windows> Make(const KernelContext& ctx, const WindowAttrs& attrs) {
    const Shape &image = ctx.input(0).shape(), &filter = ctx.input(1).shape();
    GYRE_RETURN_IF_ERROR(RequireImages(image, 4, "input"));
    GYRE_RETURN_IF_ERROR(RequireImages(filter, 3, "filter"));
    if (image.dim(3) != filter.dim(2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input and filter must have the same depth, but their shapes are ",
                       image.ToString(), " and ", filter.ToString()));
    }
    if (filter.dim(0) == 0 || filter.dim(1) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("filter must not be empty, but its shape is ", filter.ToString()));
    }
    Windows w;
    w.batch = image.dim(0);
    w.channels = image.dim(3);
    GYRE_ASSIGN_OR_RETURN(w.y, attrs.Axis(0, image.dim(1), filter.dim(0)));
    GYRE_ASSIGN_OR_RETURN(w.x, attrs.Axis(1, image.dim(2), filter.dim(1)));
    GYRE_ASSIGN_OR_RETURN(w.output, Shape::Make({w.batch, w.y.output, w.x.output, w.channels}));
    return w;
  }

  // The part of the filter, [begin, end), that place `o` meets pixels with along an axis.
  static std::pair<int64_t, int64_t> Range(const WindowAxis& axis, int64_t o) {
    const int64_t start = axis.Start(o), step = axis.dilation;
    const int64_t begin = start >= 0 ? 0 : (-start + step - 1) / step;
    const int64_t end = start >= axis.input ? 0 : (axis.input - start + step - 1) / step;
    return {std::min(begin, axis.size), std::clamp(end, std::min(begin, axis.size), axis.size)};
  }

  // Calls f(pixel of the image, element of the filter), counted without channels, for what the
  // window meets at a place. Stops where f returns false.
  template <typename F>
  void ForPixels(int64_t place, const F& f) const {
    const int64_t oy = place / x.output, ox = place % x.output;
    const auto [y0, y1] = Range(y, oy);
    const auto [x0, x1] = Range(x, ox);
    for (int64_t i = y0; i < y1; ++i) {
      const int64_t row = (y.Start(oy) + i * y.dilation) * x.input;
      for (int64_t j = x0; j < x1; ++j) {
        if (!f(row + x.Start(ox) + j * x.dilation, i * x.size + j)) return;
      }
    }
  }
  int64_t places() const { return y.output * x.output; }
  int64_t pixels() const { return y.input * x.input; }
  int64_t window() const { return std::min(y.size, y.input) * std::min(x.size, x.input); }
  int64_t grain(int64_t columns) const {
    constexpr int64_t kMost = 1 << 15;
    const int64_t work = std::min(window(), kMost) * std::min(columns, kMost);
    return std::max<int64_t>(1, kMost / std::max<int64_t>(1, work));
  }

  int64_t batch, channels;
  WindowAxis y, x;
  Shape output;
};

template <typename T>
T SumOf(T a, T b) {
  return FromAccumulator<T>(ToAccumulator(a) + ToAccumulator(b));
}

template <typename T>
bool IsMore(T a, T b) {
  return static_cast<Computed<T>>(a) > static_cast<Computed<T>>(b);
}

constexpr int64_t kChannels = 64;  // that are computed at a time

// The largest sums of `width` channels from c0 on at a place, and the pixels and filter elements
// that they come from; -1: none. False: the run is to stop.
template <typename T>
struct Best {
  T value[kChannels];
  int64_t pixel[kChannels], element[kChannels];

  bool Find(const Windows& w, const T* image, const T* filter, int64_t place, int64_t c0,
            int64_t width, Looks& looks) {
    std::fill_n(value, width, Lowest<T>());
    std::fill_n(pixel, width, -1);
    std::fill_n(element, width, -1);
    bool goes_on = true;
    w.ForPixels(place, [&](int64_t p, int64_t e) {
      const T *a = image + p * w.channels + c0, *b = filter + e * w.channels + c0;
      for (int64_t c = 0; c < width; ++c) {
        const T sum = SumOf(a[c], b[c]);
        if (IsMore(sum, value[c])) {
          value[c] = sum;
          pixel[c] = p;
          element[c] = e;
        }
      }
      return goes_on = looks.GoOn(width);
    });
    return goes_on;
  }
};

template <typename T>
struct DilationKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const Windows w, Windows::Make(ctx, attrs.window));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, w.output));
    if (out.num_elements() > 0) {
      const T* images = static_cast<const T*>(ctx.input(0).raw_data());
      const T* filter = static_cast<const T*>(ctx.input(1).raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      const int64_t n = w.channels, places = w.places();
      GYRE_RETURN_IF_ERROR(
          ctx.ParallelRun(w.batch * places, w.grain(n), [&](int64_t begin, int64_t end) {
            Looks looks(ctx);
            for (int64_t row = begin; row < end; ++row) {
              const T* image = images + row / places * w.pixels() * n;
              T* best = to + row * n;
              std::fill_n(best, n, Lowest<T>());
              bool goes_on = true;
              w.ForPixels(row % places, [&](int64_t p, int64_t e) {
                const T *a = image + p * n, *b = filter + e * n;
                for (int64_t c = 0; c < n; ++c) {
                  const T sum = SumOf(a[c], b[c]);
                  best[c] = IsMore(sum, best[c]) ? sum : best[c];
                }
                return goes_on = looks.GoOn(n);
              });
              if (!goes_on) return;
            }
          }));
      GYRE_RETURN_IF_ERROR(ctx.Poll());  // pieces may have ended half-way
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// Input 2, by places, is added to the pixels, or to the elements of the filter, that were largest.
template <typename T, bool kFilter>
absl::Status RunBackprop(KernelContext& ctx, const Attrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Windows w, Windows::Make(ctx, attrs.window));
  GYRE_RETURN_IF_ERROR(RequireShape(ctx.input(2), w.output, "out_backprop"));
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        ctx.AllocateZeros(DTypeOf<T>, ctx.input(kFilter ? 1 : 0).shape()));
  const int64_t n = w.channels, places = w.places();
  if (out.num_elements() > 0 && ctx.input(2).num_elements() > 0) {
    const T* images = static_cast<const T*>(ctx.input(0).raw_data());
    const T* filter = static_cast<const T*>(ctx.input(1).raw_data());
    const T* grads = static_cast<const T*>(ctx.input(2).raw_data());
    T* to = static_cast<T*>(out.mutable_raw_data());
    const int64_t blocks = (n + kChannels - 1) / kChannels;
    // Windows overlap: channels of an image, or of all images, belong to one piece.
    const int64_t groups = kFilter ? 1 : w.batch, group = kFilter ? w.batch : 1;
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(groups * blocks, w.grain(places), [&](int64_t begin, int64_t end) {
          Looks looks(ctx);
          Best<T> best;
          for (int64_t unit = begin; unit < end; ++unit) {
            const int64_t first = unit / blocks * group, c0 = unit % blocks * kChannels;
            const int64_t width = std::min(kChannels, n - c0);
            for (int64_t row = first * places; row < (first + group) * places; ++row) {
              const int64_t image = row / places * w.pixels() * n;
              if (!looks.GoOn(width) ||
                  !best.Find(w, images + image, filter, row % places, c0, width, looks))
                return;
              const T* grad = grads + row * n + c0;
              T* const sums = to + (kFilter ? 0 : image) + c0;
              for (int64_t c = 0; c < width; ++c) {
                const int64_t at = kFilter ? best.element[c] : best.pixel[c];
                if (at >= 0) sums[at * n + c] = SumOf(sums[at * n + c], grad[c]);
              }
            }
          }
        }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <bool kFilter>
struct Backprop {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
      return RunBackprop<T, kFilter>(ctx, attrs);
    }
  };
};

absl::Status DilationShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs attrs, Attrs::Make(c.node()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 3));
  const PartialShape filter = c.input(1).has_rank() ? c.input(1) : PartialShape::UnknownOfRank(3);
  const int64_t depth = c.input(0).has_rank() ? c.input(0).dim(3) : -1;
  if (depth >= 0 && filter.dim(2) >= 0 && depth != filter.dim(2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input and filter must have the same depth, but their shapes are ",
                     c.input(0).ToString(), " and ", filter.ToString()));
  }
  const int64_t sizes[] = {filter.dim(0), filter.dim(1)};
  if (sizes[0] == 0 || sizes[1] == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter must not be empty, but its shape is ", filter.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(
      PartialShape shape,
      attrs.window.OutputShape(c.input(0), depth < 0 ? filter.dim(2) : depth, sizes));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

template <int kInput>
absl::Status AsInput(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(Attrs::Make(c.node()).status());
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 3));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 4));
  c.set_output(0, c.input(kInput).has_rank() ? c.input(kInput)
                                             : PartialShape::UnknownOfRank(kInput == 0 ? 4 : 3));
  return absl::OkStatus();
}

void DilationGradient(GradientContext& g) {
  const AttrMap attrs = AttrsOf(g.node(), {"strides", "rates", "padding"});
  const std::vector<Expr> inputs = {g.input(0), g.input(1), g.grad()};
  if (g.wants(0)) g.Add(0, g.op("Dilation2DBackpropInput", inputs, attrs));
  if (g.wants(1)) g.Add(1, g.op("Dilation2DBackpropFilter", inputs, attrs));
}

constexpr absl::string_view kAttrs =
    "{T: realnumbertype; strides: list(int) >= 4; rates: list(int) >= 4; padding: {'SAME', "
    "'VALID'}}";
constexpr absl::string_view kNoSecond = "Dilation2D has first derivatives only";

}  // namespace

void RegisterDilation(OpRegistry& ops) {
  const std::string forward = absl::StrCat("Dilation2D(input: T, filter: T) -> output: T ", kAttrs);
  const std::string by_input = absl::StrCat(
      "Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> in_backprop: T ", kAttrs);
  const std::string by_filter = absl::StrCat(
      "Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> filter_backprop: T ",
      kAttrs);
  ops.Add({.schema = forward,
           .doc = "The largest sum of what a window meets of images and of a filter, at each of "
                  "its places and in each channel.",
           .shape = DilationShape,
           .gradient = {DilationGradient},
           .kernel = ForTypes<DilationKernel, RealTypes>("T")});
  ops.Add({.schema = by_input,
           .doc = "The gradient of Dilation2D by its images.",
           .shape = AsInput<0>,
           .gradient = RefusesGradient(kNoSecond),
           .kernel = ForTypes<Backprop<false>::Kernel, RealTypes>("T")});
  ops.Add({.schema = by_filter,
           .doc = "The gradient of Dilation2D by its filter.",
           .shape = AsInput<1>,
           .gradient = RefusesGradient(kNoSecond),
           .kernel = ForTypes<Backprop<true>::Kernel, RealTypes>("T")});
}

}  // namespace gyre
