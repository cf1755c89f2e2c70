// RGBToHSV and HSVToRGB: colors by hue, saturation and value. All in [0, 1].
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/image/hsv.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kGrain = 1 << 12;  // pixels

absl::Status CheckColors(const Shape& shape) {
  if (shape.rank() >= 1 && shape.dim(shape.rank() - 1) == 3) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "images must have 3 channels in their last dimension, but the shape is ", shape.ToString()));
}

struct ToHsv {
  template <typename F>
  static void Apply(const F* rgb, F* hsv) {
    image::RgbToHsv(rgb, hsv);
  }
};

struct ToRgb {
  template <typename F>
  static void Apply(const F* hsv, F* rgb) {
    image::HsvToRgb(hsv, rgb);
  }
};

template <typename Fn, typename T>
absl::Status ConvertPixels(KernelContext& ctx) {
  using F = std::conditional_t<kIsSmallFloat<T>, float, T>;
  GYRE_RETURN_IF_ERROR(CheckColors(ctx.input(0).shape()));
  const Tensor images = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), images.shape()));
  if (out.num_elements() > 0) {
    const T* from = images.values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(images.num_elements() / 3, kGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const F in[3] = {static_cast<F>(from[3 * i]), static_cast<F>(from[3 * i + 1]),
                             static_cast<F>(from[3 * i + 2])};
            F result[3];
            Fn::Apply(in, result);
            for (int c = 0; c < 3; ++c) to[3 * i + c] = static_cast<T>(result[c]);
          }
        }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
struct RgbToHsvKernel {
  static absl::Status Run(KernelContext& ctx) { return ConvertPixels<ToHsv, T>(ctx); }
};
template <typename T>
struct HsvToRgbKernel {
  static absl::Status Run(KernelContext& ctx) { return ConvertPixels<ToRgb, T>(ctx); }
};

absl::Status ColorShape(ShapeContext& c) {
  const PartialShape& shape = c.input(0);
  if (shape.has_rank()) {
    const int64_t channels = shape.rank() > 0 ? shape.dim(shape.rank() - 1) : 0;
    if (channels != -1 && channels != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("images must have 3 channels in their last dimension, but the shape is ",
                       shape.ToString()));
    }
  }
  c.set_output(0, shape);
  return absl::OkStatus();
}

// The three channels of x, without their dimension.
std::vector<Expr> Channels(GradientContext& g, Expr x) {
  return g.builder().Ops("Unpack", {x}, {{"num", int64_t{3}}, {"axis", int64_t{-1}}}, 3);
}

Expr And(GradientContext& g, Expr a, Expr b) { return g.op("LogicalAnd", {a, b}); }

// Of two channels that are equal, the derivative of the first counts: as in TensorFlow. With max,
// mid and min by name, v = max, s = (max - min) / max, h = (offset + (a - b) / (max - min)) / 6.
void RgbToHsvGradient(GradientContext& g) {
  const std::vector<Expr> in = Channels(g, g.input(0));
  const std::vector<Expr> out_grads = Channels(g, g.grad());
  const Expr r = in[0], gr = in[1], b = in[2];
  const Expr value = g.op("Maximum", {r, g.op("Maximum", {gr, b})});
  const Expr least = g.op("Minimum", {r, g.op("Minimum", {gr, b})});
  const Expr range = value - least;
  const Expr one = OnesLike(r), zero = ZerosLike(r);
  // Which channel is the largest, and which the smallest.
  const Expr r_max = And(g, g.op("GreaterEqual", {r, gr}), g.op("GreaterEqual", {r, b}));
  const Expr g_max = And(g, g.op("Greater", {gr, r}), g.op("GreaterEqual", {gr, b}));
  const Expr b_max = And(g, g.op("Greater", {b, r}), g.op("Greater", {b, gr}));
  const Expr r_min = And(g, g.op("Less", {r, gr}), g.op("Less", {r, b}));
  const Expr g_min = And(g, g.op("LessEqual", {gr, r}), g.op("Less", {gr, b}));
  const Expr b_min = And(g, g.op("LessEqual", {b, r}), g.op("LessEqual", {b, gr}));
  const auto no_nan = [&](Expr x, Expr y) {
    const Expr is_zero = g.op("Equal", {y, zero});
    return Where(is_zero, zero, x / Where(is_zero, one, y));
  };
  const Expr lit = g.op("Greater", {value, zero});
  // By the largest and the smallest channel.
  const Expr s_by_max = Where(lit, no_nan(least, g.op("Square", {value})), zero);
  const Expr s_by_min = Where(lit, -no_nan(one, value), zero);
  // The hue by the channels in front of and behind the minus, and by the range.
  const Expr minuend = Where(r_max, gr, Where(g_max, b, r));
  const Expr subtrahend = Where(r_max, b, Where(g_max, r, gr));
  const Expr sixth = no_nan(one, 6.0 * range);
  const Expr h_by_range = -no_nan(minuend - subtrahend, 6.0 * g.op("Square", {range}));
  const Expr is_max[3] = {r_max, g_max, b_max};
  const Expr is_min[3] = {r_min, g_min, b_min};
  // Channel c is in front of the minus where the one before it is the largest.
  const Expr in_front[3] = {b_max, r_max, g_max};
  const Expr behind[3] = {g_max, b_max, r_max};
  std::vector<Expr> parts;
  for (int c = 0; c < 3; ++c) {
    const Expr hue = Where(in_front[c], sixth, Where(behind[c], -sixth, zero)) +
                     Where(is_max[c], h_by_range, zero) - Where(is_min[c], h_by_range, zero);
    const Expr saturation = Where(is_max[c], s_by_max, Where(is_min[c], s_by_min, zero));
    parts.push_back(out_grads[0] * hue + out_grads[1] * saturation +
                    Where(is_max[c], out_grads[2], zero));
  }
  g.Add(0, g.op("Pack", parts, {{"axis", int64_t{-1}}}));
}

// Of each channel of the result, v (1 - s + s d(h)), where d is a ramp between 0 and 1.
void HsvToRgbGradient(GradientContext& g) {
  const std::vector<Expr> in = Channels(g, g.input(0));
  const std::vector<Expr> out_grads = Channels(g, g.grad());
  const Expr s = in[1], v = in[2];
  const Expr six = 6.0 * in[0];
  const Expr one = OnesLike(s), zero = ZerosLike(s);
  Expr by_h = zero, by_s = zero, by_v = zero;
  const double centers[3] = {3, 2, 4};
  for (int c = 0; c < 3; ++c) {
    const Expr from_center = six - centers[c];
    const Expr distance = g.op("Abs", {from_center});
    const Expr ramp = c == 0 ? distance - 1.0 : 2.0 - distance;
    const Expr inside = And(g, g.op("Greater", {ramp, zero}), g.op("Less", {ramp, one}));
    const Expr slope = g.op("Sign", {from_center});
    const Expr d = g.op("Minimum", {g.op("Maximum", {ramp, zero}), one});
    const Expr by_d = out_grads[c] * s * v;
    by_h = by_h + Where(inside, by_d * (c == 0 ? slope : -slope), zero);
    by_s = by_s + out_grads[c] * v * (d - 1.0);
    by_v = by_v + out_grads[c] * (1.0 - s + s * d);
  }
  g.Add(0, g.op("Pack", {6.0 * by_h, by_s, by_v}, {{"axis", int64_t{-1}}}));
}

}  // namespace

void RegisterColorSpace(OpRegistry& ops) {
  ops.Add({
      .schema = "RGBToHSV(images: T) -> output: T {T: {half, bfloat16, float, double} = float}",
      .doc = "Hue, saturation and value of colors of red, green and blue, all in [0, 1].",
      .api = {"image.rgb_to_hsv"},
      .shape = ColorShape,
      .gradient = {RgbToHsvGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<RgbToHsvKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "HSVToRGB(images: T) -> output: T {T: {half, bfloat16, float, double} = float}",
      .doc = "Red, green and blue of colors of hue, saturation and value, all in [0, 1].",
      .api = {"image.hsv_to_rgb"},
      .shape = ColorShape,
      .gradient = {HsvToRgbGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<HsvToRgbKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
