// Schedules: from the number of steps taken before to the rate that an optimizer learns with. They
// compute in the dtype of the rate.
#include "ops/functions/families.h"

namespace gyre {
namespace {

// Arguments 0 to 3 of most: rate, step, decay_steps, decay_rate, in the dtype of the rate.
Term InRatesType(FormulaContext& f, int i) { return Cast(f.tensor(i), f.tensor(0).dtype()); }

// step / decay_steps, rounded down if argument 4 says so.
Term Ratio(FormulaContext& f) {
  const Term step = InRatesType(f, 1);
  const Term ratio = step / InRatesType(f, 2);
  return f.plain<bool>(4) ? f.op("Floor", {ratio}) : ratio;
}

std::vector<Term> Exponential(FormulaContext& f) {
  const Term ratio = Ratio(f);
  const Term factor = f.op("Pow", {InRatesType(f, 3), ratio});
  return {f.Last("Mul", {f.tensor(0), factor})};
}

std::vector<Term> NaturalExponential(FormulaContext& f) {
  const Term ratio = Ratio(f);
  const Term exponent = -(InRatesType(f, 3) * ratio);
  return {f.Last("Mul", {f.tensor(0), f.op("Exp", {exponent})})};
}

std::vector<Term> InverseTime(FormulaContext& f) {
  const Term ratio = Ratio(f);
  const Term slower = InRatesType(f, 3) * ratio + 1;
  return {f.Last("RealDiv", {f.tensor(0), slower})};
}

std::vector<Term> Polynomial(FormulaContext& f) {
  const Term rate = f.tensor(0);
  Term step = InRatesType(f, 1), steps = InRatesType(f, 2);
  const Term end = InRatesType(f, 3);
  const Term power = InRatesType(f, 4);
  if (f.plain<bool>(5)) {
    const Term rounds = f.op("Ceil", {step / steps});
    steps = steps * f.op("Maximum", {f.One(rate.dtype()), rounds});
  } else {
    step = f.op("Minimum", {step, steps});
  }
  const Term left = f.One(rate.dtype()) - step / steps;
  const Term above = rate - end;
  const Term part = above * f.op("Pow", {left, power});
  return {f.Last("AddV2", {part, end})};
}

// Loshchilov and Hutter, SGDR (2016).
std::vector<Term> Cosine(FormulaContext& f) {
  const double alpha = f.plain<double>(3);
  const Term step = InRatesType(f, 1), steps = InRatesType(f, 2);
  const Term done = f.op("Minimum", {step, steps}) / steps;
  const Term half = (f.op("Cos", {done * 3.141592653589793}) + 1) * 0.5;
  const Term share = half * (1 - alpha) + alpha;
  return {f.Last("Mul", {f.tensor(0), share})};
}

}  // namespace

void RegisterScheduleFunctions(FunctionRegistry& functions) {
  constexpr absl::string_view kDecay =
      "(learning_rate: T, step: tensor, decay_steps: T, decay_rate: T, staircase: bool = false)";
  functions.Add({.signature = kDecay,
                 .doc = "learning_rate · decay_rate^(step / decay_steps); with staircase the "
                        "exponent is rounded down.",
                 .api = {"optimizers.exponential_decay"},
                 .formula = Exponential});
  functions.Add({.signature = kDecay,
                 .doc = "learning_rate · exp(-decay_rate · step / decay_steps); with staircase the "
                        "quotient is rounded down.",
                 .api = {"optimizers.natural_exp_decay"},
                 .formula = NaturalExponential});
  functions.Add({.signature = kDecay,
                 .doc = "learning_rate / (1 + decay_rate · step / decay_steps); with staircase the "
                        "quotient is rounded down.",
                 .api = {"optimizers.inverse_time_decay"},
                 .formula = InverseTime});
  functions.Add({.signature = "(learning_rate: T, step: tensor, decay_steps: T, "
                              "end_learning_rate: T = 0.0001, power: T = 1.0, cycle: bool = false)",
                 .doc = "(learning_rate - end) · (1 - step / decay_steps)^power + end, and end "
                        "after decay_steps; with `cycle`, over and over.",
                 .api = {"optimizers.polynomial_decay"},
                 .formula = Polynomial});
  functions.Add({.signature = "(learning_rate: T, step: tensor, decay_steps: T, "
                              "alpha: float = 0.0)",
                 .doc =
                     "learning_rate · ((1 - alpha) (1 + cos(π step / decay_steps)) / 2 + alpha); "
                     "learning_rate · alpha after decay_steps. Source: Loshchilov and Hutter, "
                     "SGDR (2016).",
                 .api = {"optimizers.cosine_decay"},
                 .formula = Cosine});
}

}  // namespace gyre
