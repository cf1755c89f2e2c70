// Forms and products of matrices and vectors.
#include "ops/functions/families.h"

namespace gyre {
namespace {

// The number of rows (-2) or columns (-1) of matrices.
Term SizeAt(FormulaContext& f, Term shape, int32_t axis) {
  FormulaBuilder& b = f.builder();
  return f.op("StridedSlice", {shape, b.Ints({axis}), b.Ints({0}), b.Ints({1})},
              {{"shrink_axis_mask", int64_t{1}}});
}

Term CountTo(FormulaContext& f, Term limit) {
  return f.op("Range", {f.builder().Int(0), limit, f.builder().Int(1)});
}

// Whether a distance from the diagonal is within a limit, or that is negative.
Term Within(FormulaContext& f, Term distance, Term limit) {
  const Term all = f.op("Less", {limit, f.Zero(limit.dtype())});
  return f.op("LogicalOr", {all, f.op("LessEqual", {distance, limit})});
}

std::vector<Term> BandPart(FormulaContext& f) {
  const Term x = f.tensor(0);
  if (f.shape(x).has_rank()) f.Rank(x, "band_part", "input", 2);
  const Term shape = ShapeOf(x);
  const Term rows = SizeAt(f, shape, -2);
  const Term columns = SizeAt(f, shape, -1);
  const Term row = f.op("ExpandDims", {CountTo(f, rows), f.builder().Int(1)});
  const Term distance = row - CountTo(f, columns);
  const Term below = Within(f, distance, Cast(f.tensor(1), DType::kInt32));
  const Term above = Within(f, -distance, Cast(f.tensor(2), DType::kInt32));
  return {f.Last("SelectV2", {f.op("LogicalAnd", {below, above}), x, ZerosLike(x)})};
}

std::vector<Term> Cross(FormulaContext& f) {
  FormulaBuilder& b = f.builder();
  const auto turned = [&](int i, int32_t by) {
    const Term order = b.Ints({by, (by + 1) % 3, (by + 2) % 3});
    return f.op("GatherV2", {f.tensor(i), order, b.Int(-1)});
  };
  const Term a1 = turned(0, 1), a2 = turned(0, 2), b1 = turned(1, 1), b2 = turned(1, 2);
  const Term forward = a1 * b2;
  return {f.Last("Sub", {forward, a2 * b1})};
}

}  // namespace

void RegisterMatrixFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(input: tensor, num_lower: tensor, num_upper: tensor)",
                 .doc = "Matrices of which only so many diagonals below and above the main one "
                        "stay (-1: all).",
                 .api = {"linalg.band_part"},
                 .formula = BandPart});
  functions.Add({.signature = "(a: T, b: T)",
                 .doc = "The cross product of vectors of length 3 in the last dimension.",
                 .api = {"linalg.cross"},
                 .formula = Cross});
}

}  // namespace gyre
