// InTopK, InTopKV2: whether the prediction for a row's own class is among the k highest.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// False where a number that decides it is not finite.
bool IsInTopK(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
  int64_t higher = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(row[i])) return false;
    higher += row[i] > row[target] ? 1 : 0;
    if (higher > k) return false;
  }
  return higher < k;
}

template <typename T>
absl::Status Compare(KernelContext& ctx, int64_t k) {
  const Tensor &predictions = ctx.input(0), &targets = ctx.input(1);
  if (predictions.rank() != 2 || targets.rank() != 1 || predictions.dim(0) != targets.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "predictions must be a matrix with a row for each of targets, a vector, but their shapes "
        "are ",
        predictions.shape().ToString(), " and ", targets.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, targets.shape()));
  const int64_t classes = predictions.dim(1);
  const float* rows = predictions.values<float>().data();
  const T* target = targets.values<T>().data();
  bool* is_in = out.mutable_values<bool>().data();
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / (classes + 1));
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(targets.num_elements(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          is_in[i] = IsInTopK(rows + i * classes, classes, target[i], k);
      }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

struct TopKAttrs {
  explicit TopKAttrs(const Node& node) : k(NodeAttr<int64_t>(node, "k")) {}
  int64_t k;
};

template <typename T>
struct InTopKKernel {
  static absl::Status Run(KernelContext& ctx, const TopKAttrs& attrs) {
    return Compare<T>(ctx, attrs.k);
  }
};

template <typename T>
struct InTopKV2Kernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const int64_t k, IntegerScalar(ctx.input(2), "k"));
    return Compare<T>(ctx, k);
  }
};

absl::Status InTopKShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  if (c.num_inputs() > 2) GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  const PartialShape rows(Dims{c.input(0).has_rank() ? c.input(0).dim(0) : -1});
  GYRE_ASSIGN_OR_RETURN(PartialShape out, rows.Intersect(c.input(1)));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

void RegisterInTopK(OpRegistry& ops) {
  ops.Add({.schema =
               "InTopK(predictions: float, targets: T) -> precision: bool {k: int; T: {int32, "
               "int64} = int32}",
           .doc = "Whether the class of each row is among the k with the highest prediction.",
           .shape = InTopKShape,
           .gradient = NotDifferentiable("its results are true or false"),
           .kernel = ForTypes<InTopKKernel, IndexTypes>("T")});
  ops.Add({.schema =
               "InTopKV2(predictions: float, targets: T, k: T) -> precision: bool {T: {int32, "
               "int64} = int32}",
           .doc = "Whether the class of each row is among the k with the highest prediction.",
           .shape = InTopKShape,
           .gradient = NotDifferentiable("its results are true or false"),
           .kernel = ForTypes<InTopKV2Kernel, IndexTypes>("T")});
}

}  // namespace gyre
