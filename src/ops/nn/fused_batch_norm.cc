// FusedBatchNorm, V2, V3: images with the mean and variance of each channel made 0 and 1, then
// scaled and moved. Source: Ioffe and Szegedy, Batch normalization (2015).
#include "ops/nn/fused_batch_norm.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/node_attrs.h"
#include "ops/conv/window.h"
#include "ops/dispatch.h"
#include "ops/nn/channel_sums.h"
#include "ops/registry.h"

namespace gyre {

absl::Status RequireChannels(const KernelContext& ctx, int i, absl::string_view what,
                             int64_t channels) {
  const Tensor& t = ctx.input(i);
  if (t.rank() == 1 && t.dim(0) == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be a vector with an element for each of ", channels,
                   " channels, but has shape ", t.shape().ToString()));
}

namespace {

template <typename T>
class Normalization {
 public:
  Normalization(KernelContext& ctx, const BatchNormAttrs& attrs) : ctx_(ctx), attrs_(attrs) {}

  absl::Status Run() {
    const Tensor& x = ctx_.input(0);
    GYRE_RETURN_IF_ERROR(RequireImages(x.shape(), attrs_.rank, "x"));
    channels_ = x.dim(attrs_.channel_dim);
    GYRE_RETURN_IF_ERROR(RequireChannels(ctx_, 1, "scale", channels_));
    GYRE_RETURN_IF_ERROR(RequireChannels(ctx_, 2, "offset", channels_));
    if (attrs_.reads_statistics()) {
      GYRE_RETURN_IF_ERROR(RequireChannels(ctx_, 3, "mean", channels_));
      GYRE_RETURN_IF_ERROR(RequireChannels(ctx_, 4, "variance", channels_));
    }
    for (Tensor& t : statistics_) {
      GYRE_ASSIGN_OR_RETURN(t, ctx_.Allocate(DType::kFloat, Shape::Vector(channels_)));
    }
    GYRE_ASSIGN_OR_RETURN(y_, ctx_.Allocate(x.dtype(), x.shape()));
    if (x.num_elements() == 0) {
      for (Tensor& t : statistics_) {
        std::fill_n(Floats(t), channels_, std::numeric_limits<float>::quiet_NaN());
      }
    } else {
      const AxisView view(x.shape(), attrs_.channel_dim);
      GYRE_RETURN_IF_ERROR(attrs_.is_training ? FindStatistics(view) : TakeStatistics());
      GYRE_RETURN_IF_ERROR(Normalize(view));
    }
    ctx_.set_output(0, std::move(y_));
    for (int i = 0; i < 4; ++i) ctx_.set_output(1 + i, std::move(statistics_[i]));
    if (ctx_.num_outputs() > 5) ctx_.set_output(5, Tensor::Scalar(0.0f));
    return absl::OkStatus();
  }

 private:
  // What comes out: the running mean and variance, and those that y was computed with.
  enum { kMean, kVariance, kUsedMean, kUsedVariance };

  static float* Floats(Tensor& t) { return static_cast<float*>(t.mutable_raw_data()); }
  const float* Input(int i) const { return static_cast<const float*>(ctx_.input(i).raw_data()); }

  absl::Status FindStatistics(const AxisView& view) {
    const T* x = static_cast<const T*>(ctx_.input(0).raw_data());
    float* const mean = Floats(statistics_[kUsedMean]);
    float* const variance = Floats(statistics_[kUsedVariance]);
    const auto count = static_cast<double>(view.outer * view.inner);
    std::vector<double> sums;
    const auto value = [&](int64_t i, int64_t, float* number) {
      *number = static_cast<float>(x[i]);
    };
    const auto squared_distance = [&](int64_t i, int64_t c, float* number) {
      const float distance = static_cast<float>(x[i]) - mean[c];
      *number = distance * distance;
    };
    // The same for rows of floats.
    const auto values = [&](int64_t row, float* numbers) {
      std::copy_n(reinterpret_cast<const float*>(x) + row * channels_, channels_, numbers);
    };
    const auto squared_distances = [&](int64_t row, float* numbers) {
      rows_.Sub(reinterpret_cast<const float*>(x) + row * channels_, mean, numbers, channels_);
      rows_.Mul(numbers, numbers, numbers, channels_);
    };
    GYRE_RETURN_IF_ERROR(kHasRows ? SumChannels<1>(ctx_, view, value, values, sums)
                                  : SumChannels<1>(ctx_, view, value, sums));
    for (int64_t c = 0; c < channels_; ++c) mean[c] = static_cast<float>(sums[c] / count);
    GYRE_RETURN_IF_ERROR(kHasRows
                             ? SumChannels<1>(ctx_, view, squared_distance, squared_distances, sums)
                             : SumChannels<1>(ctx_, view, squared_distance, sums));
    // The running variance is that of a sample.
    const double correction = count / std::max(count - 1, 1.0);
    for (int64_t c = 0; c < channels_; ++c) {
      variance[c] = static_cast<float>(sums[c] / count);
      float& running_mean = Floats(statistics_[kMean])[c];
      float& running_variance = Floats(statistics_[kVariance])[c];
      running_mean = mean[c];
      running_variance = static_cast<float>(sums[c] / count * correction);
      if (attrs_.factor != 1.0f) {
        running_mean = (1 - attrs_.factor) * Input(3)[c] + attrs_.factor * running_mean;
        running_variance = (1 - attrs_.factor) * Input(4)[c] + attrs_.factor * running_variance;
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeStatistics() {
    for (int i = 0; i < 4; ++i) std::copy_n(Input(3 + i % 2), channels_, Floats(statistics_[i]));
    return absl::OkStatus();
  }

  absl::Status Normalize(const AxisView& view) {
    const float *scale = Input(1), *offset = Input(2);
    const float* mean = Floats(statistics_[kUsedMean]);
    std::vector<float> factor(channels_);
    for (int64_t c = 0; c < channels_; ++c) {
      factor[c] = scale[c] / std::sqrt(Floats(statistics_[kUsedVariance])[c] + attrs_.epsilon);
    }
    const T* x = static_cast<const T*>(ctx_.input(0).raw_data());
    T* y = static_cast<T*>(y_.mutable_raw_data());
    if (kHasRows && view.inner == 1) {
      return ForChannelRows(ctx_, view, [&](int64_t row) {
        float* to = reinterpret_cast<float*>(y) + row * channels_;
        rows_.Sub(reinterpret_cast<const float*>(x) + row * channels_, mean, to, channels_);
        rows_.Mul(to, factor.data(), to, channels_);
        rows_.Add(to, offset, to, channels_);
      });
    }
    return ForChannels(ctx_, view, [&](int64_t i, int64_t c) {
      y[i] = static_cast<T>((static_cast<float>(x[i]) - mean[c]) * factor[c] + offset[c]);
    });
  }

  // Rows of channels are computed by vector code.
  static constexpr bool kHasRows = std::is_same_v<T, float>;

  KernelContext& ctx_;
  const BatchNormAttrs& attrs_;
  const FloatRows rows_;
  int64_t channels_ = 0;
  Tensor y_;
  Tensor statistics_[4];
};

absl::Status RequireFloatStatistics(const KernelContext& ctx, int i) {
  if (ctx.input_dtype(i) == DType::kFloat) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("there is no kernel for statistics of type ", DTypeName(ctx.input_dtype(i))));
}

absl::Status BatchNorm(KernelContext& ctx, const BatchNormAttrs& attrs) {
  GYRE_RETURN_IF_ERROR(RequireFloatStatistics(ctx, 1));
  return VisitType<Types<float, Half, BFloat16>>(ctx.input_dtype(0), [&](auto tag) {
    return Normalization<typename decltype(tag)::type>(ctx, attrs).Run();
  });
}

absl::Status BatchNormShape(ShapeContext& c) {
  const BatchNormAttrs attrs(c.node());
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, attrs.rank));
  PartialShape x = c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(attrs.rank);
  PartialShape channels(Dims{x.dim(attrs.channel_dim)});
  for (int i = 1; i < (attrs.reads_statistics() ? 5 : 3); ++i) {
    GYRE_ASSIGN_OR_RETURN(channels, channels.Intersect(c.input(i)));
  }
  x.set_dim(attrs.channel_dim, channels.dim(0));
  c.set_output(0, std::move(x));
  for (int i = 1; i < 5; ++i) c.set_output(i, channels);
  if (c.num_outputs() > 5) c.set_output(5, PartialShape::Scalar());
  return absl::OkStatus();
}

// As TensorFlow has it, nothing goes back through the statistics that come out, nor to those that
// go in.
template <int kVersion>
void BatchNormGradient(GradientContext& g) {
  if (!g.has_grad(0)) return;
  const bool is_training = g.attr<bool>("is_training", true);
  const AttrMap attrs = AttrsOf(g.node(), {"epsilon", "data_format", "is_training"});
  std::vector<Expr> inputs = {g.grad(0), g.input(0), g.input(1),
                              is_training ? g.output(3) : g.input(3),
                              is_training ? g.output(4) : g.input(4)};
  if (kVersion == 3) inputs.push_back(g.output(5));
  constexpr absl::string_view kOps[] = {"FusedBatchNormGrad", "FusedBatchNormGradV2",
                                        "FusedBatchNormGradV3"};
  const std::vector<Expr> grads = g.builder().Ops(kOps[kVersion - 1], inputs, attrs, 5);
  for (int i = 0; i < 3; ++i) {
    if (g.wants(i)) g.Add(i, grads[i]);
  }
}

}  // namespace

void RegisterFusedBatchNorm(OpRegistry& ops) {
#define GYRE_BATCH_NORM_ATTRS \
  "epsilon: float = 0.0001; exponential_avg_factor: float = 1.0; data_format: "
  ops.Add({
      .schema = "FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T) -> y: T, "
                "batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T "
                "{T: {float}; " GYRE_BATCH_NORM_ATTRS
                "{'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true}",
      .doc = "Images with each channel's mean and variance made 0 and 1, times `scale`, plus "
             "`offset`; and the statistics.",
      .shape = BatchNormShape,
      .gradient = {BatchNormGradient<1>},
      .kernel = Compute<&BatchNorm>(),
  });
  ops.Add({
      .schema = "FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, "
                "batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U "
                "{T: {half, bfloat16, float}; U: {float}; " GYRE_BATCH_NORM_ATTRS
                "{'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true}",
      .doc = "FusedBatchNorm whose images may be of another type than its statistics.",
      .shape = BatchNormShape,
      .gradient = {BatchNormGradient<2>},
      .kernel = Compute<&BatchNorm>(),
  });
  ops.Add({
      .schema = "FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U) -> y: T, "
                "batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
                "reserve_space_3: U {T: {half, bfloat16, float}; U: {bfloat16, "
                "float}; " GYRE_BATCH_NORM_ATTRS
                "{'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true}",
      .doc = "FusedBatchNormV2, also of images of three dimensions; the last output is 0.",
      .shape = BatchNormShape,
      .gradient = {BatchNormGradient<3>},
      .kernel = Compute<&BatchNorm>(),
  });
}

}  // namespace gyre
