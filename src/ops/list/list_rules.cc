#include "ops/list/list_rules.h"

#include "ops/array/rule_dims.h"

namespace gyre {

Expr JoinedPieces(GradientContext& g, Expr list, int rows, int lengths) {
  const Expr element = Joined({g.builder().Ints({-1}), RuleDims::OfInput(g, rows).Part(1)});
  return g.op("TensorListConcatV2", {list, element, g.input(lengths)},
              {{"element_dtype", g.input_dtype(rows)}});
}

}  // namespace gyre
