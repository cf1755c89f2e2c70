#include "grad/slices.h"

namespace gyre::grad {

Expr MakeDense(const Slices& slices, Expr dims) {
  ExprBuilder& b = dims.builder();
  const Expr rows = b.Op("GatherV2", {dims, b.Int(0), b.Int(0)});
  return b.Op("UnsortedSegmentSum", {slices.values, slices.indices, rows});
}

Slices NoSlices(Expr dims, DType values, DType indices) {
  ExprBuilder& b = dims.builder();
  const Expr row = b.Op("Slice", {dims, b.Ints({1}), b.Ints({-1})});
  const Expr shape = b.Op("ConcatV2", {b.Ints({0}), row, b.Int(0)});
  return {Fill(shape, b.Scalar(values, 0)), Fill(b.Ints({0}), b.Scalar(indices, 0))};
}

}  // namespace gyre::grad
