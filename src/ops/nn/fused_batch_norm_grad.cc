// FusedBatchNormGrad, V2, V3: the gradients of FusedBatchNorm by x, scale and offset.
//
// With x̂ = (x - mean) r, r = 1 / √(variance + ε), means m() over each channel, and
// P(v) = v - m(v) - x̂ m(v x̂):
//
//   in training   dx = scale r P(dy)   dscale = Σ dy x̂   doffset = Σ dy
//   else          dx = scale r dy, and the same
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/node_attrs.h"
#include "ops/conv/window.h"
#include "ops/dispatch.h"
#include "ops/nn/channel_sums.h"
#include "ops/nn/fused_batch_norm.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
absl::Status RunGrad(KernelContext& ctx, const BatchNormAttrs& attrs) {
  const Tensor &dy = ctx.input(0), &x = ctx.input(1);
  GYRE_RETURN_IF_ERROR(RequireImages(x.shape(), attrs.rank, "x"));
  if (dy.shape() != x.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("y_backprop must have the shape of x, ",
                                                   x.shape().ToString(), ", but has ",
                                                   dy.shape().ToString()));
  }
  const int64_t channels = x.dim(attrs.channel_dim);
  GYRE_RETURN_IF_ERROR(RequireChannels(ctx, 2, "scale", channels));
  GYRE_RETURN_IF_ERROR(RequireChannels(ctx, 3, "the mean", channels));
  GYRE_RETURN_IF_ERROR(RequireChannels(ctx, 4, "the variance", channels));
  GYRE_ASSIGN_OR_RETURN(Tensor dx, ctx.Allocate(x.dtype(), x.shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor dscale, ctx.AllocateZeros(DType::kFloat, Shape::Vector(channels)));
  GYRE_ASSIGN_OR_RETURN(Tensor doffset, ctx.AllocateZeros(DType::kFloat, Shape::Vector(channels)));
  if (x.num_elements() > 0) {
    const auto input = [&](int i) { return static_cast<const float*>(ctx.input(i).raw_data()); };
    const float *scale = input(2), *mean = input(3), *variance = input(4);
    const T* dys = static_cast<const T*>(dy.raw_data());
    const T* xs = static_cast<const T*>(x.raw_data());
    const AxisView view(x.shape(), attrs.channel_dim);
    std::vector<double> sums;
    const auto terms = [&](int64_t i, int64_t c, float* numbers) {
      numbers[0] = static_cast<float>(dys[i]);
      numbers[1] = static_cast<float>(dys[i]) * (static_cast<float>(xs[i]) - mean[c]);
    };
    // The same for rows of floats, by vector code.
    constexpr bool kHasRows = std::is_same_v<T, float>;
    const FloatRows rows;
    const auto row_of = [channels](const T* from, int64_t row) {
      return reinterpret_cast<const float*>(from) + row * channels;
    };
    const auto row_terms = [&](int64_t row, float* numbers) {
      std::copy_n(row_of(dys, row), channels, numbers);
      rows.Sub(row_of(xs, row), mean, numbers + channels, channels);
      rows.Mul(numbers, numbers + channels, numbers + channels, channels);
    };
    GYRE_RETURN_IF_ERROR(kHasRows ? SumChannels<2>(ctx, view, terms, row_terms, sums)
                                  : SumChannels<2>(ctx, view, terms, sums));
    // dx = dy * factor - shift - (x - mean) * slope
    std::vector<float> factor(channels), shift(channels), slope(channels);
    const auto count = static_cast<double>(view.outer * view.inner);
    for (int64_t c = 0; c < channels; ++c) {
      const double r = 1 / std::sqrt(static_cast<double>(variance[c]) + attrs.epsilon);
      static_cast<float*>(doffset.mutable_raw_data())[c] = static_cast<float>(sums[c]);
      static_cast<float*>(dscale.mutable_raw_data())[c] =
          static_cast<float>(sums[channels + c] * r);
      factor[c] = static_cast<float>(scale[c] * r);
      if (!attrs.is_training) continue;
      shift[c] = static_cast<float>(scale[c] * r * sums[c] / count);
      slope[c] = static_cast<float>(scale[c] * r * r * r * sums[channels + c] / count);
    }
    T* to = static_cast<T*>(dx.mutable_raw_data());
    const bool is_training = attrs.is_training;
    if (kHasRows && view.inner == 1) {
      GYRE_RETURN_IF_ERROR(ForChannelRows(ctx, view, [&](int64_t row) {
        float* out = reinterpret_cast<float*>(to) + row * channels;
        if (!is_training) return rows.Mul(row_of(dys, row), factor.data(), out, channels);
        constexpr int64_t kPart = 256;
        float part[kPart];
        for (int64_t c = 0; c < channels; c += kPart) {
          const int64_t n = std::min(kPart, channels - c);
          rows.Sub(row_of(xs, row) + c, mean + c, part, n);
          rows.Mul(part, slope.data() + c, part, n);
          rows.Add(part, shift.data() + c, part, n);
          rows.Mul(row_of(dys, row) + c, factor.data() + c, out + c, n);
          rows.Sub(out + c, part, out + c, n);
        }
      }));
    } else {
      GYRE_RETURN_IF_ERROR(ForChannels(ctx, view, [&](int64_t i, int64_t c) {
        float value = static_cast<float>(dys[i]) * factor[c];
        if (is_training) value -= shift[c] + (static_cast<float>(xs[i]) - mean[c]) * slope[c];
        to[i] = static_cast<T>(value);
      }));
    }
  }
  ctx.set_output(0, std::move(dx));
  ctx.set_output(1, std::move(dscale));
  ctx.set_output(2, std::move(doffset));
  for (int i = 3; i < 5; ++i) {
    GYRE_ASSIGN_OR_RETURN(Tensor none, ctx.Allocate(DType::kFloat, Shape::Vector(0)));
    ctx.set_output(i, std::move(none));
  }
  return absl::OkStatus();
}

absl::Status BatchNormGrad(KernelContext& ctx, const BatchNormAttrs& attrs) {
  return VisitType<Types<float, Half, BFloat16>>(ctx.input_dtype(1), [&](auto tag) {
    return RunGrad<typename decltype(tag)::type>(ctx, attrs);
  });
}

absl::Status BatchNormGradShape(ShapeContext& c) {
  const BatchNormAttrs attrs(c.node());
  GYRE_ASSIGN_OR_RETURN(PartialShape x,
                        c.input(0).Intersect(PartialShape::UnknownOfRank(attrs.rank)));
  GYRE_ASSIGN_OR_RETURN(x, x.Intersect(c.input(1)));
  PartialShape channels(Dims{x.dim(attrs.channel_dim)});
  for (int i = 2; i < 5; ++i) {
    GYRE_ASSIGN_OR_RETURN(channels, channels.Intersect(c.input(i)));
  }
  x.set_dim(attrs.channel_dim, channels.dim(0));
  c.set_output(0, std::move(x));
  c.set_output(1, channels);
  c.set_output(2, channels);
  for (int i = 3; i < 5; ++i) c.set_output(i, PartialShape(Dims{0}));
  return absl::OkStatus();
}

// Second derivatives, with L = Σ G dx + Σ S dscale + Σ O doffset. P is symmetric, the derivative of
// x̂ by x is r P, and that of r is -r² m(x̂ ·), so that in training
//
//   dL/d(dy) = scale r P(G) + S x̂ + O
//   dL/dscale = r Σ G P(dy)
//   dL/dx = r P(Q) - r² x̂ scale m(G P(dy)),  Q = S dy - scale r (G m(dy x̂) + dy m(G x̂))
void BatchNormGradGradient(GradientContext& g) {
  const BatchNormAttrs attrs(g.node());
  ExprBuilder& b = g.builder();
  const DType dtype = g.input_dtype(1);
  std::vector<int32_t> axes, spread(attrs.rank, 1);
  for (int d = 0; d < attrs.rank; ++d) {
    if (d != attrs.channel_dim) axes.push_back(d);
  }
  spread[attrs.channel_dim] = -1;
  const auto wide = [&](Expr per_channel) { return Reshape(per_channel, b.Ints(spread)); };
  const auto mean = [&](Expr x) { return g.op("Mean", {x, b.Ints(axes)}, {{"keep_dims", true}}); };
  const auto sum = [&](Expr x) { return Sum(x, b.Ints(axes)); };

  const Expr dy = Cast(g.input(0), DType::kFloat), x = Cast(g.input(1), DType::kFloat);
  const Expr scale = wide(g.input(2));
  const Expr r = g.op("Rsqrt", {wide(g.input(4)) + attrs.epsilon});
  const Expr normal = (x - wide(g.input(3))) * r;
  const Expr by_dx = Cast(g.grad(0), DType::kFloat);
  const Expr by_scale = wide(g.grad(1)), by_offset = wide(g.grad(2));
  const auto project = [&](Expr v) {
    return attrs.is_training ? v - mean(v) - normal * mean(v * normal) : v;
  };
  if (g.wants(0)) {
    g.Add(0, Cast(scale * r * project(by_dx) + by_scale * normal + by_offset, g.input_dtype(0)));
  }
  const Expr product = by_dx * project(dy);
  if (g.wants(2)) g.Add(2, sum(product * r));
  if (!g.wants(1)) return;
  Expr by_x = by_scale * dy * r;
  if (attrs.is_training) {
    const Expr q =
        by_scale * dy - scale * r * (by_dx * mean(dy * normal) + dy * mean(by_dx * normal));
    by_x = r * project(q) - r * r * normal * scale * mean(product);
  }
  g.Add(1, Cast(by_x, dtype));
}

}  // namespace

void RegisterFusedBatchNormGrad(OpRegistry& ops) {
  ops.Add({
      .schema = "FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, "
                "reserve_space_2: T) -> x_backprop: T, scale_backprop: T, offset_backprop: T, "
                "reserve_space_3: T, reserve_space_4: T {T: {float}; epsilon: float = 0.0001; "
                "data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true}",
      .doc = "The gradients of FusedBatchNorm by x, scale and offset, given the mean and variance "
             "that it used.",
      .shape = BatchNormGradShape,
      .gradient = {BatchNormGradGradient},
      .kernel = Compute<&BatchNormGrad>(),
  });
  ops.Add({
      .schema = "FusedBatchNormGradV2(y_backprop: T, x: T, scale: float, reserve_space_1: U, "
                "reserve_space_2: U) -> x_backprop: T, scale_backprop: U, offset_backprop: U, "
                "reserve_space_3: U, reserve_space_4: U {T: {half, bfloat16, float}; U: {float}; "
                "epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: "
                "bool = true}",
      .doc = "The gradients of FusedBatchNormV2.",
      .shape = BatchNormGradShape,
      .gradient = {BatchNormGradGradient},
      .kernel = Compute<&BatchNormGrad>(),
  });
  ops.Add({
      .schema = "FusedBatchNormGradV3(y_backprop: T, x: T, scale: float, reserve_space_1: U, "
                "reserve_space_2: U, reserve_space_3: U) -> x_backprop: T, scale_backprop: U, "
                "offset_backprop: U, reserve_space_4: U, reserve_space_5: U {T: {half, bfloat16, "
                "float}; U: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW', "
                "'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true}",
      .doc = "The gradients of FusedBatchNormV3.",
      .shape = BatchNormGradShape,
      .gradient = {BatchNormGradGradient},
      .kernel = Compute<&BatchNormGrad>(),
  });
}

}  // namespace gyre
