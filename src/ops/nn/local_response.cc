// LRN, LRNGrad: local response normalization. Source: Krizhevsky et al., ImageNet classification
// with deep convolutional neural networks (2012).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/batch_images.h"
#include "ops/conv/node_attrs.h"
#include "ops/conv/window.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    const int64_t radius = NodeAttr<int64_t>(node, "depth_radius");
    if (radius < 0 || radius > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("depth_radius must not be negative, and fit 32 bits, but is ", radius));
    }
    return Attrs{radius, NodeAttr<float>(node, "bias"), NodeAttr<float>(node, "alpha"),
                 NodeAttr<float>(node, "beta")};
  }
  int64_t radius;
  float bias, alpha, beta;
};

// Sums over the neighbours of each element of a row, as far away as `radius`.
class Neighbours {
 public:
  explicit Neighbours(int64_t n, int64_t radius) : n_(n), radius_(std::min(radius, n)) {}

  // sums[i] = Σ values[j], |i - j| <= radius.
  void Sum(const float* values, float* sums) {
    constexpr int64_t kFew = 16;
    if (radius_ <= kFew) {
      for (int64_t i = 0; i < n_; ++i) {
        float sum = 0;
        const int64_t end = std::min(n_, i + radius_ + 1);
        for (int64_t j = std::max<int64_t>(0, i - radius_); j < end; ++j) sum += values[j];
        sums[i] = sum;
      }
      return;
    }
    up_to_.resize(n_ + 1);
    for (int64_t i = 0; i < n_; ++i) up_to_[i + 1] = up_to_[i] + values[i];
    for (int64_t i = 0; i < n_; ++i) {
      sums[i] = static_cast<float>(up_to_[std::min(n_, i + radius_ + 1)] -
                                   up_to_[std::max<int64_t>(0, i - radius_)]);
    }
  }

 private:
  const int64_t n_;
  const int64_t radius_;
  std::vector<double> up_to_;
};

// x^-beta.
float InversePower(float x, float beta) {
  if (beta == 0.5f) return 1 / std::sqrt(x);
  if (beta == 1.0f) return 1 / x;
  return std::pow(x, -beta);
}

// Calls run(row) for each row of channels, `work` numbers each.
template <typename Body>
absl::Status ForRows(const KernelContext& ctx, const Shape& images, const Body& body) {
  const int64_t n = images.dim(3);
  return ctx.ParallelRun(images.num_elements() / n, std::max<int64_t>(1, (1 << 12) / n), body);
}

template <typename T>
struct LrnKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    const Tensor& x = ctx.input(0);
    GYRE_RETURN_IF_ERROR(RequireImages(x.shape(), 4, "input"));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
    if (x.num_elements() > 0) {
      const int64_t n = x.dim(3);
      const T* from = static_cast<const T*>(x.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      GYRE_RETURN_IF_ERROR(ForRows(ctx, x.shape(), [&](int64_t begin, int64_t end) {
        Neighbours neighbours(n, attrs.radius);
        std::vector<float> squares(n), sums(n);
        for (int64_t row = begin; row < end; ++row) {
          const T* xs = from + row * n;
          for (int64_t c = 0; c < n; ++c) {
            squares[c] = static_cast<float>(xs[c]) * static_cast<float>(xs[c]);
          }
          neighbours.Sum(squares.data(), sums.data());
          for (int64_t c = 0; c < n; ++c) {
            const float norm = attrs.bias + attrs.alpha * sums[c];
            to[row * n + c] =
                static_cast<T>(static_cast<float>(xs[c]) * InversePower(norm, attrs.beta));
          }
        }
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// With norms n: dx_j = g_j n_j^-β - 2αβ x_j Σ g_c x_c n_c^(-β-1) over the neighbours c of j.
template <typename T>
struct GradKernel {
  static absl::Status Run(KernelContext& ctx, const Attrs& attrs) {
    const Tensor &grad = ctx.input(0), &x = ctx.input(1), &y = ctx.input(2);
    GYRE_RETURN_IF_ERROR(RequireImages(x.shape(), 4, "input_image"));
    if (grad.shape() != x.shape() || y.shape() != x.shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input_grads, input_image and output_image must have the same shape, but have ",
          grad.shape().ToString(), ", ", x.shape().ToString(), " and ", y.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(x.dtype(), x.shape()));
    if (x.num_elements() > 0) {
      const int64_t n = x.dim(3);
      const T* gs = static_cast<const T*>(grad.raw_data());
      const T* images = static_cast<const T*>(x.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      GYRE_RETURN_IF_ERROR(ForRows(ctx, x.shape(), [&](int64_t begin, int64_t end) {
        Neighbours neighbours(n, attrs.radius);
        std::vector<float> xs(n), terms(n), norms(n), sums(n);
        for (int64_t row = begin; row < end; ++row) {
          for (int64_t c = 0; c < n; ++c) {
            xs[c] = static_cast<float>(images[row * n + c]);
            terms[c] = xs[c] * xs[c];
          }
          neighbours.Sum(terms.data(), norms.data());
          for (int64_t c = 0; c < n; ++c) {
            norms[c] = attrs.bias + attrs.alpha * norms[c];
            sums[c] = static_cast<float>(gs[row * n + c]) * InversePower(norms[c], attrs.beta);
            terms[c] = sums[c] * xs[c] / norms[c];
          }
          neighbours.Sum(terms.data(), norms.data());  // which are no longer needed
          for (int64_t c = 0; c < n; ++c) {
            to[row * n + c] =
                static_cast<T>(sums[c] - 2 * attrs.alpha * attrs.beta * xs[c] * norms[c]);
          }
        }
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status LrnShape(ShapeContext& c) {
  PartialShape shape = PartialShape::UnknownOfRank(4);
  for (int i = 0; i < c.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(c.input(i)));
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void LrnGradient(GradientContext& g) {
  g.Add(0, g.op("LRNGrad", {g.grad(), g.input(0), g.output(0)},
                AttrsOf(g.node(), {"depth_radius", "bias", "alpha", "beta"})));
}

using ThreeFloats = Types<float, Half, BFloat16>;

#define GYRE_LRN_ATTRS                                                            \
  "{depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = " \
  "0.5; T: {half, bfloat16, float} = float}"

}  // namespace

void RegisterLocalResponse(OpRegistry& ops) {
  ops.Add({
      .schema = "LRN(input: T) -> output: T " GYRE_LRN_ATTRS,
      .doc = "Each pixel's channels divided by (bias + alpha * the sum of the squares of the "
             "channels around, as far as depth_radius) ^ beta.",
      .shape = LrnShape,
      .gradient = {LrnGradient},
      .batch = {BatchOfImages},
      .kernel = ForTypes<LrnKernel, ThreeFloats>("T"),
  });
  ops.Add({
      .schema =
          "LRNGrad(input_grads: T, input_image: T, output_image: T) -> output: T " GYRE_LRN_ATTRS,
      .doc = "The gradient of LRN.",
      .shape = LrnShape,
      .gradient = RefusesGradient("second derivatives of LRN are not defined"),
      .kernel = ForTypes<GradKernel, ThreeFloats>("T"),
  });
}

}  // namespace gyre
