// Activations and softmax.
#include <cmath>
#include <numbers>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

Expr Max0(NodeContext& c, const Expr& x) { return c.op("Maximum", {x, c.scalar(x.dtype(), 0)}); }

void Softsign(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, x / (c.op("Abs", {x}) + 1.0));
}

void LeakyRelu(NodeContext& c) {
  c.out(0, c.op("LeakyRelu", {c.in(0)}, {{"alpha", c.Float("alpha", 0.01f)}}));
}

// x where it is positive, `negative` elsewhere.
void OutPositiveOr(NodeContext& c, const Expr& x, const Expr& negative) {
  if (c.failed()) return;
  c.out(0, Where(c.op("Greater", {x, c.scalar(x.dtype(), 0)}), x, negative));
}

// Below opset 7 a vector of slopes is one for each channel of [N, C, d…].
void PRelu(NodeContext& c) {
  const Expr x = c.in(0);
  Expr slope = c.in(1);
  if (c.opset() < 7 && c.Dim(slope, 0) != 1) slope = BeginningAt(c, x, slope, 1);
  if (c.failed()) return;
  c.out(0, Where(c.op("Less", {x, c.scalar(x.dtype(), 0)}), slope * x, x));
}

void Elu(NodeContext& c) {
  const Expr x = c.in(0);
  OutPositiveOr(c, x, c.Float("alpha", 1) * c.op("Expm1", {x}));
}

void Celu(NodeContext& c) {
  const Expr x = c.in(0);
  const double alpha = c.Float("alpha", 1);
  OutPositiveOr(c, x, alpha * c.op("Expm1", {x / alpha}));
}

void Selu(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const double alpha = c.Float("alpha", 1.67326319217681884765625f);
  const double gamma = c.Float("gamma", 1.05070102214813232421875f);
  const Expr low = alpha * c.op("Expm1", {x});
  c.out(0, gamma * Where(c.op("Greater", {x, c.scalar(x.dtype(), 0)}), x, low));
}

Expr HardSigmoidOf(NodeContext& c, const Expr& x, double alpha, double beta) {
  const Expr line = alpha * x + beta;
  if (c.failed()) return line;
  return c.op("Minimum", {Max0(c, line), c.scalar(x.dtype(), 1)});
}

void HardSigmoid(NodeContext& c) {
  c.out(0, HardSigmoidOf(c, c.in(0), c.Float("alpha", 0.2f), c.Float("beta", 0.5f)));
}

void HardSwish(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, x * HardSigmoidOf(c, x, 1.0 / 6, 0.5));
}

void Swish(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, x * c.op("Sigmoid", {c.Float("alpha", 1) * x}));
}

void Mish(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, x * c.op("Tanh", {c.op("Softplus", {x})}));
}

void Gelu(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.Text("approximate", "none") == "tanh") {
    const Expr inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x));
    return c.out(0, 0.5 * x * (c.op("Tanh", {inner}) + 1.0));
  }
  c.out(0, 0.5 * x * (c.op("Erf", {std::sqrt(0.5) * x}) + 1.0));
}

void ThresholdedRelu(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const Expr limit = c.scalar(x.dtype(), c.Float("alpha", 1));
  c.out(0, Where(c.op("Greater", {x, limit}), x, c.scalar(x.dtype(), 0)));
}

void Shrink(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const DType dtype = x.dtype();
  const Expr wide = IsFloating(dtype) ? x : Cast(x, DType::kFloat);
  const double lambda = c.Float("lambd", 0.5f), bias = c.Float("bias", 0);
  const Expr zero = c.scalar(wide.dtype(), 0);
  const Expr upper =
      Where(c.op("Greater", {wide, c.scalar(wide.dtype(), lambda)}), wide - bias, zero);
  c.out(0, Cast(Where(c.op("Less", {wide, c.scalar(wide.dtype(), -lambda)}), wide + bias, upper),
                dtype));
}

// Along one axis from opset 13 on; below, over all axes from `axis` on, which then are one.
using OverLast = Expr (*)(NodeContext&, const Expr&);
void AlongAxis(NodeContext& c, OverLast over_last) {
  const Expr x = c.in(0);
  const int rank = c.Rank(x);
  const int axis = c.Axis(c.Int("axis", c.opset() >= 13 ? -1 : 1), std::max(rank, 1));
  if (c.failed()) return;
  if (c.opset() < 13) {
    const Expr flat = c.op("Reshape", {x, FlatDims(c, x, axis)});
    return c.out(0, c.op("Reshape", {over_last(c, flat), DimsOf(c, x)}));
  }
  const std::vector<int64_t> swap = SwapPermutation(rank, axis, rank - 1);
  c.out(0, Transposed(c, over_last(c, Transposed(c, x, swap)), swap));
}

void Softmax(NodeContext& c) {
  AlongAxis(c, [](NodeContext& n, const Expr& x) { return n.op("Softmax", {x}); });
}

void LogSoftmax(NodeContext& c) {
  AlongAxis(c, [](NodeContext& n, const Expr& x) { return n.op("LogSoftmax", {x}); });
}

// One where the (first) largest is.
void Hardmax(NodeContext& c) {
  AlongAxis(c, [](NodeContext& n, const Expr& x) {
    if (n.failed()) return x;
    const Expr largest = n.op("ArgMax", {x, n.b().Int(-1)}, {{"output_type", DType::kInt64}});
    const Expr dims = DimsOf(n, x);
    const Expr depth =
        Cast(n.op("GatherV2", {dims, n.b().Int(-1 + n.Rank(x)), n.b().Int(0)}), DType::kInt32);
    return n.op("OneHot", {largest, depth, n.scalar(x.dtype(), 1), n.scalar(x.dtype(), 0)});
  });
}

}  // namespace

void AddActivationOps(OpTable& t) {
  t.Add("Celu", Celu);
  t.Add("Elu", Elu);
  t.Add("Gelu", Gelu);
  t.Add("HardSigmoid", HardSigmoid);
  t.Add("HardSwish", HardSwish);
  t.Add("Hardmax", Hardmax);
  t.Add("LeakyRelu", LeakyRelu);
  t.Add("LogSoftmax", LogSoftmax);
  t.Add("Mish", Mish);
  t.Add("PRelu", PRelu);
  t.Add("Selu", Selu);
  t.Add("Shrink", Shrink);
  t.Add("Softmax", Softmax);
  t.Add("Softsign", Softsign);
  t.Add("Swish", Swish);
  t.Add("ThresholdedRelu", ThresholdedRelu);
}

}  // namespace gyre::onnx
