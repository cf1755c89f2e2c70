// Division as Python divides.
#include "absl/strings/str_cat.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

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
                 .doc = "x / y as Python divides: integers are converted first (8 and 16 bits to "
                        "float32, others to float64). Shapes broadcast.",
                 .api = {"math.truediv", "truediv", "math.divide", "divide"},
                 .formula = Truediv});
}

}  // namespace gyre
