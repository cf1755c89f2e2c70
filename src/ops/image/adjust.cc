// AdjustContrastv2, AdjustHue, AdjustSaturation: images with other colors.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/image/hsv.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kGrain = 1 << 12;  // pixels
constexpr int64_t kPollPixels = 1 << 14;

absl::StatusOr<float> Factor(const KernelContext& ctx, absl::string_view what) {
  if (ctx.input(1).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must be a scalar, but its shape is ",
                                                   ctx.input(1).shape().ToString()));
  }
  return ctx.input(1).scalar<float>();
}

absl::Status CheckImage(const Shape& shape, bool has_colors) {
  if (shape.rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("images must be at least 3-D [height, width, channels], but the shape is ",
                     shape.ToString()));
  }
  if (has_colors && shape.dim(shape.rank() - 1) != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("images must have 3 channels, but the shape is ", shape.ToString()));
  }
  return absl::OkStatus();
}

// Means of columns of [n, channels]: halves are added up, so that errors stay small and sums are
// made of many elements at a time.
template <typename T>
void Means(const T* x, int64_t n, int64_t channels, float* mean) {
  constexpr int64_t kLeaf = 128;
  if (n <= kLeaf) {
    std::fill_n(mean, channels, 0.0f);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < channels; ++c) mean[c] += static_cast<float>(x[i * channels + c]);
    }
    return;
  }
  std::vector<float> right(channels);
  const int64_t half = n / 2;
  Means(x, half, channels, mean);
  Means(x + half * channels, n - half, channels, right.data());
  for (int64_t c = 0; c < channels; ++c) mean[c] += right[c];
}

template <typename T>
struct ContrastKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor images = ctx.input(0);
    GYRE_RETURN_IF_ERROR(CheckImage(images.shape(), false));
    GYRE_ASSIGN_OR_RETURN(const float factor, Factor(ctx, "contrast_factor"));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), images.shape()));
    if (out.num_elements() > 0) {
      const int rank = images.rank();
      const int64_t channels = images.dim(rank - 1);
      const int64_t pixels = images.dim(rank - 3) * images.dim(rank - 2);
      const int64_t batch = images.num_elements() / (channels * pixels);
      const T* from = images.values<T>().data();
      T* to = out.mutable_values<T>().data();
      GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({batch, channels}));
      GYRE_ASSIGN_OR_RETURN(Tensor means, ctx.AllocateZeros(DType::kFloat, shape));
      float* const mean = means.mutable_values<float>().data();
      const int64_t step = std::max<int64_t>(1, kPollPixels / channels);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch, 1, [&](int64_t begin, int64_t end) {
        std::vector<float> sum(channels);
        for (int64_t b = begin; b < end; ++b) {
          std::vector<double> total(channels);
          for (int64_t first = 0; first < pixels; first += step) {
            if (!ctx.Poll().ok()) return;
            Means(from + (b * pixels + first) * channels, std::min(step, pixels - first), channels,
                  sum.data());
            for (int64_t c = 0; c < channels; ++c) total[c] += sum[c];
          }
          for (int64_t c = 0; c < channels; ++c) {
            mean[b * channels + c] =
                static_cast<float>(total[c]) * (1.0f / static_cast<float>(pixels));
          }
        }
      }));
      GYRE_RETURN_IF_ERROR(ctx.Poll());  // pieces may have ended half-way
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch * pixels, step, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float* m = mean + i / pixels * channels;
          for (int64_t c = 0; c < channels; ++c) {
            const auto x = static_cast<float>(from[i * channels + c]);
            to[i * channels + c] = static_cast<T>(m[c] + factor * (x - m[c]));
          }
        }
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// A hue of [0, 6), and the largest and smallest channel.
struct HueRange {
  float hue, low, high;
};

HueRange HueOf(float r, float g, float b) {
  float low, mid, high;
  int sector;
  if (r < g) {
    if (b < r) {
      high = g, mid = r, low = b, sector = 1;
    } else if (b > g) {
      high = b, mid = g, low = r, sector = 3;
    } else {
      high = g, mid = b, low = r, sector = 2;
    }
  } else if (b < g) {
    high = r, mid = g, low = b, sector = 0;
  } else if (b > r) {
    high = b, mid = r, low = g, sector = 4;
  } else {
    high = r, mid = b, low = g, sector = 5;
  }
  if (high == low) return {0, low, high};
  const float ratio = (mid - low) / (high - low);
  return {static_cast<float>(sector) + (sector % 2 == 0 ? ratio : 1 - ratio), low, high};
}

void SetColor(const HueRange& color, float* rgb) {
  const int sector = static_cast<int>(color.hue);
  float ratio = color.hue - static_cast<float>(sector);
  if (sector % 2 != 0) ratio = 1 - ratio;
  const float mid = color.low + ratio * (color.high - color.low);
  const float low = color.low, high = color.high;
  switch (sector) {
    case 0:
      rgb[0] = high, rgb[1] = mid, rgb[2] = low;
      break;
    case 1:
      rgb[0] = mid, rgb[1] = high, rgb[2] = low;
      break;
    case 2:
      rgb[0] = low, rgb[1] = high, rgb[2] = mid;
      break;
    case 3:
      rgb[0] = low, rgb[1] = mid, rgb[2] = high;
      break;
    case 4:
      rgb[0] = mid, rgb[1] = low, rgb[2] = high;
      break;
    default:
      rgb[0] = high, rgb[1] = low, rgb[2] = mid;
  }
}

struct ShiftHue {
  static constexpr absl::string_view kWhat = "delta";
  static void Apply(const float* from, float delta, float* to) {
    HueRange color = HueOf(from[0], from[1], from[2]);
    float hue = std::fmod(color.hue + delta * 6.0f, 6.0f);
    if (hue < 0) hue += 6.0f;
    if (!(hue >= 0 && hue < 6)) hue = 0;  // a NaN, or rounded up to 6
    color.hue = hue;
    SetColor(color, to);
  }
};

struct ScaleSaturation {
  static constexpr absl::string_view kWhat = "scale";
  static void Apply(const float* from, float scale, float* to) {
    float hsv[3];
    image::RgbToHsv(from, hsv);
    hsv[1] = std::min(1.0f, std::max(0.0f, hsv[1] * scale));
    image::HsvToRgb(hsv, to);
  }
};

template <typename Fn, typename T>
absl::Status AdjustPixels(KernelContext& ctx) {
  const Tensor images = ctx.input(0);
  GYRE_RETURN_IF_ERROR(CheckImage(images.shape(), true));
  GYRE_ASSIGN_OR_RETURN(const float factor, Factor(ctx, Fn::kWhat));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), images.shape()));
  if (out.num_elements() > 0) {
    const T* from = images.values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(images.num_elements() / 3, kGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const float in[3] = {static_cast<float>(from[3 * i]),
                                 static_cast<float>(from[3 * i + 1]),
                                 static_cast<float>(from[3 * i + 2])};
            float result[3];
            Fn::Apply(in, factor, result);
            for (int c = 0; c < 3; ++c) to[3 * i + c] = static_cast<T>(result[c]);
          }
        }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
struct HueKernel {
  static absl::Status Run(KernelContext& ctx) { return AdjustPixels<ShiftHue, T>(ctx); }
};
template <typename T>
struct SaturationKernel {
  static absl::Status Run(KernelContext& ctx) { return AdjustPixels<ScaleSaturation, T>(ctx); }
};

absl::Status AdjustShape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("images must be at least 3-D, but the shape is ", c.input(0).ToString()));
  }
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

Expr MeanOfImages(GradientContext& g, Expr x) {
  return g.op("Mean", {x, g.builder().Ints({-3, -2})}, {{"keep_dims", true}});
}

// mean + factor (x - mean), where the mean is of the image.
void ContrastGradient(GradientContext& g) {
  const Expr factor = Cast(g.input(1), g.input_dtype(0));
  if (g.wants(0)) g.Add(0, factor * g.grad() + (1.0 - factor) * MeanOfImages(g, g.grad()));
  if (g.wants(1)) {
    const Expr product = g.grad() * (g.input(0) - MeanOfImages(g, g.input(0)));
    g.Add(1, Sum(Cast(product, DType::kFloat),
                 g.op("Range", {g.builder().Int(0), g.op("Rank", {product}), g.builder().Int(1)})));
  }
}

using ImageTypes = Types<Half, float>;

}  // namespace

void RegisterAdjust(OpRegistry& ops) {
  ops.Add({
      .schema = "AdjustContrastv2(images: T, contrast_factor: float) -> output: T {T: {half, "
                "float} = float}",
      .doc = "Images whose pixels differ from the mean of their channel so many times as much.",
      .shape = AdjustShape,
      .gradient = {ContrastGradient},
      .kernel = ForTypes<ContrastKernel, ImageTypes>("T"),
  });
  ops.Add({
      .schema = "AdjustHue(images: T, delta: float) -> output: T {T: {half, float} = float}",
      .doc = "Images in which delta has been added to the hue of each pixel.",
      .shape = AdjustShape,
      .gradient = RefusesGradient("AdjustHue has no gradient, as in TensorFlow: convert the image "
                                  "by rgb_to_hsv, add to the hue, and convert it back"),
      .kernel = ForTypes<HueKernel, ImageTypes>("T"),
  });
  ops.Add({
      .schema = "AdjustSaturation(images: T, scale: float) -> output: T {T: {half, float} = float}",
      .doc = "Images in which the saturation of each pixel has been multiplied by scale.",
      .shape = AdjustShape,
      .gradient = RefusesGradient("AdjustSaturation has no gradient, as in TensorFlow: convert the "
                                  "image by rgb_to_hsv, scale the saturation, and convert it back"),
      .kernel = ForTypes<SaturationKernel, ImageTypes>("T"),
  });
}

}  // namespace gyre
