// Values and norms held within limits.
#include "ops/functions/families.h"

namespace gyre {
namespace {

std::vector<Term> ClipByValue(FormulaContext& f) {
  const Term low = f.op("Minimum", {f.tensor(0), f.tensor(2)});
  return {f.Last("Maximum", {low, f.tensor(1)})};
}

// The root sees a 1 where the norm is 0, so that no NaN gets into gradients.
std::vector<Term> ClipByNorm(FormulaContext& f) {
  const Term t = f.tensor(0), most = f.tensor(1);
  const Term square = f.Reduce("Sum", f.op("Square", {t}), 2, true);
  const Term positive = f.op("Greater", {square, f.Zero(t.dtype())});
  const Term safe = Where(positive, square, OnesLike(square));
  const Term length = Where(positive, f.op("Sqrt", {safe}), square);
  const Term scaled = t * most;
  return {f.Last("RealDiv", {scaled, f.op("Maximum", {length, most})})};
}

}  // namespace

void RegisterClippingFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(t: T, clip_value_min: T, clip_value_max: T)",
                 .doc =
                     "t, but at least clip_value_min and at most clip_value_max, which broadcast "
                     "to its shape.",
                 .api = {"clip_by_value"},
                 .formula = ClipByValue});
  functions.Add({.signature = "(t: T, clip_norm: T, axes: axes = none)",
                 .doc = "t, scaled down where its Euclidean norm along `axes` exceeds clip_norm.",
                 .api = {"clip_by_norm"},
                 .formula = ClipByNorm});
}

}  // namespace gyre
