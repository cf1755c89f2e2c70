// Complex numbers: their parts, and how to make them from parts.
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ir/simplify_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct RealFn {
  template <typename R>
  static R Apply(std::complex<R> x) {
    return x.real();
  }
};

struct ImagFn {
  template <typename R>
  static R Apply(std::complex<R> x) {
    return x.imag();
  }
};

struct ComplexAbsFn {
  template <typename R>
  static R Apply(std::complex<R> x) {
    return std::abs(x);
  }
};

struct AngleFn {
  template <typename R>
  static R Apply(std::complex<R> x) {
    return std::arg(x);
  }
};

struct ConjFn {
  template <typename R>
  static std::complex<R> Apply(std::complex<R> x) {
    return std::conj(x);
  }
};

struct ComplexFn {
  template <typename R>
  static std::complex<R> Apply(R real, R imag) {
    return {real, imag};
  }
};

template <typename T>
using ConjKernel = Unary<ConjFn, T>;

// The kernel for complex64 or complex128 as `complex_attr` says. The type of the parts, in
// `real_attr`, must be the one of the same precision: UNIMPLEMENTED otherwise.
template <absl::Status (*Single)(KernelContext&), absl::Status (*Double)(KernelContext&)>
KernelFactory ForParts(absl::string_view complex_attr, absl::string_view real_attr) {
  return [complex_attr, real_attr](const Node& node) -> absl::StatusOr<Kernel> {
    const DType complex = NodeAttr<DType>(node, complex_attr);
    const DType real = NodeAttr<DType>(node, real_attr);
    if (complex == DType::kComplex64 && real == DType::kFloat) return Compute<Single>()(node);
    if (complex == DType::kComplex128 && real == DType::kDouble) return Compute<Double>()(node);
    return absl::UnimplementedError(absl::StrCat("op ", node.op_name, " has no kernel for ",
                                                 complex_attr, " = ", DTypeName(complex), " with ",
                                                 real_attr, " = ", DTypeName(real)));
  };
}

// The imaginary number g * i.
Expr Imaginary(GradientContext& g) {
  return MakeComplex(g.builder().Zero(g.output_dtype(0)), g.grad());
}

void RealGradient(GradientContext& g) { g.Add(0, Cast(g.grad(), g.input_dtype(0))); }

void ImagGradient(GradientContext& g) { g.Add(0, Imaginary(g)); }

// Along x; nowhere at 0.
void ComplexAbsGradient(GradientContext& g) {
  const Expr per_length = g.op("DivNoNan", {g.grad(), g.output(0)});
  g.Add(0, Cast(per_length, g.input_dtype(0)) * g.input(0));
}

// Across x: i x / |x|².
void AngleGradient(GradientContext& g) { g.Add(0, Imaginary(g) / Conj(g.input(0))); }

void ComplexGradient(GradientContext& g) {
  if (g.wants(0)) g.AddBroadcast(0, RealPart(g.grad()));
  if (g.wants(1)) g.AddBroadcast(1, ImagPart(g.grad()));
}

template <typename F>
void AddPart(OpRegistry& ops, absl::string_view name, absl::string_view input,
             absl::string_view output, absl::string_view doc, GradientFn gradient) {
  ops.Add({.schema = absl::StrCat(
               name, "(", input, ": T) -> ", output,
               ": Tout {T: {complex64, complex128} = complex64; Tout: {float, double} = float}"),
           .doc = doc,
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = {gradient},
           .kernel = ForParts<&Unary<F, complex64>::Run, &Unary<F, complex128>::Run>("T", "Tout")});
}

}  // namespace

void RegisterComplex(OpRegistry& ops) {
  AddPart<RealFn>(ops, "Real", "input", "output", "The real part of a complex number.",
                  RealGradient);
  AddPart<ImagFn>(ops, "Imag", "input", "output", "The imaginary part of a complex number.",
                  ImagGradient);
  AddPart<ComplexAbsFn>(ops, "ComplexAbs", "x", "y", "The absolute value of a complex number.",
                        ComplexAbsGradient);
  AddPart<AngleFn>(ops, "Angle", "input", "output",
                   "The argument of a complex number, in radians from -π to π.", AngleGradient);
  ops.Add(
      {.schema = "Conj(input: T) -> output: T {T: {complex64, complex128, variant} = complex64}",
       .doc = "The complex conjugate.",
       .traits = {.elementwise = true},
       .shape = shape::SameAsInput,
       .gradient = {[](GradientContext& g) { g.Add(0, Conj(g.grad())); }},
       .simplify = simplify::Involution,
       .failure = fails::Never,
       .kernel = ForTypes<ConjKernel, ComplexTypes>("T")});
  ops.Add(
      {.schema =
           "Complex(real: T, imag: T) -> out: Tout {T: {float, double} = float; Tout: {complex64, "
           "complex128} = complex64}",
       .doc = "The complex number with these two parts.",
       .traits = {.elementwise = true},
       .shape = shape::Broadcast,
       .gradient = {ComplexGradient},
       .kernel =
           ForParts<&Binary<ComplexFn, float>::Run, &Binary<ComplexFn, double>::Run>("Tout", "T")});
}

}  // namespace gyre
