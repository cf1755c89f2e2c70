// Losses: from labels and predictions to a number for each example, then their mean, their sum, or
// these themselves.
#include "absl/strings/str_cat.h"
#include "ops/functions/cross_entropy.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// Values, weighted by argument `weight`, reduced as the argument behind it says.
std::vector<Term> Reduced(FormulaContext& f, Term values, int weight) {
  const std::string& reduction = f.plain<std::string>(weight + 1);
  if (reduction != "mean" && reduction != "sum" && reduction != "none") {
    f.builder().RefuseValue(
        absl::StrCat("reduction must be \"mean\", \"sum\" or \"none\", got '", reduction, "'."));
  }
  if (f.has(weight)) values = values * f.tensor(weight);
  if (reduction == "none") return {values};
  return {f.LastReduceAll(reduction == "sum" ? "Sum" : "Mean", values)};
}

Term MeanOfLast(FormulaContext& f, Term values) {
  return f.op("Mean", {values, f.builder().Int(-1)}, {{"keep_dims", false}});
}

std::vector<Term> MeanSquaredError(FormulaContext& f) {
  const Term square = f.op("SquaredDifference", {f.tensor(1), f.tensor(0)});
  return Reduced(f, MeanOfLast(f, square), 2);
}

Term Distance(FormulaContext& f) { return f.op("Abs", {f.tensor(1) - f.tensor(0)}); }

std::vector<Term> MeanAbsoluteError(FormulaContext& f) {
  return Reduced(f, MeanOfLast(f, Distance(f)), 2);
}

std::vector<Term> Huber(FormulaContext& f) {
  const double delta = f.plain<double>(2);
  const Term size = Distance(f);
  const Term inner = f.op("Square", {size}) * 0.5;
  const Term outer = (size - 0.5 * delta) * delta;
  const Term small = f.op("LessEqual", {size, f.Number(size.dtype(), delta)});
  return Reduced(f, MeanOfLast(f, Where(small, inner, outer)), 3);
}

std::vector<Term> Categorical(FormulaContext& f) {
  return Reduced(f, formula::SoftmaxCrossEntropy(f, f.tensor(0), f.tensor(1)), 2);
}

std::vector<Term> SparseCategorical(FormulaContext& f) {
  return Reduced(f, formula::SparseSoftmaxCrossEntropy(f, f.tensor(0), f.tensor(1)), 2);
}

std::vector<Term> Binary(FormulaContext& f) {
  return Reduced(f, MeanOfLast(f, formula::SigmoidCrossEntropy(f, f.tensor(0), f.tensor(1))), 2);
}

}  // namespace

void RegisterLossFunctions(FunctionRegistry& functions) {
  constexpr absl::string_view kLoss =
      "(y_true: T, y_pred: T, sample_weight: T? = none, reduction: string = mean)";
  functions.Add({.signature = kLoss,
                 .doc = "The mean of (y_true - y_pred)² along the last dimension.",
                 .api = {"nn.losses.mean_squared_error"},
                 .formula = MeanSquaredError});
  functions.Add({.signature = kLoss,
                 .doc = "The mean of |y_true - y_pred| along the last dimension.",
                 .api = {"nn.losses.mean_absolute_error"},
                 .formula = MeanAbsoluteError});
  functions.Add({.signature =
                     "(y_true: T, y_pred: T, delta: float = 1.0, sample_weight: T? = none, "
                     "reduction: string = mean)",
                 .doc = "e²/2 where |e| <= delta, delta (|e| - delta/2) elsewhere; the mean along "
                        "the last dimension. Source: Huber, Robust estimation of a location "
                        "parameter (1964).",
                 .api = {"nn.losses.huber"},
                 .formula = Huber});
  functions.Add({.signature = kLoss,
                 .doc = "Between distributions y_true and logits y_pred, [..., classes].",
                 .api = {"nn.losses.categorical_crossentropy"},
                 .formula = Categorical});
  functions.Add({.signature = "(y_true: tensor, y_pred: T, sample_weight: T? = none, "
                              "reduction: string = mean)",
                 .doc = "Between classes y_true, [...], and logits y_pred, [..., classes].",
                 .api = {"nn.losses.sparse_categorical_crossentropy"},
                 .formula = SparseCategorical});
  functions.Add({.signature = kLoss,
                 .doc = "Between probabilities y_true and logits y_pred; the mean along the last "
                        "dimension.",
                 .api = {"nn.losses.binary_crossentropy"},
                 .formula = Binary});
}

}  // namespace gyre
