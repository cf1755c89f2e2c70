#include "ops/list/list_rules.h"

#include "ops/array/rule_dims.h"

namespace gyre {

Expr WithElement(GradientContext& g, Expr list, Expr index, int value) {
  if (g.input_dtype(value) != DType::kVariant) return list;
  return g.op("_TensorListAddAt", {list, index, g.zero(value)});
}

Expr ResizedLike(GradientContext& g, Expr list, int like) {
  return g.op("TensorListResize", {list, g.op("TensorListLength", {g.zero(like)})});
}

void AddElementsOrZeros(GradientContext& g, int values, int indices) {
  if (!g.wants(values)) return;
  const Expr at = g.input(indices);
  g.Add(values, g.op("_TensorListItemsOrZeros",
                     {WithElement(g, g.grad(), at, values), at, g.input_dims(values)},
                     {{"T", g.input_dtype(values)}}));
}

Expr JoinedPieces(GradientContext& g, Expr list, int rows, int lengths) {
  const Expr element = Joined({g.builder().Ints({-1}), RuleDims::OfInput(g, rows).Part(1)});
  return g.op("TensorListConcatV2", {list, element, g.input(lengths)},
              {{"element_dtype", g.input_dtype(rows)}});
}

}  // namespace gyre
