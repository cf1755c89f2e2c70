// Normalisations. Half precision is widened where ONNX computes in float (stash_type).
#include <algorithm>
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

std::vector<int64_t> AxesFrom(int first, int rank) {
  std::vector<int64_t> axes(std::max(rank - first, 0));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// A vector of one number per channel, to go with [N, C, d…].
Expr PerChannel(NodeContext& c, const Expr& x, int rank) {
  std::vector<int64_t> dims(std::max(rank - 1, 1), 1);
  dims[0] = -1;
  return AsShape(c, x, dims);
}

Expr Rsqrt(NodeContext& c, const Expr& x) { return c.op("Rsqrt", {x}); }

void BatchNormalization(NodeContext& c) {
  const Expr x = c.in(0);
  const int rank = c.Rank(x);
  if (c.failed()) return;
  const double epsilon = c.Float("epsilon", 1e-5f);
  const bool trains = c.opset() >= 14 && c.Int("training_mode", 0) != 0;
  if (!trains && c.num_outputs() > 1) return c.Unsupported("the outputs of its training");
  const Expr wide = Widened(x);
  const auto number = [&](int i) { return Cast(c.in(i), wide.dtype()); };
  Expr mean = number(3), variance = number(4);
  if (trains) {
    std::vector<int64_t> axes = AxesFrom(1, rank);
    if (!axes.empty()) axes[0] = 0;
    mean = Reduced(c, "Mean", wide, axes, false);
    const Expr difference = wide - PerChannel(c, mean, rank);
    variance = Reduced(c, "Mean", difference * difference, axes, false);
  }
  if (c.failed()) return;
  const Expr scale = number(1) * Rsqrt(c, variance + epsilon);
  const Expr y = (wide - PerChannel(c, mean, rank)) * PerChannel(c, scale, rank) +
                 PerChannel(c, number(2), rank);
  c.out(0, Cast(y, x.dtype()));
  if (!trains) return;
  const double momentum = c.Float("momentum", 0.9f);
  const auto running = [&](int i, const Expr& now) {
    const Expr old = c.in(i);
    return Cast(momentum * Cast(old, wide.dtype()) + (1 - momentum) * now, old.dtype());
  };
  if (c.wants(1)) c.out(1, running(3, mean));
  if (c.wants(2)) c.out(2, running(4, variance));
}

// (x - mean) / sqrt(variance + epsilon) over axes.
Expr Normalized(NodeContext& c, const Expr& x, const std::vector<int64_t>& axes, double epsilon) {
  const Expr difference = x - Reduced(c, "Mean", x, axes, true);
  const Expr variance = Reduced(c, "Mean", difference * difference, axes, true);
  return difference * Rsqrt(c, variance + epsilon);
}

void InstanceNormalization(NodeContext& c) {
  const Expr x = c.in(0);
  const int rank = c.Rank(x);
  const Expr y = Normalized(c, x, AxesFrom(2, rank), c.Float("epsilon", 1e-5f));
  c.out(0, y * PerChannel(c, c.in(1), rank) + PerChannel(c, c.in(2), rank));
}

void LayerNormalization(NodeContext& c) {
  const Expr given = c.in(0);
  const int rank = c.Rank(given);
  const int axis = c.Axis(c.Int("axis", -1), std::max(rank, 1));
  if (c.failed()) return;
  const Expr x = Widened(given);
  const std::vector<int64_t> axes = AxesFrom(axis, rank);
  const Expr mean = Reduced(c, "Mean", x, axes, true);
  const Expr difference = x - mean;
  const Expr variance = Reduced(c, "Mean", difference * difference, axes, true);
  const Expr inverse = Rsqrt(c, variance + c.Float("epsilon", 1e-5f));
  Expr y = Cast(difference * inverse, given.dtype()) * c.in(1);
  if (c.has(2)) y = y + c.in(2);
  c.out(0, y);
  c.out(1, mean);
  c.out(2, inverse);
}

void RMSNormalization(NodeContext& c) {
  const Expr given = c.in(0), scale = c.in(1);
  const int rank = c.Rank(given);
  const int axis = c.Axis(c.Int("axis", -1), std::max(rank, 1));
  if (c.failed()) return;
  const Expr x = Widened(given);
  const Expr square = Reduced(c, "Mean", x * x, AxesFrom(axis, rank), true);
  const Expr y = Cast(x * Rsqrt(c, square + c.Float("epsilon", 1e-5f)), scale.dtype());
  c.out(0, y * scale);
}

// Over groups of channels; scale and bias are per group below opset 21, then per channel.
void GroupNormalization(NodeContext& c) {
  const Expr given = c.in(0);
  const int rank = c.Rank(given);
  const int64_t groups = c.Int("num_groups", 0);
  if (c.failed()) return;
  if (groups < 1 || rank < 2) return c.Invalid("it takes [N, C, d…] and a number of groups");
  const Expr x = Widened(given);
  const Expr grouped = c.op("Reshape", {x, Pack(c, {DimOf(c, x, 0), c.i64(groups), c.i64(-1)})});
  Expr y = Normalized(c, grouped, {2}, c.Float("epsilon", 1e-5f));
  const Expr scale = Cast(c.in(1), x.dtype()), bias = Cast(c.in(2), x.dtype());
  if (c.opset() < 21) {
    y = y * AsShape(c, scale, {1, groups, 1}) + AsShape(c, bias, {1, groups, 1});
    return c.out(0, Cast(c.op("Reshape", {y, DimsOf(c, x)}), given.dtype()));
  }
  y = c.op("Reshape", {y, DimsOf(c, x)});
  c.out(0, Cast(y * PerChannel(c, scale, rank) + PerChannel(c, bias, rank), given.dtype()));
}

void LpNormalization(NodeContext& c) {
  const Expr x = c.in(0);
  const int axis = c.Axis(c.Int("axis", -1), std::max(c.Rank(x), 1));
  const int64_t p = c.Int("p", 2);
  if (p != 1 && p != 2) return c.Invalid("p must be 1 or 2");
  if (c.failed()) return;
  const Expr norm = p == 1 ? Reduced(c, "Sum", c.op("Abs", {x}), {axis}, true)
                           : c.op("Sqrt", {Reduced(c, "Sum", x * x, {axis}, true)});
  // Of zeros: zeros.
  const Expr is_zero = c.op("Equal", {norm, c.scalar(x.dtype(), 0)});
  c.out(0, Where(is_zero, c.op("ZerosLike", {x}), x / norm));
}

void MeanVarianceNormalization(NodeContext& c) {
  const Expr x = c.in(0);
  std::vector<int64_t> axes = c.Ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const Expr difference = x - Reduced(c, "Mean", x, axes, true);
  const Expr variance = Reduced(c, "Mean", difference * difference, axes, true);
  c.out(0, difference / (c.op("Sqrt", {variance}) + 1e-9));
}

// Squares summed over `size` channels, more of them behind where size is even.
void LRN(NodeContext& c) {
  const Expr x = c.in(0);
  const int64_t size = c.Int("size", 1);
  const int rank = c.Rank(x);
  if (c.failed()) return;
  if (size < 1 || size > (1 << 20) || rank < 2) return c.Invalid("it takes [N, C, d…] and a size");
  std::vector<int64_t> paddings(2 * rank, 0);
  paddings[2] = (size - 1) / 2;
  paddings[3] = size / 2;
  const Expr padded =
      c.op("PadV2", {x * x, AsShape(c, c.i64s(paddings), {rank, 2}), c.scalar(x.dtype(), 0)});
  const Expr channels = Iota(c, DimOf(c, x, 1)), steps = Iota(c, c.i64(size));
  const Expr windows = Taken(c, padded, Unsqueezed(c, channels, 1) + Unsqueezed(c, steps, 0), 1);
  const Expr sum = Reduced(c, "Sum", windows, {2}, false);
  const double alpha = c.Float("alpha", 1e-4f), beta = c.Float("beta", 0.75f);
  const Expr base = (alpha / static_cast<double>(size)) * sum + c.Float("bias", 1);
  c.out(0, x / c.op("Pow", {base, c.scalar(x.dtype(), beta)}));
}

}  // namespace

void AddNormOps(OpTable& t) {
  t.Add("BatchNormalization", BatchNormalization);
  t.Add("GroupNormalization", GroupNormalization);
  t.Add("InstanceNormalization", InstanceNormalization);
  t.Add("LRN", LRN);
  t.Add("LayerNormalization", LayerNormalization);
  t.Add("LpNormalization", LpNormalization);
  t.Add("MeanVarianceNormalization", MeanVarianceNormalization);
  t.Add("RMSNormalization", RMSNormalization);
}

}  // namespace gyre::onnx
