// QuantizeAndDequantize, V2 to V4: numbers rounded to what integers of few bits, times a scale that
// keeps 0, can be.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/nn/channel_sums.h"
#include "ops/nn/map_elements.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status CheckBits(int64_t bits, bool is_signed) {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("num_bits must be between 1 and ", is_signed ? 61 : 62, ", but is ", bits));
}

struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    Attrs attrs;
    attrs.is_signed = node.attrs.GetOr<bool>("signed_input", true);
    attrs.bits = node.attrs.GetOr<int64_t>("num_bits", 8);
    GYRE_RETURN_IF_ERROR(CheckBits(attrs.bits, attrs.is_signed));
    attrs.range_given = node.attrs.GetOr<bool>("range_given", false);
    attrs.half_up = node.attrs.GetOr<std::string>("round_mode", "") == "HALF_UP";
    attrs.narrow = node.attrs.GetOr<bool>("narrow_range", false);
    attrs.axis = node.attrs.GetOr<int64_t>("axis", -1);
    if (attrs.axis < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis must be -1 or a dimension, but is ", attrs.axis));
    }
    attrs.min = node.attrs.GetOr<float>("input_min", 0);
    attrs.max = node.attrs.GetOr<float>("input_max", 0);
    return attrs;
  }
  bool is_signed, range_given, half_up, narrow;
  int64_t bits, axis;
  float min, max;  // of the first version
};

// The elements along the axis, each of which has a range; all as one if there is no axis.
absl::StatusOr<AxisView> ViewOf(const Tensor& x, int64_t axis) {
  if (axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("axis must be a dimension of input, but is ",
                                                   axis, ", and input has shape ",
                                                   x.shape().ToString()));
  }
  AxisView view(Shape::Vector(1), 0);
  view.outer = x.num_elements();
  if (axis >= 0) view = AxisView(x.shape(), static_cast<int>(axis));
  return view;
}

absl::Status RequireEnds(const KernelContext& ctx, int first, int64_t axis, int64_t size) {
  const Shape expected = axis < 0 ? Shape() : Shape::Vector(size);
  for (int i = first; i < first + 2; ++i) {
    if (ctx.input(i).shape() == expected) continue;
    return absl::InvalidArgumentError(absl::StrCat(i == first ? "input_min" : "input_max",
                                                   " must have shape ", expected.ToString(),
                                                   ", but has ", ctx.input(i).shape().ToString()));
  }
  return absl::OkStatus();
}

// How the numbers of one range are rounded.
template <typename C>
struct Rounding {
  Rounding(const Attrs& attrs, int64_t bits, C from, C to) : min(from), max(to) {
    const auto power = [](int64_t n) { return static_cast<C>(int64_t{1} << n); };
    const C low = attrs.is_signed ? -power(bits - 1) + (attrs.narrow ? 1 : 0) : C{0};
    const C high = attrs.is_signed ? power(bits - 1) - 1 : power(bits) - 1;
    // The largest scale with which both ends fit.
    constexpr C kMost = std::numeric_limits<C>::max();
    const C from_low = low * min > 0 ? low / min : kMost;
    const C from_high = high * max > 0 ? high / max : kMost;
    if (from_low < from_high) {
      scale = from_low;
      inverse = min / low;
      max = high * inverse;
    } else {
      scale = from_high;
      inverse = max / high;
      min = low * inverse;
    }
  }
  C operator()(C x, bool clamps, bool half_up) const {
    if (clamps) x = std::max(min, std::min(max, x));
    x *= scale;
    return (half_up ? std::floor(x + C(0.5)) : std::nearbyint(x)) * inverse;
  }
  C min, max, scale, inverse;
};

// The smallest and the largest of each channel.
template <typename T>
absl::Status FindEnds(const KernelContext& ctx, const AxisView& view,
                      std::vector<Computed<T>>& mins, std::vector<Computed<T>>& maxs) {
  using C = Computed<T>;
  const T* x = static_cast<const T*>(ctx.input(0).raw_data());
  int64_t since_look = 0;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t c = 0; c < view.size; ++c) {
      const T* from = x + (o * view.size + c) * view.inner;
      for (int64_t i = 0; i < view.inner; ++i) {
        const C value = static_cast<C>(from[i]);
        mins[c] = std::min(mins[c], value);
        maxs[c] = std::max(maxs[c], value);
        if (++since_look == (1 << 17)) {
          since_look = 0;
          GYRE_RETURN_IF_ERROR(ctx.Poll());
        }
      }
    }
  }
  return absl::OkStatus();
}

// `has_ends`: inputs 1 and 2 are a range.
template <typename T>
absl::Status Run(KernelContext& ctx, const Attrs& attrs, int64_t bits, bool has_ends) {
  using C = Computed<T>;
  const Tensor& x = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(x, attrs.axis));
  if (attrs.range_given && has_ends)
    GYRE_RETURN_IF_ERROR(RequireEnds(ctx, 1, attrs.axis, view.size));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
  if (x.num_elements() == 0) {  // along the axis there may be more than memory holds
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
  std::vector<C> mins(view.size, std::numeric_limits<C>::infinity());
  std::vector<C> maxs(view.size, -std::numeric_limits<C>::infinity());
  if (!attrs.range_given) {
    GYRE_RETURN_IF_ERROR(FindEnds<T>(ctx, view, mins, maxs));
  } else {
    for (int64_t c = 0; c < view.size; ++c) {
      mins[c] = has_ends ? static_cast<C>(static_cast<const T*>(ctx.input(1).raw_data())[c])
                         : static_cast<C>(attrs.min);
      maxs[c] = has_ends ? static_cast<C>(static_cast<const T*>(ctx.input(2).raw_data())[c])
                         : static_cast<C>(attrs.max);
      if (!(mins[c] <= maxs[c])) {
        return absl::InvalidArgumentError(
            absl::StrCat("input_min must not be larger than input_max, but they are ", mins[c],
                         " and ", maxs[c]));
      }
    }
  }
  std::vector<Rounding<C>> roundings;
  for (int64_t c = 0; c < view.size; ++c) roundings.emplace_back(attrs, bits, mins[c], maxs[c]);
  const T* from = static_cast<const T*>(x.raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  GYRE_RETURN_IF_ERROR(ForChannels(ctx, view, [&](int64_t i, int64_t c) {
    to[i] = static_cast<T>(roundings[c](static_cast<C>(from[i]), attrs.range_given, attrs.half_up));
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
struct FirstKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    return gyre::Run<T>(ctx, attrs, attrs.bits, /*has_ends=*/false);
  }
};
template <typename T>
struct RangeKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    return gyre::Run<T>(ctx, attrs, attrs.bits, /*has_ends=*/true);
  }
};
template <typename T>
struct BitsKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const int64_t bits, ctx.IntScalar(3, "num_bits"));
    GYRE_RETURN_IF_ERROR(CheckBits(bits, attrs.is_signed));
    return gyre::Run<T>(ctx, attrs, bits, /*has_ends=*/true);
  }
};

// What comes out passes its gradient on to inputs in range; the ends of the range have none.
template <typename T>
struct GradKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    using C = Computed<T>;
    const Tensor &grad = ctx.input(0), &x = ctx.input(1);
    if (grad.shape() != x.shape()) {
      return absl::InvalidArgumentError(absl::StrCat("gradients must have the shape of input, ",
                                                     x.shape().ToString(), ", but have ",
                                                     grad.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(x, attrs.axis));
    GYRE_RETURN_IF_ERROR(RequireEnds(ctx, 2, attrs.axis, view.size));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
    const T* min = static_cast<const T*>(ctx.input(2).raw_data());
    const T* max = static_cast<const T*>(ctx.input(3).raw_data());
    const T* grads = static_cast<const T*>(grad.raw_data());
    const T* xs = static_cast<const T*>(x.raw_data());
    T* to = static_cast<T*>(out.mutable_raw_data());
    if (out.num_elements() > 0) {
      GYRE_RETURN_IF_ERROR(ForChannels(ctx, view, [&](int64_t i, int64_t c) {
        const C value = static_cast<C>(xs[i]);
        const bool inside = value >= static_cast<C>(min[c]) && value <= static_cast<C>(max[c]);
        to[i] = static_cast<T>(static_cast<C>(grads[i]) * (inside ? C{1} : C{0}));
      }));
    }
    ctx.set_output(0, std::move(out));
    for (int i = 1; i < 3; ++i) {
      GYRE_ASSIGN_OR_RETURN(Tensor none, ctx.AllocateZeros(x.dtype(), ctx.input(2).shape()));
      ctx.set_output(i, std::move(none));
    }
    return absl::OkStatus();
  }
};

absl::Status GradShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.input(0).Intersect(c.input(1)));
  GYRE_ASSIGN_OR_RETURN(PartialShape ends, c.input(2).Intersect(c.input(3)));
  c.set_output(0, std::move(shape));
  c.set_output(1, ends);
  c.set_output(2, ends);
  return absl::OkStatus();
}

// As if nothing had been rounded.
void PassThrough(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.grad());
}

void V4Gradient(GradientContext& g) {
  const std::vector<Expr> grads =
      g.builder().Ops("QuantizeAndDequantizeV4Grad", {g.grad(), g.input(0), g.input(1), g.input(2)},
                      AttrsOf(g.node(), {"axis"}), 3);
  for (int i = 0; i < 3; ++i) {
    if (g.wants(i)) g.Add(i, grads[i]);
  }
}

// It is linear in the gradients.
void V4GradGradient(GradientContext& g) {
  if (!g.wants(0) || !g.has_grad(0)) return;
  g.Add(0, g.op("QuantizeAndDequantizeV4Grad", {g.grad(0), g.input(1), g.input(2), g.input(3)},
                AttrsOf(g.node(), {"axis"})));
}

}  // namespace

void RegisterQuantizeAndDequantize(OpRegistry& ops) {
#define GYRE_FLOATS "T: {bfloat16, half, float, double}"
  ops.Add({
      .schema = "QuantizeAndDequantize(input: T) -> output: T {signed_input: bool = true; "
                "num_bits: int = 8; range_given: bool = false; input_min: float = 0.0; input_max: "
                "float = 0.0; " GYRE_FLOATS "}",
      .doc = "QuantizeAndDequantizeV2 with a range that is known beforehand.",
      .shape = shape::SameAsInput,
      .gradient = {PassThrough},
      .kernel = ForTypes<FirstKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema =
          "QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T) -> output: T "
          "{signed_input: bool = true; num_bits: int = 8; range_given: bool = false; " GYRE_FLOATS
          "; round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; "
          "narrow_range: bool = false; axis: int = -1}",
      .doc = "Numbers rounded to what integers of num_bits bits, scaled to a range, can be.",
      .shape = shape::SameAsInput,
      .gradient = {PassThrough},
      .kernel = ForTypes<RangeKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> "
                "output: T {signed_input: bool = true; range_given: bool = true; " GYRE_FLOATS
                "; narrow_range: bool = false; axis: int = -1}",
      .doc = "QuantizeAndDequantizeV2 with a number of bits that is known when it runs.",
      .shape = shape::SameAsInput,
      .gradient = {PassThrough},
      .kernel = ForTypes<BitsKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema =
          "QuantizeAndDequantizeV4(input: T, input_min: T, input_max: T) -> output: T "
          "{signed_input: bool = true; num_bits: int = 8; range_given: bool = false; " GYRE_FLOATS
          "; round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; "
          "narrow_range: bool = false; axis: int = -1}",
      .doc = "QuantizeAndDequantizeV2 whose gradient goes to inputs in range alone.",
      .shape = shape::SameAsInput,
      .gradient = {V4Gradient},
      .kernel = ForTypes<RangeKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T) "
                "-> input_backprop: T, input_min_backprop: T, input_max_backprop: T {" GYRE_FLOATS
                "; axis: int = -1}",
      .doc = "The gradient of QuantizeAndDequantizeV4: that of what comes out, where input is in "
             "range.",
      .shape = GradShape,
      .gradient = {V4GradGradient},
      .kernel = ForTypes<GradKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
