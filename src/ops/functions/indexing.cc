// Reading and writing by index, and searching for it.
#include "absl/strings/str_cat.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// Index vectors with their own position along `axis` in front.
Term WithPositions(FormulaContext& f, Term indices, int axis) {
  FormulaBuilder& b = f.builder();
  const int last = f.Rank(indices, "gather_nd", "indices", 1) - 1;
  const Term shape = ShapeOf(indices);
  const Term outer = f.op("StridedSlice", {shape, b.Ints({0}), b.Ints({last}), b.Ints({1})});
  const Term length = f.op("GatherV2", {shape, b.Int(axis), b.Int(0)});
  const Term steps = f.op("Range", {b.Int(0), length, b.Int(1)});
  std::vector<int32_t> column(last + 1, 1);
  column[axis] = -1;
  const Term places = Cast(Reshape(steps, b.Ints(column)), indices.dtype());
  const Term one = f.op("ConcatV2", {outer, b.Ints({1}), b.Int(0)});
  return f.op("ConcatV2", {f.op("BroadcastTo", {places, one}), indices, b.Int(-1)});
}

std::vector<Term> GatherNd(FormulaContext& f) {
  Term indices = f.tensor(1);
  for (int64_t axis = f.plain<int64_t>(2); axis-- > 0;)
    indices = WithPositions(f, indices, static_cast<int>(axis));
  return {f.Last("GatherNd", {f.tensor(0), indices})};
}

std::vector<Term> ScatterNd(FormulaContext& f) {
  const Term indices = f.tensor(0);
  return {f.Last("ScatterNd", {indices, f.tensor(1), f.Sizes(2, indices.dtype())})};
}

std::vector<Term> SearchSorted(FormulaContext& f) {
  FormulaBuilder& b = f.builder();
  const std::string& side = f.plain<std::string>(2);
  if (side != "left" && side != "right")
    b.RefuseValue(absl::StrCat("side must be \"left\" or \"right\", got '", side, "'."));
  const auto as_rows = [&](Term x) {
    const Term width = f.op("StridedSlice", {ShapeOf(x), b.Ints({-1}), b.Ints({0}), b.Ints({1})},
                            {{"end_mask", int64_t{1}}});
    return Reshape(x, f.op("ConcatV2", {b.Ints({-1}), width, b.Int(0)}));
  };
  const Term rows = as_rows(f.tensor(0));
  const Term places = f.op(side == "left" ? "LowerBound" : "UpperBound",
                           {rows, as_rows(f.tensor(1))}, {{"out_type", f.plain<DType>(3)}});
  return {f.Last("Reshape", {places, ShapeOf(f.tensor(1))})};
}

}  // namespace

void RegisterIndexingFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(params: tensor, indices: tensor, batch_dims: int = 0)",
                 .doc = "Slices of `params` by index vectors (the last dimension of `indices`) "
                        "over its leading dimensions. Batch dimensions are put in front of the "
                        "vectors.",
                 .api = {"gather_nd"},
                 .formula = GatherNd});
  functions.Add({.signature = "(indices: tensor, updates: tensor, shape: shape)",
                 .doc = "Zeros of a shape with slices added at index vectors; equal ones add up.",
                 .api = {"scatter_nd"},
                 .formula = ScatterNd});
  const std::pair<absl::string_view, absl::string_view> kScatters[] = {
      {"tensor_scatter_nd_update", "TensorScatterUpdate"},
      {"tensor_scatter_nd_add", "TensorScatterAdd"},
      {"tensor_scatter_nd_sub", "TensorScatterSub"},
      {"tensor_scatter_nd_max", "TensorScatterMax"},
      {"tensor_scatter_nd_min", "TensorScatterMin"}};
  for (const auto& [name, op] : kScatters) {
    functions.Add(
        {.signature = "(tensor: T, indices: tensor, updates: T)", .api = {name}, .op = op});
  }
  functions.Add({.signature = "(sorted_sequence: T, values: T, side: string = left, "
                              "out_type: type = int32)",
                 .doc = "Where values would have to go to keep rows sorted: sorted_sequence [..., "
                        "n], values [..., m]. Behind what is less (\"left\"), or less or equal "
                        "(\"right\").",
                 .api = {"searchsorted"},
                 .formula = SearchSorted});
}

}  // namespace gyre
