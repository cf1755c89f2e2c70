// Inverse hyperbolic functions, and the logarithm of the logistic function.
#include "ops/functions/complex_part.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// |x| + x² / (1 + sqrt(1 + x²)) is what is added to 1 (Kahan, 1987).
std::vector<Term> Asinh(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term size = IsComplex(x.dtype()) ? formula::ComplexSize(f, x) : f.op("Abs", {x});
  const Term square = f.op("Square", {x});
  const Term root = f.op("Sqrt", {square + 1});
  const Term grown = size + square / (root + 1);
  const Term sign = f.op("Sign", {x});
  return {f.Last("Mul", {sign, f.op("Log1p", {grown})})};
}

std::vector<Term> Acosh(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term less = x - 1;
  const Term root = f.op("Sqrt", {less * (x + 1)});
  return {f.Last("Log1p", {less + root})};
}

std::vector<Term> Atanh(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term above = f.op("Log1p", {x});
  const Term difference = above - f.op("Log1p", {-x});
  return {f.Last("Mul", {difference, f.Number(x.dtype(), 0.5)})};
}

std::vector<Term> LogSigmoid(FormulaContext& f) {
  return {f.Last("Neg", {f.op("Softplus", {-f.tensor(0)})})};
}

}  // namespace

void RegisterHyperbolicFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(x: tensor)",
                 .doc = "The inverse hyperbolic sine: sign(x) log(|x| + sqrt(x² + 1)), by log1p to "
                        "be exact near 0.",
                 .api = {"math.asinh", "asinh"},
                 .formula = Asinh});
  functions.Add({.signature = "(x: tensor)",
                 .doc = "The inverse hyperbolic cosine: log(x + sqrt(x² - 1)); NaN below 1.",
                 .api = {"math.acosh", "acosh"},
                 .formula = Acosh});
  functions.Add({.signature = "(x: tensor)",
                 .doc = "The inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2.",
                 .api = {"math.atanh", "atanh"},
                 .formula = Atanh});
  functions.Add({.signature = "(x: tensor)",
                 .doc = "log(sigmoid(x)) = -softplus(-x), without overflow.",
                 .api = {"math.log_sigmoid"},
                 .formula = LogSigmoid});
}

}  // namespace gyre
