// Variances, norms and other numbers that sum up tensors along axes.
#include "absl/strings/str_cat.h"
#include "ops/functions/complex_part.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// |x| of a complex number, x of a real one.
Term RealSize(FormulaContext& f, Term x) {
  return IsComplex(x.dtype()) ? formula::ComplexSize(f, x) : x;
}

// Up to the mean of the squares, whose operands these are.
std::vector<Term> Squares(FormulaContext& f) {
  const Term x = f.tensor(0);
  if (!IsFloating(x.dtype()) && !IsComplex(x.dtype())) {
    f.builder().RefuseType(absl::StrCat("reduce_variance needs floating or complex numbers, got ",
                                        DTypeName(x.dtype()), "."));
  }
  const Term distance = x - f.Reduce("Mean", x, 1, true);
  return {f.op("Square", {RealSize(f, distance)})};
}

std::vector<Term> Variance(FormulaContext& f) {
  return {f.LastReduce("Mean", Squares(f)[0], 1, f.plain<bool>(2))};
}

std::vector<Term> Deviation(FormulaContext& f) {
  return {f.Last("Sqrt", {f.Reduce("Mean", Squares(f)[0], 1, f.plain<bool>(2))})};
}

// The largest element is taken out first.
std::vector<Term> LogSumExp(FormulaContext& f) {
  const Term x = f.tensor(0);
  Term top = f.Reduce("Max", x, 1, true);
  const Term finite = f.op("IsFinite", {top});
  top = f.op("StopGradient", {Where(finite, top, ZerosLike(top))});
  const Term powers = f.op("Exp", {x - top});
  const Term result = f.op("Log", {f.Reduce("Sum", powers, 1, true)}) + top;
  const Argument& along = f.argument(1);
  if (f.plain<bool>(2)) return {result};
  if (along.axes) {
    const std::vector<int64_t> axes(along.axes->begin(), along.axes->end());
    return {f.Last("Squeeze", {result}, {{"squeeze_dims", axes}})};
  }
  if (along.tensor.has_value())
    f.builder().RefuseType("reduce_logsumexp needs to know its axes: numbers, not a tensor");
  return {f.Last("Reshape", {result, f.builder().Ints({})})};
}

std::vector<Term> EuclideanNorm(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term square = f.op("Square", {RealSize(f, x)});
  const Term sum = f.Reduce("Sum", square, 1, f.plain<bool>(2));
  return {Cast(f.Last("Sqrt", {sum}), x.dtype())};
}

std::vector<Term> CountNonzero(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term zero = x.dtype() == DType::kString
                        ? f.builder().Constant(Tensor::Scalar(std::string()))
                    : x.dtype() == DType::kBool ? f.builder().Constant(Tensor::Scalar(false))
                                                : f.Zero(x.dtype());
  const Term ones = Cast(f.op("NotEqual", {x, zero}), f.plain<DType>(3));
  return {f.LastReduce("Sum", ones, 1, f.plain<bool>(2))};
}

std::vector<Term> ZeroFraction(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term zeros = Cast(f.op("Equal", {x, f.Zero(x.dtype())}), DType::kFloat);
  return {f.LastReduceAll("Mean", zeros)};
}

// Sums that are more than exp(88) smaller than the largest element (float32) become -inf.
std::vector<Term> CumulativeLogSumExp(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term top = f.op("StopGradient", {f.Reduce("Max", x, 1, true)});
  const Term powers = f.op("Exp", {x - top});
  const Term sums = f.op("Cumsum", {powers, f.Axes(1, x)},
                         {{"exclusive", f.plain<bool>(2)}, {"reverse", f.plain<bool>(3)}});
  return {f.Last("AddV2", {f.op("Log", {sums}), top})};
}

// In float32 for types of 16 bits.
std::vector<Term> Moments(FormulaContext& f) {
  const Term x = f.tensor(0);
  const bool keep = f.plain<bool>(3);
  const bool narrow = x.dtype() == DType::kHalf || x.dtype() == DType::kBfloat16;
  const Term wide = narrow ? Cast(x, DType::kFloat) : x;
  Term mean = f.Reduce("Mean", wide, 1, true);
  // Without a StopGradient, which would leave first derivatives as they are, but not second ones.
  const Term distance = f.op("SquaredDifference", {wide, mean});
  const Term variance = f.Reduce("Mean", distance, 1, keep);
  if (!keep) mean = f.Reduce("Mean", wide, 1, false);
  return {Cast(mean, x.dtype()), Cast(variance, x.dtype())};
}

// Ioffe and Szegedy (2015).
std::vector<Term> BatchNormalization(FormulaContext& f) {
  const Term x = f.tensor(0), mean = f.tensor(1), variance = f.tensor(2);
  Term factor = f.op("Rsqrt", {variance + f.tensor(5)});
  if (f.has(4)) factor = factor * f.tensor(4);
  Term shift = -(mean * factor);
  if (f.has(3)) shift = f.tensor(3) + shift;
  return {f.Last("AddV2", {x * factor, shift})};
}

std::vector<Term> L2Normalize(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term square = f.Reduce("Sum", f.op("Square", {x}), 1, true);
  const Term size = f.op("Maximum", {square, f.tensor(2)});
  return {f.Last("Mul", {x, f.op("Rsqrt", {size})})};
}

}  // namespace

void RegisterStatisticsFunctions(FunctionRegistry& functions) {
  constexpr absl::string_view kReduction =
      "(input_tensor: tensor, axis: axes = none, keepdims: bool = false)";
  functions.Add({.signature = kReduction,
                 .doc = "The mean squared distance from the mean along `axis`; of complex numbers "
                        "real.",
                 .api = {"math.reduce_variance"},
                 .formula = Variance});
  functions.Add({.signature = kReduction,
                 .doc = "The root of the variance along `axis`.",
                 .api = {"math.reduce_std"},
                 .formula = Deviation});
  functions.Add({.signature = kReduction,
                 .doc = "log(Σ exp(x)) along `axis`, without overflow: the largest element is "
                        "taken out first.",
                 .api = {"math.reduce_logsumexp", "reduce_logsumexp"},
                 .formula = LogSumExp});
  functions.Add({.signature = kReduction,
                 .doc = "The root of the sum of squares along `axis`.",
                 .api = {"math.reduce_euclidean_norm"},
                 .formula = EuclideanNorm});
  functions.Add({.signature = "(input: tensor, axis: axes = none, keepdims: bool = false, "
                              "dtype: type = int64)",
                 .doc = "How many elements along `axis` are not zero (strings: not empty).",
                 .api = {"math.count_nonzero"},
                 .formula = CountNonzero});
  functions.Add({.signature = "(value: tensor)",
                 .doc = "The part of the elements that is zero: a float32 scalar.",
                 .api = {"math.zero_fraction", "nn.zero_fraction"},
                 .formula = ZeroFraction});
  functions.Add({.signature = "(x: tensor, axis: axes = 0, exclusive: bool = false, "
                              "reverse: bool = false)",
                 .doc = "log of the running sums of exp(x) along `axis`; the largest element is "
                        "taken out first, so sums that are more than exp(88) smaller than it "
                        "(float32) become -inf.",
                 .api = {"math.cumulative_logsumexp"},
                 .formula = CumulativeLogSumExp});
  functions.Add({.signature = "(x: tensor, axes: axes, shift: tensor? = none, "
                              "keepdims: bool = false) -> mean, variance",
                 .doc = "Mean and variance along axes, computed in float32 for 16-bit types. "
                        "`shift` is not used.",
                 .api = {"nn.moments"},
                 .formula = Moments});
  functions.Add({.signature = "(x: T, mean: T, variance: T, offset: T?, scale: T?, "
                              "variance_epsilon: T)",
                 .doc = "(x - mean) / √(variance + ε) · scale + offset. Source: Ioffe and Szegedy "
                        "(2015).",
                 .api = {"nn.batch_normalization"},
                 .formula = BatchNormalization});
  functions.Add({.signature = "(x: T, axis: axes = none, epsilon: T = 1e-12)",
                 .doc = "x divided by its Euclidean norm along `axis`, whose square is taken as at "
                        "least epsilon.",
                 .api = {"math.l2_normalize", "nn.l2_normalize"},
                 .formula = L2Normalize});
}

}  // namespace gyre
