// QuantizeV2, Dequantize: integers of few bits for numbers of a range, and back.
//
// With the range [min, max] and the integers [low, high]:
//
//   MIN_COMBINED  q = round((x - min) (high - low) / (max - min)) + low
//   MIN_FIRST     the same with min a multiple of the step, and a step more
//   SCALED        q = round(x s), with the largest s for which the range fits the integers
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/nn/channel_sums.h"
#include "ops/registry.h"

namespace gyre {
namespace {

enum class Mode { kMinCombined, kMinFirst, kScaled };

struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    Attrs attrs;
    const std::string& mode = NodeAttr<std::string>(node, "mode");
    attrs.mode = mode == "SCALED"      ? Mode::kScaled
                 : mode == "MIN_FIRST" ? Mode::kMinFirst
                                       : Mode::kMinCombined;
    attrs.to_even = node.attrs.GetOr<std::string>("round_mode", "") == "HALF_TO_EVEN";
    if (attrs.to_even && attrs.mode != Mode::kScaled) {
      return absl::InvalidArgumentError(
          absl::StrCat("round_mode HALF_TO_EVEN is for mode SCALED, not ", mode));
    }
    attrs.narrow = NodeAttr<bool>(node, "narrow_range");
    attrs.axis = NodeAttr<int64_t>(node, "axis");
    if (attrs.axis < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis must be -1 or a dimension, but is ", attrs.axis));
    }
    attrs.least_range = node.attrs.GetOr<float>("ensure_minimum_range", 0);
    return attrs;
  }
  Mode mode;
  bool to_even, narrow;
  int64_t axis;
  float least_range;
};

template <typename F>
absl::Status VisitQuantized(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kQint8:
      return f(TypeTag<int8_t>());
    case DType::kQuint8:
      return f(TypeTag<uint8_t>());
    case DType::kQint16:
      return f(TypeTag<int16_t>());
    case DType::kQuint16:
      return f(TypeTag<uint16_t>());
    case DType::kQint32:
      return f(TypeTag<int32_t>());
    default:
      return NoKernelFor(dtype);
  }
}

template <typename Q>
inline constexpr double kLow = std::numeric_limits<Q>::min();
template <typename Q>
inline constexpr double kHigh = std::numeric_limits<Q>::max();

// `x` is a whole number; the nearest of type Q.
template <typename Q>
Q Clamped(double x) {
  return x <= kLow<Q>    ? std::numeric_limits<Q>::min()
         : x >= kHigh<Q> ? std::numeric_limits<Q>::max()
         : x == x        ? static_cast<Q>(x)
                         : Q{0};
}

// The elements along the axis, each of which has a range; all as one if there is no axis.
absl::StatusOr<AxisView> ViewOf(const KernelContext& ctx, const Attrs& attrs) {
  const Tensor& x = ctx.input(0);
  if (attrs.axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("axis must be a dimension of input, but is ",
                                                   attrs.axis, ", and input has shape ",
                                                   x.shape().ToString()));
  }
  AxisView view(Shape::Vector(1), 0);
  view.outer = x.num_elements();
  if (attrs.axis >= 0) view = AxisView(x.shape(), static_cast<int>(attrs.axis));
  for (int i = 1; i < 3; ++i) {
    const Tensor& end = ctx.input(i);
    if (end.num_elements() != view.size || (attrs.axis >= 0 && end.rank() != 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          i == 1 ? "min_range" : "max_range", " must have ",
          attrs.axis < 0 ? "one element" : absl::StrCat("an element for each of ", view.size),
          ", but has shape ", end.shape().ToString()));
    }
  }
  if (attrs.axis >= 0 && attrs.mode == Mode::kMinFirst && view.size != 1)
    return absl::UnimplementedError("mode MIN_FIRST with an axis");
  return view;
}

// From a number to its integer.
template <typename Q>
struct Quantizer {
  Quantizer(const Attrs& attrs, float from, float to) : mode(attrs.mode), to_even(attrs.to_even) {
    // Ranges hold 0, and are not too small.
    min = std::min(0.0f, from);
    const float least =
        std::max(1.0f, std::max(std::fabs(from), std::fabs(to))) * attrs.least_range;
    max = std::max(0.0f, std::max(to, min + least));
    if (mode == Mode::kMinCombined) {
      scale = static_cast<float>((kHigh<Q> - kLow<Q>) / (max - min));
    } else if (mode == Mode::kMinFirst) {
      const double steps = kHigh<Q> - kLow<Q> + 1;
      const double range = (static_cast<double>(max) - min) * (steps / (steps - 1));
      first_scale = steps / range;
      first = std::round(min * first_scale) - kLow<Q>;
    } else {
      const auto low = static_cast<float>(kLow<Q> + (attrs.narrow ? 1 : 0));
      const auto high = static_cast<float>(kHigh<Q>);
      constexpr float kMost = std::numeric_limits<float>::max();
      scale = std::min(low * min > 0 ? low / min : kMost, high * max > 0 ? high / max : kMost);
      min = low / scale;
      max = high / scale;
    }
  }

  Q operator()(float x) const {
    const float inside = std::max(min, std::min(max, x));
    switch (mode) {
      case Mode::kMinCombined: {
        const float steps = (inside - min) * scale;
        if (std::is_signed_v<Q>) {
          const auto half = static_cast<float>((kHigh<Q> - kLow<Q> + 1) / 2);
          return Clamped<Q>(std::round(steps - half));
        }
        return Clamped<Q>(std::trunc(steps + 0.5f));
      }
      case Mode::kMinFirst:
        if (min == max) return 0;
        return Clamped<Q>(std::round(x * first_scale) - first);
      case Mode::kScaled:
        return Clamped<Q>(to_even ? std::nearbyint(inside * scale) : std::round(inside * scale));
    }
    return 0;
  }

  Mode mode;
  bool to_even;
  float min, max;
  float scale = 0;
  double first_scale = 0, first = 0;
};

template <typename Q>
absl::Status RunQuantize(KernelContext& ctx, const Attrs& attrs, const AxisView& view) {
  const Tensor& x = ctx.input(0);
  const Shape ends = attrs.axis < 0 ? Shape() : ctx.input(1).shape();
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), x.shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor min, ctx.Allocate(DType::kFloat, ends));
  GYRE_ASSIGN_OR_RETURN(Tensor max, ctx.Allocate(DType::kFloat, ends));
  std::vector<Quantizer<Q>> quantizers;
  for (int64_t c = 0; c < view.size; ++c) {
    const float from = static_cast<const float*>(ctx.input(1).raw_data())[c];
    const float to = static_cast<const float*>(ctx.input(2).raw_data())[c];
    if (to < from) {
      return absl::InvalidArgumentError(absl::StrCat(
          "max_range must not be smaller than min_range, but they are ", to, " and ", from));
    }
    quantizers.emplace_back(attrs, from, to);
    static_cast<float*>(min.mutable_raw_data())[c] = quantizers[c].min;
    static_cast<float*>(max.mutable_raw_data())[c] = quantizers[c].max;
  }
  const float* from = static_cast<const float*>(x.raw_data());
  Q* to = static_cast<Q*>(out.mutable_raw_data());
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(
        ForChannels(ctx, view, [&](int64_t i, int64_t c) { to[i] = quantizers[c](from[i]); }));
  }
  ctx.set_output(0, std::move(out));
  ctx.set_output(1, std::move(min));
  ctx.set_output(2, std::move(max));
  return absl::OkStatus();
}

absl::Status Quantize(KernelContext& ctx, const Attrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(ctx, attrs));
  return VisitQuantized(ctx.output_dtype(0), [&](auto tag) {
    return RunQuantize<typename decltype(tag)::type>(ctx, attrs, view);
  });
}

// From an integer to its number: (q + before) * scale + after.
struct Dequantizer {
  double before = 0;
  float scale = 1, after = 0;
};

template <typename Q>
Dequantizer DequantizerFor(const Attrs& attrs, float min, float max) {
  Dequantizer result;
  switch (attrs.mode) {
    case Mode::kMinCombined:
      result.before = std::is_signed_v<Q> ? (kHigh<Q> - kLow<Q> + 1) / 2 : 0;
      result.scale = (max - min) / static_cast<float>(kHigh<Q> - kLow<Q>);
      result.after = min;
      break;
    case Mode::kMinFirst: {
      const double steps = kHigh<Q> - kLow<Q> + 1;
      const double range = (static_cast<double>(max) - min) * (steps / (steps - 1));
      result.scale = static_cast<float>(range / steps);
      result.before = -kLow<Q>;
      result.after = min == max ? min : std::round(min / result.scale) * result.scale;
      break;
    }
    case Mode::kScaled: {
      const auto low = static_cast<float>(kLow<Q> + (attrs.narrow ? 1 : 0));
      const auto high = static_cast<float>(kHigh<Q>);
      result.scale = kLow<Q> == 0 ? max / high : std::max(min / low, max / high);
      break;
    }
  }
  return result;
}

template <typename Q, typename T>
absl::Status RunDequantize(KernelContext& ctx, const Attrs& attrs, const AxisView& view) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), ctx.input(0).shape()));
  std::vector<Dequantizer> dequantizers;
  for (int64_t c = 0; c < view.size; ++c) {
    dequantizers.push_back(
        DequantizerFor<Q>(attrs, static_cast<const float*>(ctx.input(1).raw_data())[c],
                          static_cast<const float*>(ctx.input(2).raw_data())[c]));
  }
  const Q* from = static_cast<const Q*>(ctx.input(0).raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(ForChannels(ctx, view, [&](int64_t i, int64_t c) {
      const Dequantizer& d = dequantizers[c];
      to[i] = static_cast<T>(static_cast<float>(from[i] + d.before) * d.scale + d.after);
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status Dequantize(KernelContext& ctx, const Attrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(ctx, attrs));
  return VisitQuantized(ctx.input_dtype(0), [&](auto tag) {
    return VisitType<Types<float, BFloat16>>(ctx.output_dtype(0), [&](auto out_tag) {
      return RunDequantize<typename decltype(tag)::type, typename decltype(out_tag)::type>(
          ctx, attrs, view);
    });
  });
}

absl::Status QuantizeShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  const bool has_axis = NodeAttr<int64_t>(c.node(), "axis") >= 0;
  for (int i = 1; i < c.num_outputs(); ++i) {
    c.set_output(i, has_axis ? c.input(i) : PartialShape::Scalar());
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterQuantize(OpRegistry& ops) {
  ops.Add({
      .schema = "QuantizeV2(input: float, min_range: float, max_range: float) -> output: T, "
                "output_min: float, output_max: float {T: {qint8, quint8, qint32, qint16, "
                "quint16}; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'; "
                "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; "
                "narrow_range: bool = false; axis: int = -1; ensure_minimum_range: float = 0.01}",
      .doc = "Integers of few bits for numbers of a range, which is widened so that it holds 0.",
      .shape = QuantizeShape,
      .gradient = NotDifferentiable("integers have no derivative"),
      .kernel = Compute<&Quantize>(),
  });
  ops.Add({
      .schema = "Dequantize(input: T, min_range: float, max_range: float) -> output: dtype {T: "
                "{qint8, quint8, qint32, qint16, quint16}; mode: {'MIN_COMBINED', 'MIN_FIRST', "
                "'SCALED'} = 'MIN_COMBINED'; narrow_range: bool = false; axis: int = -1; dtype: "
                "{bfloat16, float} = float}",
      .doc = "The numbers for which integers of few bits stand.",
      .shape = QuantizeShape,
      .gradient = NotDifferentiable("integers have no derivative"),
      .kernel = Compute<&Dequantize>(),
  });
}

}  // namespace gyre
