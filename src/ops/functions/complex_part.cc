// Sizes, parts and angles of numbers, real ones among them.
#include "ops/functions/complex_part.h"

#include "ops/functions/families.h"

namespace gyre {
namespace {

using formula::RealDType;

std::vector<Term> Abs(FormulaContext& f) {
  const Term x = f.tensor(0);
  if (!IsComplex(x.dtype())) return {f.Last("Abs", {x})};
  return {f.Last("ComplexAbs", {x}, {{"Tout", RealDType(x.dtype())}})};
}

// A part of a complex number.
Term Part(FormulaContext& f, absl::string_view op) {
  const Term x = f.tensor(0);
  return f.Last(op, {x}, {{"Tout", RealDType(x.dtype())}});
}

std::vector<Term> Real(FormulaContext& f) {
  return {IsComplex(f.tensor(0).dtype()) ? Part(f, "Real") : f.tensor(0)};
}

std::vector<Term> Imag(FormulaContext& f) {
  return {IsComplex(f.tensor(0).dtype()) ? Part(f, "Imag") : f.Last("ZerosLike", {f.tensor(0)})};
}

std::vector<Term> Angle(FormulaContext& f) {
  const Term x = f.tensor(0);
  if (IsComplex(x.dtype())) return {Part(f, "Angle")};
  const Term zero = ZerosLike(x);
  const Term turned = zero + 3.141592653589793;
  return {f.Last("SelectV2", {f.op("Less", {x, zero}), turned, zero})};
}

std::vector<Term> Conjugate(FormulaContext& f) {
  const Term x = f.tensor(0);
  return {IsComplex(x.dtype()) ? f.Last("Conj", {x}) : x};
}

}  // namespace

void RegisterComplexPartFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(x: tensor)",
                 .doc = "|x|, real also of complex numbers. The result has the shape of x.",
                 .api = {"math.abs", "abs"},
                 .formula = Abs});
  functions.Add({.signature = "(input: tensor)",
                 .doc = "The real part; real numbers as they are.",
                 .api = {"math.real"},
                 .formula = Real});
  functions.Add({.signature = "(input: tensor)",
                 .doc = "The imaginary part; of real numbers zeros.",
                 .api = {"math.imag"},
                 .formula = Imag});
  functions.Add({.signature = "(input: tensor)",
                 .doc = "The argument in radians from -π to π; of real numbers 0, or π where "
                        "negative.",
                 .api = {"math.angle"},
                 .formula = Angle});
  functions.Add({.signature = "(x: tensor)",
                 .doc = "The complex conjugate; real numbers as they are.",
                 .api = {"math.conj"},
                 .formula = Conjugate});
}

}  // namespace gyre
