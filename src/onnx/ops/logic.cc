// Choices, and what logic pairs.cc has not.
#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

void Xor(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, c.op("NotEqual", {x, SecondOperand(c, x)}));
}

void WhereOp(NodeContext& c) { c.out(0, c.op("SelectV2", {c.in(0), c.in(1), c.in(2)})); }

}  // namespace

void AddLogicOps(OpTable& t) {
  t.Add("Where", WhereOp);
  t.Add("Xor", Xor);
}

}  // namespace gyre::onnx
