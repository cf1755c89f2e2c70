// Tensors of one number, and of two.
#include "ops/functions/families.h"

namespace gyre {
namespace {

// A scalar 0 or 1 of any type: "" is the zero of text.
Term NumberOf(FormulaContext& f, DType dtype, bool is_one) {
  if (dtype == DType::kString && !is_one)
    return f.builder().Constant(Tensor::Scalar(std::string()));
  if (dtype == DType::kBool) return f.builder().Constant(Tensor::Scalar(is_one));
  return f.Number(dtype, is_one ? 1 : 0);
}

FormulaFn Filled(bool is_one) {
  return [is_one](FormulaContext& f) -> std::vector<Term> {
    return {f.Last("Fill", {f.tensor(0), NumberOf(f, f.plain<DType>(1), is_one)})};
  };
}

FormulaFn FilledLike(bool is_one) {
  return [is_one](FormulaContext& f) -> std::vector<Term> {
    const Term x = f.tensor(0);
    const DType dtype = f.is_given(1) ? f.plain<DType>(1) : x.dtype();
    if (dtype == x.dtype()) return {f.Last(is_one ? "OnesLike" : "ZerosLike", {x})};
    return {f.Last("Fill", {ShapeOf(x), NumberOf(f, dtype, is_one)})};
  };
}

std::vector<Term> SequenceMask(FormulaContext& f) {
  FormulaBuilder& b = f.builder();
  const Term lengths = f.tensor(0), zero = f.Zero(lengths.dtype());
  Term most = f.tensor(1);
  if (!most.has_value()) {
    const Term flat = Reshape(lengths, b.Ints({-1}));
    const Term none = f.op("Fill", {b.Ints({1}), zero});
    most = f.op("Max", {f.op("ConcatV2", {flat, none, b.Int(0)}), b.Int(0)});
  }
  const Term limit = Cast(most, lengths.dtype());
  const Term steps = f.op("Range", {zero, limit, f.One(lengths.dtype())});
  const Term mask = f.Last("Less", {steps, f.op("ExpandDims", {lengths, b.Int(-1)})});
  return {Cast(mask, f.plain<DType>(2))};
}

}  // namespace

void RegisterFilledFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(dims: shape, value: tensor)",
                 .doc = "`value`, a scalar, at all places of a shape.",
                 .api = {"fill"},
                 .op = "Fill"});
  functions.Add({.signature = "(shape: shape, dtype: type = float32)",
                 .doc = "Zeros (empty strings, False) of a shape: a list of ints and scalar "
                        "tensors, or a vector.",
                 .api = {"zeros"},
                 .formula = Filled(false)});
  functions.Add({.signature = "(shape: shape, dtype: type = float32)",
                 .doc = "Ones (True) of a shape: a list of ints and scalar tensors, or a vector.",
                 .api = {"ones"},
                 .formula = Filled(true)});
  functions.Add({.signature = "(input: tensor, dtype: type = none)",
                 .doc = "Zeros in the shape of a tensor, of its dtype or another.",
                 .api = {"zeros_like"},
                 .formula = FilledLike(false)});
  functions.Add({.signature = "(input: tensor, dtype: type = none)",
                 .doc = "Ones in the shape of a tensor, of its dtype or another.",
                 .api = {"ones_like"},
                 .formula = FilledLike(true)});
  functions.Add({.signature = "(lengths: tensor, maxlen: tensor? = none, dtype: type = bool)",
                 .doc = "Whether j < lengths[…]: of shape lengths.shape + [maxlen] (by default "
                        "the longest).",
                 .api = {"sequence_mask"},
                 .formula = SequenceMask});
}

}  // namespace gyre
