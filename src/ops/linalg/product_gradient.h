// The gradient of a product of matrices, either of which may be turned (transposed or adjoint), by
// a factor: it is a product of the same kind.
//
// Pure functions; any thread.
#pragma once

#include "ir/gradient_context.h"

namespace gyre {

struct TurnedProduct {
  Expr left;
  bool turn_left;
  Expr right;
  bool turn_right;
};

// By factor i, 0 (the left one) or 1, of a product with these turns. `other` is the other factor.
inline TurnedProduct FactorGradient(int i, Expr grad, Expr other, bool turn_left, bool turn_right) {
  if (i == 0) {
    if (turn_left) return {other, turn_right, grad, true};
    return {grad, false, other, !turn_right};
  }
  if (turn_right) return {grad, true, other, turn_left};
  return {other, !turn_left, grad, false};
}

}  // namespace gyre
