// Special functions that are made of others.
#include "ops/functions/families.h"

namespace gyre {
namespace {

// log |B|, with B(x_1, …, x_n) = Γ(x_1) … Γ(x_n) / Γ(x_1 + … + x_n); no numbers give log 1 - log
// Γ(0).
std::vector<Term> LogBeta(FormulaContext& f) {
  const Term x = f.tensor(0), last = f.builder().Ints({-1});
  const Term logs = f.op("Sum", {f.op("Lgamma", {x}), last});
  return {f.Last("Sub", {logs, f.op("Lgamma", {f.op("Sum", {x, last})})})};
}

// By the quantiles of the normal distribution, which keep the digits of a small x.
std::vector<Term> InverseErfc(FormulaContext& f) {
  const Term quantile = f.op("Ndtri", {f.tensor(0) * 0.5});
  return {f.Last("Mul", {quantile, f.Number(quantile.dtype(), -0.70710678118654752440)})};
}

}  // namespace

void RegisterSpecialFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(x: tensor)",
                 .doc = "The logarithm of the absolute value of the beta function of the numbers "
                        "along the last axis.",
                 .api = {"math.lbeta", "compat.v1.lbeta"},
                 .formula = LogBeta});
  functions.Add({.signature = "(x: tensor)",
                 .doc = "The inverse of erfc.",
                 .api = {"math.erfcinv"},
                 .formula = InverseErfc});
}

}  // namespace gyre
