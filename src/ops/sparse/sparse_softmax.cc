// SparseSoftmax: softmax of the values in each row along the last dimension of a sparse tensor.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

// Values [begin, end) of one row.
template <typename T>
void SoftmaxOf(const T* values, int64_t begin, int64_t end, T* out) {
  using A = Accumulator<T>;
  A max = ToAccumulator(values[begin]);
  for (int64_t i = begin + 1; i < end; ++i) max = std::max(max, ToAccumulator(values[i]));
  A sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += std::exp(ToAccumulator(values[i]) - max);
  for (int64_t i = begin; i < end; ++i)
    out[i] = FromAccumulator<T>(std::exp(ToAccumulator(values[i]) - max) / sum);
}

template <typename T>
struct SparseSoftmaxKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 0, 1, 2, "sp_"));
    if (in.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("sp_shape must have two elements at least, but has ", in.rank()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, Shape::Vector(in.n)));
    const T* values = ctx.input(1).values<T>().data();
    T* to = out.mutable_values<T>().data();
    const int64_t head = in.rank() - 1;
    for (int64_t begin = 0, end; begin < in.n; begin = end) {
      for (end = begin + 1; end < in.n; ++end) {
        if (end % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const int order = CompareRows(in.row(end - 1), in.row(end), in.rank());
        if (order > 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("sp_indices must be in row-major order, but row ", end,
                           " comes before "
                           "its neighbour"));
        }
        if (CompareRows(in.row(begin), in.row(end), head) != 0) break;
      }
      SoftmaxOf(values, begin, end, to);
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status SoftmaxShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  c.set_output(0, c.input(1).has_rank() ? c.input(1) : PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

void SoftmaxGradient(GradientContext& g) {
  const Expr y = g.output(0);
  const Expr sums =
      g.op("SparseReduceSum", {g.input(0), g.grad() * y, g.input(2), g.builder().Ints({-1})},
           AttrMap{{"keep_dims", true}});
  g.Add(1, g.op("SparseDenseCwiseAdd", {g.input(0), g.grad(), g.input(2), -sums}) * y);
}

}  // namespace

void RegisterSparseSoftmax(OpRegistry& ops) {
  ops.Add({.schema = "SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> output: T "
                     "{T: {half, bfloat16, float, double}}",
           .doc = "Softmax of the values in each row of a sparse tensor.",
           .shape = SoftmaxShape,
           .gradient = {SoftmaxGradient},
           .kernel = ForTypes<SparseSoftmaxKernel, FloatTypes>("T")});
}

}  // namespace gyre
