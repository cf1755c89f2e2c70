// Real counterparts of complex numbers, for formulas. Stateless.
#pragma once

#include "ops/functions/formula.h"

namespace gyre::formula {

// The type of the parts of complex numbers.
inline DType RealDType(DType complex) {
  return complex == DType::kComplex128 ? DType::kDouble : DType::kFloat;
}

// |x| of complex numbers.
inline Term ComplexSize(FormulaContext& f, Term x) {
  return f.op("ComplexAbs", {x}, {{"Tout", RealDType(x.dtype())}});
}

}  // namespace gyre::formula
