#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dense_code.h"
#include "ops/dispatch.h"
#include "ops/nn/row_softmax.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// `out` may be the row itself.
template <typename T, bool kLog, typename MustStop>
void ComputeRow(const SoftmaxRow<T>& row, const MustStop& must_stop, T* out) {
  const RowType<T> max = MaxOf(row, must_stop);
  if constexpr (kLog) {
    RowType<T> sum = 0;
    ForExponentials(row, max, must_stop, [&](int64_t, int64_t count, const RowType<T>* exps) {
      sum += SumOf(exps, count);
    });
    const RowType<T> log_sum = std::log(sum);
    InStretches(row.n, must_stop, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) out[j] = static_cast<T>(row[j] - max - log_sum);
    });
  } else {
    const RowType<T> sum = SumExponentials(row, max, must_stop, out);
    Normalize(row, max, sum, must_stop, out);
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
    const auto must_stop = [&] { return !ctx.Poll().ok(); };
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(out.num_elements() / n, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            ComputeRow<T, kLog>(SoftmaxRow<T>{from + i * n, 1, n}, must_stop, to + i * n);
          }
        }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // rows may have ended half-way
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The same for operands of known shapes.
struct Rows {
  int64_t count, size;
};
template <typename T, bool kLog>
void RunRows(const void* plan, const void* const* inputs, void* const* outputs) {
  const auto [count, size] = *static_cast<const Rows*>(plan);
  for (int64_t i = 0; i < count; ++i)
    ComputeRow<T, kLog>(SoftmaxRow<T>{static_cast<const T*>(inputs[0]) + i * size, 1, size},
                        NeverStops(), static_cast<T*>(outputs[0]) + i * size);
}
template <typename T, bool kLog>
std::optional<DenseCode> SoftmaxDense(absl::Span<const DenseOperand> inputs,
                                      absl::Span<const Shape> outputs) {
  const std::optional<Shape>& shape = inputs[0].shape;
  constexpr int64_t kMost = kMaxDenseWork / 16;  // exponentials
  if (!shape || shape->rank() < 1 || *shape != outputs[0] || shape->num_elements() == 0 ||
      shape->num_elements() > kMost)
    return std::nullopt;
  const int64_t size = shape->dim(shape->rank() - 1);
  return DenseCode{.function = &RunRows<T, kLog>,
                   .plan = std::make_shared<Rows>(Rows{shape->num_elements() / size, size}),
                   .num_operands = 1,
                   .work = 16 * shape->num_elements()};
}

template <typename T, bool kLog>
struct RowSoftmax {
  static absl::Status Run(KernelContext& ctx) { return RunSoftmax<T, kLog>(ctx); }
  static std::optional<DenseCode> Dense(const Node&, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    return SoftmaxDense<T, kLog>(inputs, outputs);
  }
};
template <typename T>
using SoftmaxKernel = RowSoftmax<T, false>;
template <typename T>
using LogSoftmaxKernel = RowSoftmax<T, true>;

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
