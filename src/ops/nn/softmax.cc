#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/nn/row_softmax.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// `out` may be the row itself. Stops half-way when the run is cancelled.
template <typename T, bool kLog>
void ComputeRow(const KernelContext& ctx, const SoftmaxRow<T>& row, T* out) {
  const auto must_stop = [&] { return row.n > kSoftmaxGrain && !ctx.Poll().ok(); };
  const RowType<T> max = MaxOf(row);
  if (must_stop()) return;
  if constexpr (kLog) {
    RowType<T> sum = 0;
    ForExponentials(row, max, [&](int64_t, int64_t count, const RowType<T>* exps) {
      sum += SumOf(exps, count);
    });
    if (must_stop()) return;
    const RowType<T> log_sum = std::log(sum);
    for (int64_t j = 0; j < row.n; ++j) out[j] = static_cast<T>(row[j] - max - log_sum);
  } else {
    const RowType<T> sum = SumExponentials(row, max, out);
    if (must_stop()) return;
    Normalize(row, max, sum, out);
  }
}

// Along the last dimension.
template <typename T, bool kLog>
absl::Status RunSoftmax(KernelContext& ctx) {
  const Tensor& logits = ctx.input(0);
  if (logits.rank() < 1) {
    return absl::InvalidArgumentError("logits must have at least one dimension, but are a scalar");
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, logits.dtype(), logits.shape()));
  if (out.num_elements() > 0) {
    const int64_t n = logits.dim(logits.rank() - 1);
    const int64_t grain = std::max<int64_t>(1, kSoftmaxGrain / n);
    const T* from = logits.values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(out.num_elements() / n, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            ComputeRow<T, kLog>(ctx, SoftmaxRow<T>{from + i * n, 1, n}, to + i * n);
          }
        }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // ComputeRow stops half-way when cancelled
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
struct SoftmaxKernel {
  static absl::Status Run(KernelContext& ctx) { return RunSoftmax<T, false>(ctx); }
};
template <typename T>
struct LogSoftmaxKernel {
  static absl::Status Run(KernelContext& ctx) { return RunSoftmax<T, true>(ctx); }
};

absl::Status SoftmaxShape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() < 1) {
    return absl::InvalidArgumentError("logits must have at least one dimension, but are a scalar");
  }
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

Expr SumOfRows(GradientContext& g, Expr x) {
  return Sum(x, g.builder().Int(-1), /*keep_dims=*/true);
}

void SoftmaxGradient(GradientContext& g) {
  const Expr y = g.output(0);
  g.Add(0, (g.grad() - SumOfRows(g, g.grad() * y)) * y);
}

void LogSoftmaxGradient(GradientContext& g) {
  g.Add(0, g.grad() - SumOfRows(g, g.grad()) * g.op("Exp", {g.output(0)}));
}

}  // namespace

void RegisterSoftmax(OpRegistry& ops) {
  ops.Add({
      .schema = "Softmax(logits: T) -> softmax: T {T: floattype}",
      .doc = "exp(logits) divided by its sum along the last dimension.",
      .shape = SoftmaxShape,
      .gradient = {SoftmaxGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<SoftmaxKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "LogSoftmax(logits: T) -> logsoftmax: T {T: floattype}",
      .doc = "The logarithm of softmax along the last dimension.",
      .shape = SoftmaxShape,
      .gradient = {LogSoftmaxGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<LogSoftmaxKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
