#include "onnx/ops/pairs.h"

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

using enum PairTypes;

constexpr Pair kPairs[] = {
    {"Abs", "Abs", 1, kNumbers},
    {"Acos", "Acos", 1, kFloats},
    {"Acosh", "Acosh", 1, kFloats},
    {"Add", "AddV2", 2, kNumbers},
    {"And", "LogicalAnd", 2, kBool},
    {"Asin", "Asin", 1, kFloats},
    {"Asinh", "Asinh", 1, kFloats},
    {"Atan", "Atan", 1, kFloats},
    {"Atanh", "Atanh", 1, kFloats},
    {"BitwiseAnd", "BitwiseAnd", 2, kIntegers},
    {"BitwiseNot", "Invert", 1, kIntegers},
    {"BitwiseOr", "BitwiseOr", 2, kIntegers},
    {"BitwiseXor", "BitwiseXor", 2, kIntegers},
    {"Ceil", "Ceil", 1, kFloats},
    {"Cos", "Cos", 1, kFloats},
    {"Cosh", "Cosh", 1, kFloats},
    {"Det", "MatrixDeterminant", 1, kFloats},
    {"Equal", "Equal", 2, kAny},
    {"Erf", "Erf", 1, kFloats},
    {"Exp", "Exp", 1, kFloats},
    {"Floor", "Floor", 1, kFloats},
    {"Greater", "Greater", 2, kOrdered},
    {"GreaterOrEqual", "GreaterEqual", 2, kOrdered},
    {"IsNaN", "IsNan", 1, kFloats},
    {"Less", "Less", 2, kOrdered},
    {"LessOrEqual", "LessEqual", 2, kOrdered},
    {"Log", "Log", 1, kFloats},
    {"Mul", "Mul", 2, kNumbers},
    {"Neg", "Neg", 1, kNumbers},
    {"Not", "LogicalNot", 1, kBool},
    {"Or", "LogicalOr", 2, kBool},
    {"Relu", "Relu", 1, kNumbers},
    {"Round", "Rint", 1, kFloats},
    {"Sigmoid", "Sigmoid", 1, kFloats},
    {"Sign", "Sign", 1, kNumbers},
    {"Sin", "Sin", 1, kFloats},
    {"Sinh", "Sinh", 1, kFloats},
    {"Softplus", "Softplus", 1, kFloats},
    {"Sqrt", "Sqrt", 1, kFloats},
    {"Sub", "Sub", 2, kNumbers},
    {"Tan", "Tan", 1, kFloats},
    {"Tanh", "Tanh", 1, kFloats},
};

void ReadPair(NodeContext& c) {
  const Pair& pair = *PairOfOnnx(c.node().op_type());
  const Expr x = c.in(0);
  if (pair.operands == 1) return c.out(0, c.op(pair.gyre, {x}));
  c.out(0, c.op(pair.gyre, {x, SecondOperand(c, x)}));
}

}  // namespace

absl::Span<const Pair> Pairs() { return kPairs; }

const Pair* PairOfOnnx(absl::string_view op) {
  for (const Pair& pair : kPairs) {
    if (pair.onnx == op) return &pair;
  }
  return nullptr;
}

const Pair* PairOfGyre(absl::string_view op) {
  for (const Pair& pair : kPairs) {
    if (pair.gyre == op) return &pair;
  }
  return nullptr;
}

void AddPairOps(OpTable& t) {
  for (const Pair& pair : kPairs) t.Add(pair.onnx, ReadPair);
}

}  // namespace gyre::onnx
