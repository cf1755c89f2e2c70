// Arithmetic that pairs.cc has not, casts. They broadcast as numpy does.
#include <cmath>
#include <limits>
#include <numbers>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

void IdentityOp(NodeContext& c) {
  const Value x = c.value(0);
  c.out(0, Value{c.op("Identity", {x.expr}), x.type});
}

// Of integers, rounded towards zero; by zero it is an error.
void Div(NodeContext& c) {
  const bool is_integer = IsInteger(c.dtype(0));
  const Expr x = c.in(0);
  c.out(0, c.op(is_integer ? "TruncateDiv" : "RealDiv", {x, SecondOperand(c, x)}));
}

// With fmod = 0 the sign is the divisor's, otherwise the dividend's.
void Mod(NodeContext& c) {
  const DType dtype = c.dtype(0);
  const bool is_floating = IsFloating(dtype);
  if (is_floating && c.Int("fmod", 0) == 0) return c.Invalid("floating Mod needs fmod = 1");
  // Kernels take the wider types.
  const DType wide = DTypeSize(dtype) >= 4 ? dtype : is_floating ? DType::kFloat : DType::kInt64;
  const Expr x = Cast(c.in(0), wide), y = Cast(c.in(1), wide);
  c.out(0, Cast(c.op(c.Int("fmod", 0) != 0 ? "TruncateMod" : "FloorMod", {x, y}), dtype));
}

// The exponent may be of another type: the result has that of the base.
void Pow(NodeContext& c) {
  const Expr x = c.in(0), y = SecondOperand(c, x);
  if (c.failed()) return;
  if (x.dtype() == y.dtype() && IsFloating(x.dtype())) return c.out(0, c.op("Pow", {x, y}));
  const bool is_whole = IsInteger(x.dtype()) && IsInteger(y.dtype());
  const DType type = is_whole                                              ? DType::kInt64
                     : x.dtype() == DType::kFloat && !IsInteger(y.dtype()) ? DType::kFloat
                                                                           : DType::kDouble;
  c.out(0, Cast(c.op("Pow", {Cast(x, type), Cast(y, type)}), x.dtype()));
}

void Reciprocal(NodeContext& c) { c.out(0, 1.0 / c.in(0)); }

template <const char* kOp>
void Variadic(NodeContext& c) {
  const std::vector<Expr> inputs = c.ins();
  Expr result = inputs.empty() ? c.in(0) : inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) result = c.op(kOp, {result, inputs[i]});
  c.out(0, inputs.size() == 1 ? c.op("Identity", {result}) : result);
}
constexpr char kAddV2[] = "AddV2", kMaximum[] = "Maximum", kMinimum[] = "Minimum";

void MeanOp(NodeContext& c) {
  const std::vector<Expr> inputs = c.ins();
  Expr result = inputs.empty() ? c.in(0) : inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) result = result + inputs[i];
  c.out(0, result / static_cast<double>(inputs.size()));
}

// Bounds are attributes below opset 11; where the lower is above the upper, the upper wins.
void Clip(NodeContext& c) {
  Expr x = c.in(0);
  if (c.failed()) return;
  const auto bound = [&](int i, absl::string_view name, const char* op) {
    if (c.opset() >= 11) {
      if (c.has(i)) x = c.op(op, {x, c.in(i)});
    } else if (c.HasAttr(name)) {
      x = c.op(op, {x, c.scalar(x.dtype(), c.Float(name, 0))});
    }
  };
  bound(1, "min", "Maximum");
  bound(2, "max", "Minimum");
  c.out(0, c.op("Identity", {x}));
}

void IsInf(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  Expr result = c.op("IsInf", {x});
  if (c.Int("detect_positive", 1) == 0)
    result = c.op("LogicalAnd", {result, c.op("Less", {x, c.scalar(x.dtype(), 0)})});
  if (c.Int("detect_negative", 1) == 0)
    result = c.op("LogicalAnd", {result, c.op("Greater", {x, c.scalar(x.dtype(), 0)})});
  c.out(0, result);
}

void CastOp(NodeContext& c) {
  const Value x = c.value(0);
  if (!c.failed()) c.out(0, ToElem(c, x, c.Int32("to", 0)));
}

void CastLike(NodeContext& c) {
  const Value x = c.value(0), like = c.value(1);
  if (!c.failed()) c.out(0, ToElem(c, x, like.type.elem_type));
}

void BitShift(NodeContext& c) {
  const std::string direction = c.Text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return c.Invalid("the direction must be LEFT or RIGHT");
  c.out(0, c.op(direction == "LEFT" ? "LeftShift" : "RightShift", {c.in(0), c.in(1)}));
}

}  // namespace

void AddMathOps(OpTable& t) {
  t.Add("BitShift", BitShift);
  t.Add("Cast", CastOp);
  t.Add("CastLike", CastLike);
  t.Add("Clip", Clip);
  t.Add("Div", Div);
  t.Add("Identity", IdentityOp);
  t.Add("IsInf", IsInf);
  t.Add("Max", Variadic<kMaximum>);
  t.Add("Mean", MeanOp);
  t.Add("Min", Variadic<kMinimum>);
  t.Add("Mod", Mod);
  t.Add("Pow", Pow);
  t.Add("Reciprocal", Reciprocal);
  t.Add("Sum", Variadic<kAddV2>);
}

}  // namespace gyre::onnx
