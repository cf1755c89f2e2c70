#include "ops/linalg/product_gradient.h"

namespace gyre {

TurnedProduct FactorGradient(int i, Expr grad, Expr other, bool turn_left, bool turn_right) {
  if (i == 0) {
    if (turn_left) return {other, turn_right, grad, true};
    return {grad, false, other, !turn_right};
  }
  if (turn_right) return {grad, true, other, turn_left};
  return {other, !turn_left, grad, false};
}

}  // namespace gyre
