// Bessel functions of orders 0 and 1, and modified ones, also scaled by exponentials.
#include "ops/special/special_functions.h"

namespace gyre {
namespace {

#define GYRE_BESSEL(Name, function)      \
  struct Name##Fn {                      \
    template <typename T>                \
    static T Apply(T x) {                \
      return Eigen::numext::function(x); \
    }                                    \
  };                                     \
  template <typename T>                  \
  using Name##Kernel = Unary<Name##Fn, T>;

GYRE_BESSEL(BesselI0, bessel_i0)
GYRE_BESSEL(BesselI0e, bessel_i0e)
GYRE_BESSEL(BesselI1, bessel_i1)
GYRE_BESSEL(BesselI1e, bessel_i1e)
GYRE_BESSEL(BesselK0, bessel_k0)
GYRE_BESSEL(BesselK0e, bessel_k0e)
GYRE_BESSEL(BesselK1, bessel_k1)
GYRE_BESSEL(BesselK1e, bessel_k1e)
GYRE_BESSEL(BesselJ0, bessel_j0)
GYRE_BESSEL(BesselJ1, bessel_j1)
GYRE_BESSEL(BesselY0, bessel_y0)
GYRE_BESSEL(BesselY1, bessel_y1)
#undef GYRE_BESSEL

// y / x, and 1/2 where x is 0, as for functions that are x / 2 there.
Expr PerInput(GradientContext& g) {
  const Expr x = g.input(0), y = g.output(0);
  const Expr at_zero = g.op("Equal", {x, g.builder().Zero(x.dtype())});
  const Expr half = 0.5 * OnesLike(x);
  return Where(at_zero, half, y / Where(at_zero, OnesLike(x), x));
}

Expr Of(GradientContext& g, absl::string_view op) { return g.op(op, {g.input(0)}); }
void Times(GradientContext& g, Expr derivative) { g.Add(0, g.grad() * derivative); }

void I0Gradient(GradientContext& g) { Times(g, Of(g, "BesselI1")); }
void I0eGradient(GradientContext& g) { Times(g, Of(g, "BesselI1e") - Of(g, "Sign") * g.output(0)); }
void I1Gradient(GradientContext& g) { Times(g, Of(g, "BesselI0") - PerInput(g)); }
void I1eGradient(GradientContext& g) {
  Times(g, Of(g, "BesselI0e") - Of(g, "Sign") * g.output(0) - PerInput(g));
}
void K0Gradient(GradientContext& g) { Times(g, -Of(g, "BesselK1")); }
void K0eGradient(GradientContext& g) { Times(g, g.output(0) - Of(g, "BesselK1e")); }
void K1Gradient(GradientContext& g) { Times(g, -(Of(g, "BesselK0") + g.output(0) / g.input(0))); }
void K1eGradient(GradientContext& g) {
  const Expr y = g.output(0);
  Times(g, y - y / g.input(0) - Of(g, "BesselK0e"));
}
void J0Gradient(GradientContext& g) { Times(g, -Of(g, "BesselJ1")); }
void J1Gradient(GradientContext& g) { Times(g, Of(g, "BesselJ0") - PerInput(g)); }
void Y0Gradient(GradientContext& g) { Times(g, -Of(g, "BesselY1")); }
void Y1Gradient(GradientContext& g) { Times(g, Of(g, "BesselY0") - g.output(0) / g.input(0)); }

template <template <typename> class K>
void Add(OpRegistry& ops, absl::string_view name, std::vector<absl::string_view> api,
         absl::string_view doc, GradientFn gradient) {
  AddUnaryOp(ops, name, std::move(api), kFloatTypes, doc, ForTypes<K, FloatTypes>("T"), {gradient});
}

}  // namespace

void RegisterBessel(OpRegistry& ops) {
  Add<BesselI0Kernel>(ops, "BesselI0", {"math.bessel_i0", "math.special.bessel_i0"},
                      "The modified Bessel function of the first kind, of order 0.", I0Gradient);
  Add<BesselI0eKernel>(ops, "BesselI0e", {"math.bessel_i0e", "math.special.bessel_i0e"},
                       "exp(-|x|) bessel_i0(x).", I0eGradient);
  Add<BesselI1Kernel>(ops, "BesselI1", {"math.bessel_i1", "math.special.bessel_i1"},
                      "The modified Bessel function of the first kind, of order 1.", I1Gradient);
  Add<BesselI1eKernel>(ops, "BesselI1e", {"math.bessel_i1e", "math.special.bessel_i1e"},
                       "exp(-|x|) bessel_i1(x).", I1eGradient);
  Add<BesselK0Kernel>(ops, "BesselK0", {"math.special.bessel_k0"},
                      "The modified Bessel function of the second kind, of order 0.", K0Gradient);
  Add<BesselK0eKernel>(ops, "BesselK0e", {"math.special.bessel_k0e"}, "exp(x) bessel_k0(x).",
                       K0eGradient);
  Add<BesselK1Kernel>(ops, "BesselK1", {"math.special.bessel_k1"},
                      "The modified Bessel function of the second kind, of order 1.", K1Gradient);
  Add<BesselK1eKernel>(ops, "BesselK1e", {"math.special.bessel_k1e"}, "exp(x) bessel_k1(x).",
                       K1eGradient);
  Add<BesselJ0Kernel>(ops, "BesselJ0", {"math.special.bessel_j0"},
                      "The Bessel function of the first kind, of order 0.", J0Gradient);
  Add<BesselJ1Kernel>(ops, "BesselJ1", {"math.special.bessel_j1"},
                      "The Bessel function of the first kind, of order 1.", J1Gradient);
  Add<BesselY0Kernel>(ops, "BesselY0", {"math.special.bessel_y0"},
                      "The Bessel function of the second kind, of order 0.", Y0Gradient);
  Add<BesselY1Kernel>(ops, "BesselY1", {"math.special.bessel_y1"},
                      "The Bessel function of the second kind, of order 1.", Y1Gradient);
}

}  // namespace gyre
