#include <cmath>

#include "ir/gradient_context.h"
#include "ops/dispatch.h"
#include "ops/nn/map_elements.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Klambauer et al., "Self-normalizing neural networks", 2017.
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

template <typename T>
struct EluKernel {
  static absl::Status Run(KernelContext& ctx) {
    return MapElements<T>(ctx, [](Computed<T> x) { return x < 0 ? std::expm1(x) : x; });
  }
};

// By the output y of Elu: where it is negative, dy/dx = exp(x) = y + 1.
template <typename T>
struct EluGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    return MapPairs<T>(ctx, [](Computed<T> gradient, Computed<T> y) {
      return y < 0 ? (y + 1) * gradient : gradient;
    });
  }
};

template <typename T>
struct SeluKernel {
  static absl::Status Run(KernelContext& ctx) {
    using C = Computed<T>;
    return MapElements<T>(ctx, [](C x) {
      return x < 0 ? static_cast<C>(kSeluScaleAlpha) * std::expm1(x)
                   : static_cast<C>(kSeluScale) * x;
    });
  }
};

template <typename T>
struct SeluGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    using C = Computed<T>;
    return MapPairs<T>(ctx, [](C gradient, C y) {
      return y < 0 ? gradient * (y + static_cast<C>(kSeluScaleAlpha))
                   : gradient * static_cast<C>(kSeluScale);
    });
  }
};

// The op `name` computes gradients * slope(outputs), where the slope is linear in negative outputs
// and constant elsewhere.
void SlopeGradient(GradientContext& g, absl::string_view name) {
  const Expr outputs = g.input(1);
  if (g.wants(0)) g.Add(0, g.op(name, {g.grad(), outputs}));
  if (!g.wants(1)) return;
  const Expr zero = g.builder().Zero(outputs.dtype());
  g.Add(1, Where(g.op("Less", {outputs, zero}), g.grad() * g.input(0), zero));
}

void EluGradGradient(GradientContext& g) { SlopeGradient(g, "EluGrad"); }
void SeluGradGradient(GradientContext& g) { SlopeGradient(g, "SeluGrad"); }

}  // namespace

void RegisterSmoothRectifiers(OpRegistry& ops) {
  ops.Add({
      .schema = "Elu(features: T) -> activations: T {T: floattype}",
      .doc = "features where positive, exp(features) - 1 elsewhere.",
      .api = {"nn.elu"},
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = {[](GradientContext& g) { g.Add(0, g.op("EluGrad", {g.grad(), g.output(0)})); }},
      .failure = fails::Never,
      .kernel = ForTypes<EluKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "EluGrad(gradients: T, outputs: T) -> backprops: T {T: floattype}",
      .doc = "The gradient of Elu, from its outputs.",
      .traits = {.elementwise = true},
      .shape = shape::SameForAll,
      .gradient = {EluGradGradient},
      .kernel = ForTypes<EluGradKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "Selu(features: T) -> activations: T {T: floattype}",
      .doc = "Elu, scaled so that activations normalise themselves.",
      .api = {"nn.selu"},
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = {[](GradientContext& g) { g.Add(0, g.op("SeluGrad", {g.grad(), g.output(0)})); }},
      .failure = fails::Never,
      .kernel = ForTypes<SeluKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "SeluGrad(gradients: T, outputs: T) -> backprops: T {T: floattype}",
      .doc = "The gradient of Selu, from its outputs.",
      .traits = {.elementwise = true},
      .shape = shape::SameForAll,
      .gradient = {SeluGradGradient},
      .kernel = ForTypes<SeluGradKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
