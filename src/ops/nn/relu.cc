#include "ir/gradient_context.h"
#include "ops/dispatch.h"
#include "ops/math/elementwise.h"
#include "ops/nn/map_elements.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// A NaN stays one; so does a negative zero.
struct ReluFn {
  static constexpr simd::UnaryOp kVector = simd::UnaryOp::kRelu;
  template <typename T>
  static T Apply(T x) {
    return x < T{0} ? T{0} : x;
  }
};
template <typename T>
using ReluKernel = Unary<ReluFn, T>;

template <typename T>
struct Relu6Kernel {
  static absl::Status Run(KernelContext& ctx) {
    return MapElements<T>(ctx, [](Computed<T> x) {
      return x < Computed<T>{0} ? Computed<T>{0} : x > Computed<T>{6} ? Computed<T>{6} : x;
    });
  }
};

// The gradient is multiplied by the slope rather than selected, so that its NaNs are seen. At 0 the
// slope is 0: the output of Relu may stand in for its input.
struct ReluGradFn {
  static constexpr simd::ArithmeticOp kVector = simd::ArithmeticOp::kReluGrad;
  template <typename T>
  static T Apply(T gradient, T x) {
    return static_cast<T>(gradient * static_cast<T>(x > T{0}));
  }
};
template <typename T>
using ReluGradKernel = Binary<ReluGradFn, T, /*kBroadcast=*/false>;

template <typename T>
struct Relu6GradKernel {
  static absl::Status Run(KernelContext& ctx) {
    return MapPairs<T>(ctx, [](Computed<T> gradient, Computed<T> x) {
      return gradient * static_cast<Computed<T>>(x > Computed<T>{0} && x < Computed<T>{6});
    });
  }
};

struct LeakyReluAttrs {
  explicit LeakyReluAttrs(const Node& node) : alpha(NodeAttr<float>(node, "alpha")) {}
  float alpha;
};

template <typename T>
struct LeakyReluKernel {
  static absl::Status Run(KernelContext& ctx, const LeakyReluAttrs& attrs) {
    const auto alpha = static_cast<Computed<T>>(attrs.alpha);
    return MapElements<T>(ctx, [alpha](Computed<T> x) { return x < 0 ? alpha * x : x; });
  }
};

template <typename T>
struct LeakyReluGradKernel {
  static absl::Status Run(KernelContext& ctx, const LeakyReluAttrs& attrs) {
    const auto alpha = static_cast<Computed<T>>(attrs.alpha);
    return MapPairs<T>(ctx, [alpha](Computed<T> gradient, Computed<T> x) {
      return x > 0 ? gradient : alpha * gradient;
    });
  }
};

// By the output, which tells on which side of the kinks the input was.
void ReluGradient(GradientContext& g) { g.Add(0, g.op("ReluGrad", {g.grad(), g.output(0)})); }
void Relu6Gradient(GradientContext& g) { g.Add(0, g.op("Relu6Grad", {g.grad(), g.output(0)})); }

Expr LeakyReluSlope(GradientContext& g, Expr features) {
  return g.op("LeakyReluGrad", {g.grad(), features}, {{"alpha", g.attr<float>("alpha", 0)}});
}

// The output has the sign of the input unless alpha turns it.
void LeakyReluGradient(GradientContext& g) {
  g.Add(0, LeakyReluSlope(g, g.attr<float>("alpha", 0) < 0 ? g.input(0) : g.output(0)));
}

// Second derivatives: the slope is constant between the kinks.
void ReluGradGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.op("ReluGrad", {g.grad(), g.input(1)}));
}

void Relu6GradGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.op("Relu6Grad", {g.grad(), g.input(1)}));
}

void LeakyReluGradGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, LeakyReluSlope(g, g.input(1)));
}

}  // namespace

void RegisterRelu(OpRegistry& ops) {
  ops.Add({
      .schema = "Relu(features: T) -> activations: T {T: {realnumbertype, qint8}}",
      .doc = "max(features, 0).",
      .api = {"nn.relu"},
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = {ReluGradient},
      .failure = fails::Never,
      .kernel = ForTypes<ReluKernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "ReluGrad(gradients: T, features: T) -> backprops: T {T: realnumbertype}",
      .doc = "The gradient of Relu: gradients where features > 0, else 0.",
      .traits = {.elementwise = true},
      .shape = shape::SameForAll,
      .gradient = {ReluGradGradient},
      .kernel = ForTypes<ReluGradKernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "Relu6(features: T) -> activations: T {T: realnumbertype}",
      .doc = "min(max(features, 0), 6).",
      .api = {"nn.relu6"},
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = {Relu6Gradient},
      .failure = fails::Never,
      .kernel = ForTypes<Relu6Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "Relu6Grad(gradients: T, features: T) -> backprops: T {T: realnumbertype}",
      .doc = "The gradient of Relu6: gradients where 0 < features < 6, else 0.",
      .traits = {.elementwise = true},
      .shape = shape::SameForAll,
      .gradient = {Relu6GradGradient},
      .kernel = ForTypes<Relu6GradKernel, RealTypes>("T"),
  });
  ops.Add({
      .schema =
          "LeakyRelu(features: T) -> activations: T {alpha: float = 0.2; T: floattype = float}",
      .doc = "features where positive, alpha * features elsewhere.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = {LeakyReluGradient},
      .failure = fails::Never,
      .kernel = ForTypes<LeakyReluKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "LeakyReluGrad(gradients: T, features: T) -> backprops: T "
                "{alpha: float = 0.2; T: floattype = float}",
      .doc = "The gradient of LeakyRelu: gradients, times alpha where features <= 0.",
      .traits = {.elementwise = true},
      .shape = shape::SameForAll,
      .gradient = {LeakyReluGradGradient},
      .kernel = ForTypes<LeakyReluGradKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
