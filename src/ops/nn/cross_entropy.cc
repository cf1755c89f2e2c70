#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/nn/row_softmax.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// An operand broadcast to [batch, classes].
struct Broadcast2D {
  int64_t row_stride;
  int64_t column_stride;
};

Broadcast2D StridesOf(const Shape& shape) {
  const int64_t columns = shape.rank() > 0 ? shape.dim(shape.rank() - 1) : 1;
  const int64_t rows = shape.rank() > 1 ? shape.dim(0) : 1;
  return {rows == 1 ? 0 : columns, columns == 1 ? 0 : 1};
}

// [batch, classes], to which features and labels broadcast.
absl::StatusOr<PartialShape> CommonShape(const PartialShape& features, const PartialShape& labels) {
  GYRE_ASSIGN_OR_RETURN(PartialShape common, shape::BroadcastShapes(features, labels));
  if (common.has_rank() && common.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("features and labels must be matrices [batch, classes], or broadcast to one, "
                     "but their shapes are ",
                     features.ToString(), " and ", labels.ToString()));
  }
  return common;
}

template <typename T, typename MustStop>
void CrossEntropyRow(const SoftmaxRow<T>& features, const SoftmaxRow<T>& labels,
                     const MustStop& must_stop, T* loss, T* backprop) {
  using F = RowType<T>;
  const F max = MaxOf(features, must_stop);
  const F sum = SumExponentials(features, max, must_stop, backprop);
  const F log_sum = std::log(sum);
  Normalize(features, max, sum, must_stop, backprop);
  F total = 0;
  InStretches(features.n, must_stop, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const F label = labels[j];
      total += label * (log_sum - (features[j] - max));
      backprop[j] = static_cast<T>(static_cast<F>(backprop[j]) - label);
    }
  });
  *loss = static_cast<T>(total);
}

template <typename T>
struct CrossEntropyKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor& features = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    GYRE_ASSIGN_OR_RETURN(const PartialShape common, CommonShape(features.shape(), labels.shape()));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(common.dims()));
    const int64_t batch = shape.dim(0);
    const int64_t classes = shape.dim(1);
    GYRE_ASSIGN_OR_RETURN(Tensor loss, ctx.Allocate(DTypeOf<T>, Shape::Vector(batch)));
    GYRE_ASSIGN_OR_RETURN(Tensor backprop, ctx.Allocate(DTypeOf<T>, shape));
    const Broadcast2D x = StridesOf(features.shape());
    const Broadcast2D y = StridesOf(labels.shape());
    const T* x_data = static_cast<const T*>(features.raw_data());
    const T* y_data = static_cast<const T*>(labels.raw_data());
    T* loss_data = static_cast<T*>(loss.mutable_raw_data());
    T* backprop_data = static_cast<T*>(backprop.mutable_raw_data());
    const int64_t grain = std::max<int64_t>(1, kSoftmaxGrain / std::max<int64_t>(1, classes));
    const auto must_stop = [&] { return !ctx.Poll().ok(); };
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const SoftmaxRow<T> row{x_data + i * x.row_stride, x.column_stride, classes};
        const SoftmaxRow<T> label{y_data + i * y.row_stride, y.column_stride, classes};
        CrossEntropyRow(row, label, must_stop, loss_data + i, backprop_data + i * classes);
      }
    }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // rows may have ended half-way
    ctx.set_output(0, std::move(loss));
    ctx.set_output(1, std::move(backprop));
    return absl::OkStatus();
  }
};

// The class of each row, checked.
absl::StatusOr<std::vector<int64_t>> ClassLabels(const KernelContext& ctx) {
  const Tensor& features = ctx.input(0);
  const Tensor& labels = ctx.input(1);
  if (features.rank() != 2 || labels.rank() != 1 || labels.dim(0) != features.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("features must be [batch, classes] and labels [batch], but their shapes are ",
                     features.shape().ToString(), " and ", labels.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(std::vector<int64_t> classes, ctx.IntVector(1, "labels"));
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] < 0 || classes[i] >= features.dim(1)) {
      return absl::InvalidArgumentError(absl::StrCat("labels[", i, "] = ", classes[i],
                                                     " is outside the valid range of [0, ",
                                                     features.dim(1), ")"));
    }
  }
  return classes;
}

template <typename T>
struct SparseCrossEntropyKernel {
  static absl::Status Run(KernelContext& ctx) {
    using F = RowType<T>;
    GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> labels, ClassLabels(ctx));
    const Tensor& features = ctx.input(0);
    const int64_t batch = features.dim(0);
    const int64_t classes = features.dim(1);
    GYRE_ASSIGN_OR_RETURN(Tensor loss, ctx.Allocate(DTypeOf<T>, Shape::Vector(batch)));
    GYRE_ASSIGN_OR_RETURN(Tensor backprop, ctx.Allocate(DTypeOf<T>, features.shape()));
    const T* x = static_cast<const T*>(features.raw_data());
    T* loss_data = static_cast<T*>(loss.mutable_raw_data());
    T* backprop_data = static_cast<T*>(backprop.mutable_raw_data());
    const int64_t grain = std::max<int64_t>(1, kSoftmaxGrain / std::max<int64_t>(1, classes));
    const auto must_stop = [&] { return !ctx.Poll().ok(); };
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const SoftmaxRow<T> row{x + i * classes, 1, classes};
        T* gradient = backprop_data + i * classes;
        const F max = MaxOf(row, must_stop);
        const F sum = SumExponentials(row, max, must_stop, gradient);
        Normalize(row, max, sum, must_stop, gradient);
        T& own = gradient[labels[i]];
        own = static_cast<T>(static_cast<F>(own) - F{1});
        loss_data[i] = static_cast<T>(std::log(sum) - (row[labels[i]] - max));
      }
    }));
    GYRE_RETURN_IF_ERROR(ctx.Poll());  // rows may have ended half-way
    ctx.set_output(0, std::move(loss));
    ctx.set_output(1, std::move(backprop));
    return absl::OkStatus();
  }
};

absl::Status CrossEntropyShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape common, CommonShape(c.input(0), c.input(1)));
  if (!common.has_rank()) common = PartialShape::UnknownOfRank(2);
  c.set_output(0, PartialShape(Dims{common.dim(0)}));
  c.set_output(1, std::move(common));
  return absl::OkStatus();
}

absl::Status SparseCrossEntropyShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  const PartialShape features = c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(2);
  GYRE_ASSIGN_OR_RETURN(PartialShape loss,
                        PartialShape(Dims{features.dim(0)}).Intersect(c.input(1)));
  c.set_output(1, PartialShape(Dims{loss.dim(0), features.dim(1)}));
  c.set_output(0, std::move(loss));
  return absl::OkStatus();
}

// `x` with features broadcast to all classes, where it is known that this has to be done.
Expr AllClasses(GradientContext& g, Expr features) {
  const PartialShape& narrow = g.input_shape(0);
  const bool one = narrow.has_rank() && (narrow.rank() == 0 || narrow.dim(narrow.rank() - 1) == 1);
  return one ? g.op("BroadcastTo", {features, g.output_dims(1)}) : features;
}

// By the features: of the loss, and of its gradient by them.
Expr FeaturesGradient(GradientContext& g) {
  Expr sum;
  const Expr last = g.builder().Int(-1);
  if (g.has_grad(0)) sum = g.op("ExpandDims", {g.grad(0), last}) * g.output(1);
  if (!g.has_grad(1)) return sum;
  const Expr softmax = g.op("Softmax", {AllClasses(g, g.input(0))});
  const Expr grad = g.grad(1);
  const Expr second = (grad - Sum(grad * softmax, last, /*keep_dims=*/true)) * softmax;
  return sum.ok() ? sum + second : second;
}

void SparseCrossEntropyGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, FeaturesGradient(g));
}

void CrossEntropyGradient(GradientContext& g) {
  if (g.wants(0)) g.AddBroadcast(0, FeaturesGradient(g), 1);
  if (!g.wants(1)) return;
  if (g.has_grad(0)) {
    const Expr log_softmax = g.op("LogSoftmax", {AllClasses(g, g.input(0))});
    const Expr grad = g.op("ExpandDims", {-g.grad(0), g.builder().Int(-1)});
    g.AddBroadcast(1, grad * log_softmax, 1);
  }
  if (g.has_grad(1)) g.AddBroadcast(1, -g.grad(1), 1);
}

// Logits and labels: the op takes many examples, and so those of all rows.
absl::Status CrossEntropyBatch(BatchContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int logits_rank, c.NeedRank(0));
  GYRE_ASSIGN_OR_RETURN(const int labels_rank, c.NeedRank(1));
  const bool is_sparse = c.input_dtype(1) != c.input_dtype(0);
  if (logits_rank != 2 || labels_rank != (is_sparse ? 1 : 2)) return batch::Refuse("it broadcasts");
  ExprBuilder& b = c.builder();
  // In rows of unequal shape one is broadcast to the other.
  if (!is_sparse && (!c.row_shape(0).IsFullyKnown() || c.row_shape(0) != c.row_shape(1)))
    return batch::Refuse("its logits and labels may differ in shape");
  const auto joined = [&](Expr x, int rank) {
    if (!x.ok()) return x;
    const Expr dims = ShapeOf(x);
    const auto part = [&](int begin, int end) {
      return c.op("StridedSlice", {dims, b.Ints({begin}), b.Ints({end}), b.Ints({1})});
    };
    const Expr examples = c.op("Prod", {part(0, 2), b.Ints({0})}, {{"keep_dims", true}});
    return Reshape(x, rank == 2 ? batch::Joined({examples, part(2, 3)}) : examples);
  };
  const std::vector<Expr> outputs =
      b.Ops(c.node().op_name, {joined(c.stacked(0), 2), joined(c.stacked(1), labels_rank)}, {}, 2);
  const Expr dims = c.row_dims(0);
  const Expr examples = c.op("StridedSlice", {dims, b.Ints({0}), b.Ints({1}), b.Ints({1})});
  c.Set(0, Reshape(outputs[0], c.with_rows(examples)));
  c.Set(1, Reshape(outputs[1], c.with_rows(dims)));
  return absl::OkStatus();
}

}  // namespace

void RegisterCrossEntropy(OpRegistry& ops) {
  ops.Add({
      .schema = "SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> loss: T, backprop: T "
                "{T: floattype}",
      .doc = "The cross entropy between labels and softmax(features) for each row, and its "
             "gradient by features.",
      .shape = CrossEntropyShape,
      .gradient = {CrossEntropyGradient},
      .batch = {CrossEntropyBatch},
      .kernel = ForTypes<CrossEntropyKernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> loss: T, "
                "backprop: T {T: floattype; Tlabels: indextype = int64}",
      .doc = "The cross entropy between softmax(features) and one class for each row, and its "
             "gradient by features.",
      .shape = SparseCrossEntropyShape,
      .gradient = {SparseCrossEntropyGradient},
      .batch = {CrossEntropyBatch},
      .kernel = ForTypes<SparseCrossEntropyKernel, FloatTypes>("T"),
  });
}

}  // namespace gyre
