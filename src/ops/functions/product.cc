// Products and quotients that are 0 where a factor is, and division as Python divides.
#include "absl/strings/str_cat.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// x * f(y) where x is not 0. Where it is, f sees a 1, so that no NaN gets into gradients.
FormulaFn TimesOf(absl::string_view function) {
  return [function](FormulaContext& f) -> std::vector<Term> {
    const Term x = f.tensor(0), y = f.tensor(1);
    const Term zero = f.op("Equal", {x, f.Zero(x.dtype())});
    const Term product = x * f.op(function, {Where(zero, OnesLike(y), y)});
    return {f.Last("SelectV2", {zero, ZerosLike(product), product})};
  };
}

std::vector<Term> MultiplyNoNan(FormulaContext& f) {
  const Term x = f.tensor(0), y = f.tensor(1);
  const Term zero = f.op("Equal", {y, f.Zero(y.dtype())});
  const Term product = x * y;
  return {f.Last("SelectV2", {zero, ZerosLike(product), product})};
}

std::vector<Term> Truediv(FormulaContext& f) {
  Term x = f.tensor(0), y = f.tensor(1);
  if (x.dtype() != y.dtype()) {
    f.builder().RefuseType(absl::StrCat("x and y must have one dtype, but are ",
                                        DTypeName(x.dtype()), " and ", DTypeName(y.dtype()), "."));
  }
  if (IsInteger(x.dtype())) {
    const DType wide = DTypeSize(x.dtype()) <= 2 ? DType::kFloat : DType::kDouble;
    x = Cast(x, wide);
    y = Cast(y, wide);
  }
  return {f.Last("RealDiv", {x, y})};
}

}  // namespace

void RegisterProductFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(x: T, y: T)",
                 .doc = "x * y, and 0 where y is 0, also if x is infinite or NaN there.",
                 .api = {"math.multiply_no_nan"},
                 .formula = MultiplyNoNan});
  functions.Add({.signature = "(x: T, y: T)",
                 .doc = "x * log(y), and 0 where x is 0. Shapes broadcast.",
                 .api = {"math.xlogy"},
                 .formula = TimesOf("Log")});
  functions.Add({.signature = "(x: T, y: T)",
                 .doc = "x * log(1 + y), and 0 where x is 0. Shapes broadcast.",
                 .api = {"math.xlog1py"},
                 .formula = TimesOf("Log1p")});
  functions.Add({.signature = "(x: T, y: T)",
                 .doc = "x / y, and 0 where x is 0. Shapes broadcast.",
                 .api = {"math.xdivy"},
                 .formula = TimesOf("Reciprocal")});
  functions.Add({.signature = "(x: T, y: T)",
                 .doc = "x / y as Python divides: integers are converted first (8 and 16 bits to "
                        "float32, others to float64). Shapes broadcast.",
                 .api = {"math.truediv", "truediv", "math.divide", "divide"},
                 .formula = Truediv});
}

}  // namespace gyre
