// Losses of classes: [N, C, d…] beside targets [N, d…].
#include <algorithm>
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

// The weighted mean, sum or all of -log_probability[target]; targets to be ignored count nothing.
Expr LikelihoodLoss(NodeContext& c, const Expr& log_probability) {
  Expr target = Cast(c.in(1), DType::kInt64);
  const DType dtype = log_probability.dtype();
  if (c.failed()) return log_probability;
  const bool ignores = c.HasAttr("ignore_index");
  const Expr ignored = c.op("Equal", {target, c.i64(c.Int("ignore_index", -1))});
  if (ignores) target = Where(ignored, c.i64(0), target);
  const Expr depth = Cast(DimOf(c, log_probability, 1), DType::kInt32);
  const Expr yes = c.b().Constant(Tensor::Scalar(true));
  const Expr no = c.b().Constant(Tensor::Scalar(false));
  const Expr is_target = c.op("OneHot", {target, depth, yes, no}, {{"axis", int64_t{1}}});
  const Expr zero = c.scalar(dtype, 0);
  const Expr picked = Reduced(c, "Sum", Where(is_target, log_probability, zero), {1}, false);
  Expr weights = c.has(2) ? Cast(Taken(c, c.in(2), target, 0), dtype) : c.op("OnesLike", {picked});
  if (ignores) weights = Where(ignored, zero, weights);
  const Expr losses = -(picked * weights);
  const std::string reduction = c.Text("reduction", "mean");
  if (reduction == "none" || c.failed()) return losses;
  std::vector<int64_t> all(c.Rank(losses));
  std::iota(all.begin(), all.end(), 0);
  const Expr sum = Reduced(c, "Sum", losses, all, false);
  if (reduction == "sum") return sum;
  if (reduction != "mean") c.Invalid("reduction is not one of none, sum, mean");
  return sum / Reduced(c, "Sum", weights, all, false);
}

void NegativeLogLikelihoodLoss(NodeContext& c) { c.out(0, LikelihoodLoss(c, c.in(0))); }

void SoftmaxCrossEntropyLoss(NodeContext& c) {
  const Expr scores = c.in(0);
  const int rank = c.Rank(scores);
  if (c.failed() || rank < 2) return c.Invalid("it takes scores [N, C, d…]");
  const std::vector<int64_t> swap = SwapPermutation(rank, 1, rank - 1);
  const Expr log_probability =
      Transposed(c, c.op("LogSoftmax", {Transposed(c, scores, swap)}), swap);
  c.out(0, LikelihoodLoss(c, log_probability));
  c.out(1, log_probability);
}

}  // namespace

void AddLossOps(OpTable& t) {
  t.Add("NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss);
  t.Add("SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss);
}

}  // namespace gyre::onnx
