// Comparisons, logic, bits, choices.
#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

template <const char* kOp>
void Binary(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, c.op(kOp, {x, SecondOperand(c, x)}));
}

template <const char* kOp>
void Unary(NodeContext& c) {
  c.out(0, c.op(kOp, {c.in(0)}));
}

constexpr char kAnd[] = "LogicalAnd", kOr[] = "LogicalOr", kNot[] = "LogicalNot",
               kXor[] = "NotEqual", kEqual[] = "Equal", kGreater[] = "Greater",
               kGreaterEqual[] = "GreaterEqual", kLess[] = "Less", kLessEqual[] = "LessEqual",
               kBitwiseAnd[] = "BitwiseAnd", kBitwiseOr[] = "BitwiseOr",
               kBitwiseXor[] = "BitwiseXor", kInvert[] = "Invert";

void WhereOp(NodeContext& c) { c.out(0, c.op("SelectV2", {c.in(0), c.in(1), c.in(2)})); }

}  // namespace

void AddLogicOps(OpTable& t) {
  t.Add("And", Binary<kAnd>);
  t.Add("BitwiseAnd", Binary<kBitwiseAnd>);
  t.Add("BitwiseNot", Unary<kInvert>);
  t.Add("BitwiseOr", Binary<kBitwiseOr>);
  t.Add("BitwiseXor", Binary<kBitwiseXor>);
  t.Add("Equal", Binary<kEqual>);
  t.Add("Greater", Binary<kGreater>);
  t.Add("GreaterOrEqual", Binary<kGreaterEqual>);
  t.Add("Less", Binary<kLess>);
  t.Add("LessOrEqual", Binary<kLessEqual>);
  t.Add("Not", Unary<kNot>);
  t.Add("Or", Binary<kOr>);
  t.Add("Where", WhereOp);
  t.Add("Xor", Binary<kXor>);
}

}  // namespace gyre::onnx
