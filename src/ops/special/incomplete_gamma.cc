// Incomplete gamma and beta functions.
#include "ops/special/special_functions.h"

namespace gyre {
namespace {

struct IgammaFn {
  template <typename T>
  static T Apply(T a, T x) {
    return Eigen::numext::igamma(a, x);
  }
};

struct IgammacFn {
  template <typename T>
  static T Apply(T a, T x) {
    return Eigen::numext::igammac(a, x);
  }
};

struct IgammaGradAFn {
  template <typename T>
  static T Apply(T a, T x) {
    return Eigen::numext::igamma_der_a(a, x);
  }
};

// How a sample of a gamma distribution of shape alpha moves with alpha.
struct SampleGradFn {
  template <typename T>
  static T Apply(T alpha, T sample) {
    return Eigen::numext::gamma_sample_der_alpha(alpha, sample);
  }
};

struct BetaincFn {
  template <typename T>
  static T Apply(T a, T b, T x) {
    return Eigen::numext::betainc(a, b, x);
  }
};

template <typename T>
using IgammaKernel = SlowElementwise<IgammaFn, T, 2>;
template <typename T>
using IgammacKernel = SlowElementwise<IgammacFn, T, 2>;
template <typename T>
using IgammaGradAKernel = SlowElementwise<IgammaGradAFn, T, 2>;
template <typename T>
using SampleGradKernel = SlowElementwise<SampleGradFn, T, 2>;

// Scalars broadcast, and nothing else does.
template <typename T>
struct BetaincKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Shape* shape = nullptr;
    for (int i = 0; i < 3; ++i) {
      const Shape& own = ctx.input(i).shape();
      if (own.IsScalar()) continue;
      if (shape != nullptr && own != *shape) {
        return absl::InvalidArgumentError(
            absl::StrCat("shapes of a, b and x must be equal, or scalars, but there are ",
                         shape->ToString(), " and ", own.ToString()));
      }
      shape = &own;
    }
    return SlowElementwise<BetaincFn, T, 3>::Run(ctx);
  }
};

// The derivative of igamma by x: exp((a - 1) log x - x - lgamma(a)).
Expr Density(GradientContext& g) {
  const Expr a = g.input(0), x = g.input(1);
  return g.op("Exp", {(a - 1.0) * g.op("Log", {x}) - x - g.op("Lgamma", {a})});
}

// IgammaGradA has no kernel for small types.
Expr ByShape(GradientContext& g) {
  const DType dtype = g.input_dtype(0);
  if (DTypeSize(dtype) >= 4) return g.op("IgammaGradA", {g.input(0), g.input(1)});
  return Cast(
      g.op("IgammaGradA", {Cast(g.input(0), DType::kFloat), Cast(g.input(1), DType::kFloat)}),
      dtype);
}

void IgammaGradient(GradientContext& g) {
  if (g.wants(0)) g.AddBroadcast(0, g.grad() * ByShape(g));
  if (g.wants(1)) g.AddBroadcast(1, g.grad() * Density(g));
}

void IgammacGradient(GradientContext& g) {
  if (g.wants(0)) g.AddBroadcast(0, -(g.grad() * ByShape(g)));
  if (g.wants(1)) g.AddBroadcast(1, -(g.grad() * Density(g)));
}

// By x alone, as in TensorFlow.
void BetaincGradient(GradientContext& g) {
  if (!g.wants(2)) return;
  const Expr a = g.input(0), b = g.input(1), x = g.input(2);
  const Expr lbeta = g.op("Lgamma", {a}) + g.op("Lgamma", {b}) - g.op("Lgamma", {a + b});
  const Expr power = g.op("Xlog1py", {b - 1.0, -x}) + g.op("Xlogy", {a - 1.0, x});
  g.AddBroadcast(2, g.grad() * g.op("Exp", {power - lbeta}));
}

absl::Status BetaincShape(ShapeContext& c) {
  PartialShape shape = PartialShape::Scalar();
  bool may_be_scalar = true;
  for (int i = 0; i < 3; ++i) {
    const PartialShape& own = c.input(i);
    if (!own.has_rank()) return absl::OkStatus();
    if (own.rank() == 0) continue;
    if (!may_be_scalar) {
      GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(own));
    } else {
      shape = own;
    }
    may_be_scalar = false;
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

void RegisterIncompleteGamma(OpRegistry& ops) {
  AddSpecialOp(ops, "Igamma(a: T, x: T) -> z: T", {"math.igamma", "compat.v1.igamma"}, kFloatTypes,
               "The lower regularized incomplete gamma function P(a, x).",
               ForTypes<IgammaKernel, FloatTypes>("T"), {IgammaGradient});
  AddSpecialOp(ops, "Igammac(a: T, x: T) -> z: T", {"math.igammac", "compat.v1.igammac"},
               kFloatTypes, "The upper regularized incomplete gamma function Q(a, x).",
               ForTypes<IgammacKernel, FloatTypes>("T"), {IgammacGradient});
  AddSpecialOp(ops, "IgammaGradA(a: T, x: T) -> z: T", {}, "{float, double}",
               "The derivative of igamma(a, x) by a.",
               ForTypes<IgammaGradAKernel, Types<float, double>>("T"),
               RefusesGradient("there is no rule for its derivatives"));
  AddSpecialOp(ops, "RandomGammaGrad(alpha: T, sample: T) -> output: T", {}, "{float, double}",
               "The derivative of a sample of a gamma distribution by its shape alpha.",
               ForTypes<SampleGradKernel, Types<float, double>>("T"),
               RefusesGradient("there is no rule for its derivatives"));
  ops.Add({.schema = "Betainc(a: T, b: T, x: T) -> z: T {T: {float, double}}",
           .doc = "The regularized incomplete beta function I_x(a, b).",
           .api = {"math.betainc", "compat.v1.betainc"},
           .traits = {.elementwise = true},
           .shape = BetaincShape,
           .gradient = {BetaincGradient},
           .failure = fails::ByShapes,
           .kernel = ForTypes<BetaincKernel, Types<float, double>>("T")});
}

}  // namespace gyre
