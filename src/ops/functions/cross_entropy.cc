// Cross entropies and other losses of logits, as functions of each example.
#include "ops/functions/cross_entropy.h"

#include "ops/functions/families.h"

namespace gyre {
namespace formula {

Term SoftmaxCrossEntropy(FormulaContext& f, Term labels, Term logits) {
  const PartialShape known = f.shape(logits);
  if (known.has_rank() && known.rank() == 2 && f.shape(labels) == known)
    return f.Last("SoftmaxCrossEntropyWithLogits", {logits, labels});
  const Term terms = labels * f.op("LogSoftmax", {logits});
  return f.Last("Neg", {f.op("Sum", {terms, f.builder().Int(-1)}, {{"keep_dims", false}})});
}

Term SparseSoftmaxCrossEntropy(FormulaContext& f, Term labels, Term logits) {
  const PartialShape known = f.shape(logits);
  constexpr absl::string_view kOp = "SparseSoftmaxCrossEntropyWithLogits";
  if (known.has_rank() && known.rank() == 2) return f.Last(kOp, {logits, labels});
  FormulaBuilder& b = f.builder();
  const Term classes =
      f.op("StridedSlice", {ShapeOf(logits), b.Ints({-1}), b.Ints({0}), b.Ints({1})},
           {{"end_mask", int64_t{1}}});
  const Term flat = Reshape(logits, f.op("ConcatV2", {b.Ints({-1}), classes, b.Int(0)}));
  const Term loss = f.op(kOp, {flat, Reshape(labels, b.Ints({-1}))});
  return f.Last("Reshape", {loss, ShapeOf(labels)});
}

// Not Relu and Abs, whose derivatives at 0 do not add up to that of the whole.
Term SigmoidCrossEntropy(FormulaContext& f, Term labels, Term logits) {
  const Term above = f.op("GreaterEqual", {logits, f.Zero(logits.dtype())});
  const Term positive = Where(above, logits, ZerosLike(logits));
  const Term negative = Where(above, -logits, logits);
  const Term linear = positive - logits * labels;
  return f.Last("AddV2", {linear, f.op("Softplus", {negative})});
}

}  // namespace formula

namespace {

std::vector<Term> Softmax(FormulaContext& f) {
  Term labels = f.tensor(0), logits = f.tensor(1);
  constexpr absl::string_view kName = "softmax_cross_entropy_with_logits";
  const int64_t axis = f.plain<int64_t>(2);
  if (axis != -1 && axis != f.Rank(logits, kName, "logits", 1) - 1) {
    const std::vector<int32_t> swapped = f.SwapWithLast(logits, axis, kName, "logits");
    labels = f.op("Transpose", {labels, f.builder().Ints(swapped)});
    logits = f.op("Transpose", {logits, f.builder().Ints(swapped)});
  }
  return {formula::SoftmaxCrossEntropy(f, labels, logits)};
}

std::vector<Term> Sparse(FormulaContext& f) {
  return {formula::SparseSoftmaxCrossEntropy(f, f.tensor(0), f.tensor(1))};
}

std::vector<Term> Sigmoid(FormulaContext& f) {
  return {formula::SigmoidCrossEntropy(f, f.tensor(0), f.tensor(1))};
}

std::vector<Term> Weighted(FormulaContext& f) {
  const Term labels = f.tensor(0), logits = f.tensor(1);
  const Term weight = labels * (f.tensor(2) - f.One(logits.dtype())) + 1;
  const Term softplus = f.op("Softplus", {-logits});
  const Term linear = (f.One(logits.dtype()) - labels) * logits;
  return {f.Last("AddV2", {linear, weight * softplus})};
}

// With compute_full_loss, Stirling's z log z - z + log(2π z) / 2 is added where z > 1.
std::vector<Term> LogPoisson(FormulaContext& f) {
  const Term targets = f.tensor(0), c = f.tensor(1);
  const Term powers = f.op("Exp", {c});
  const Term loss = powers - c * targets;
  if (!f.plain<bool>(2)) return {loss};
  const Term safe = f.op("Maximum", {targets, f.One(targets.dtype())});
  const Term log = f.op("Log", {safe});
  const Term whole = safe * log - safe;
  const Term stirling = whole + (log + 1.8378770664093453) * 0.5;
  const Term counted = f.op("Greater", {targets, f.One(targets.dtype())});
  const Term added = Where(counted, stirling, ZerosLike(stirling));
  return {f.Last("AddV2", {loss, added})};
}

}  // namespace

void RegisterCrossEntropyFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(labels: T, logits: T, axis: int = -1)",
                 .doc = "-Σ labels · log softmax(logits) along `axis`, for each of the other "
                        "dimensions.",
                 .api = {"nn.softmax_cross_entropy_with_logits"},
                 .formula = Softmax});
  functions.Add({.signature = "(labels: tensor, logits: tensor)",
                 .doc = "-log softmax(logits)[label]: labels [...] of classes, logits [..., "
                        "classes].",
                 .api = {"nn.sparse_softmax_cross_entropy_with_logits"},
                 .formula = Sparse});
  functions.Add({.signature = "(labels: T, logits: T)",
                 .doc = "-z log σ(x) - (1 - z) log(1 - σ(x)) as max(x, 0) - x z + log(1 + "
                        "exp(-|x|)), which does not overflow; labels z, logits x. Its derivative "
                        "is σ(x) - z everywhere.",
                 .api = {"nn.sigmoid_cross_entropy_with_logits"},
                 .formula = Sigmoid});
  functions.Add({.signature = "(labels: T, logits: T, pos_weight: T)",
                 .doc = "As sigmoid_cross_entropy_with_logits, with positive labels counted "
                        "pos_weight times.",
                 .api = {"nn.weighted_cross_entropy_with_logits"},
                 .formula = Weighted});
  functions.Add({.signature = "(targets: T, log_input: T, compute_full_loss: bool = false)",
                 .doc = "exp(c) - z c, for the logarithm c of the expectation; with "
                        "compute_full_loss Stirling's z log z - z + log(2π z) / 2 where z > 1 is "
                        "added.",
                 .api = {"nn.log_poisson_loss"},
                 .formula = LogPoisson});
}

}  // namespace gyre
