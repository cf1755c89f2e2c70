// SparseSegmentSumGrad, …MeanGrad and …SqrtNGrad, as gradients that other programs wrote have them.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/segment_inputs.h"

namespace gyre {
namespace {

template <GatheredCombine kCombine>
struct Kernels {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx) {
      const Tensor& grad = ctx.input(0);
      if (grad.rank() < 1) {
        return absl::InvalidArgumentError("grad must have one dimension at least, but is a scalar");
      }
      GYRE_ASSIGN_OR_RETURN(const int64_t rows, IntegerScalar(ctx.input(3), "output_dim0"));
      if (rows < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("output_dim0 must not be negative, but is ", rows));
      }
      GYRE_ASSIGN_OR_RETURN(const auto indices, IdsInput(ctx, 1, rows, "indices"));
      GYRE_ASSIGN_OR_RETURN(const auto ids, IdsInput(ctx, 2, grad.dim(0), "segment_ids"));
      GYRE_RETURN_IF_ERROR(CheckSegments(ctx, indices, ids));
      Dims dims(grad.shape().dims().begin(), grad.shape().dims().end());
      dims[0] = rows;
      GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(DTypeOf<T>, shape));
      const int64_t width = rows == 0 ? 0 : out.num_elements() / rows;
      const T* from = grad.values<T>().data();
      T* to = out.mutable_values<T>().data();
      int64_t work = 0;
      size_t end = 0;  // of the segment
      int64_t count = 0;
      for (size_t i = 0; i < ids.size(); ++i) {
        if (i == end) {
          while (end < ids.size() && ids[end] == ids[i]) ++end;
          count = static_cast<int64_t>(end - i);
        }
        if ((work += width + 1) > (1 << 16)) {
          work = 0;
          GYRE_RETURN_IF_ERROR(ctx.Poll());
        }
        const T* row = from + ids[i] * width;
        T* sum = to + indices[i] * width;
        for (int64_t j = 0; j < width; ++j)
          sum[j] = FromAccumulator<T>(ToAccumulator(sum[j]) + Share(row[j], count));
      }
      ctx.set_output(0, std::move(out));
      return absl::OkStatus();
    }

   private:
    static Accumulator<T> Share(T x, int64_t count) {
      using A = Accumulator<T>;
      if constexpr (kCombine == GatheredCombine::kSum || std::is_integral_v<T>) {
        return ToAccumulator(x);
      } else {
        const A n = static_cast<A>(count);
        return ToAccumulator(x) / (kCombine == GatheredCombine::kMean ? n : std::sqrt(n));
      }
    }
  };
};

absl::Status GradShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(3));
  if (!c.input(0).has_rank()) return absl::OkStatus();
  if (c.input(0).rank() < 1)
    return absl::InvalidArgumentError("grad must have one dimension at least, but is a scalar");
  PartialShape out = c.input(0);
  out.set_dim(0, std::max<int64_t>(-1, c.input_int(3).value_or(-1)));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Linear: the reduction itself.
void GradGradient(GradientContext& g, absl::string_view reduction) {
  const Expr count = g.op("GatherV2", {g.input_dims(0), g.builder().Int(0), g.builder().Int(0)});
  g.Add(0, g.op(reduction, {g.grad(), g.input(1), g.input(2), count}));
}

template <GatheredCombine kCombine, typename Set>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view types, GradientFn gradient) {
  const std::string schema = absl::StrCat(
      name,
      "Grad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> output: "
      "T {T: ",
      types, "; Tidx: {int32, int64} = int32; Tsegmentids: {int32, int64} = int32}");
  ops.Add({.schema = schema,
           .doc = absl::StrCat("The gradient of ", name, "."),
           .shape = GradShape,
           .gradient = {gradient},
           .kernel = ForTypes<Kernels<kCombine>::template For, Set>("T")});
}

}  // namespace

void RegisterSparseSegmentGrad(OpRegistry& ops) {
  Add<GatheredCombine::kSum, FloatTypes>(
      ops, "SparseSegmentSum", "floattype",
      [](GradientContext& g) { GradGradient(g, "SparseSegmentSumWithNumSegments"); });
  Add<GatheredCombine::kMean, FloatTypes>(
      ops, "SparseSegmentMean", "floattype",
      [](GradientContext& g) { GradGradient(g, "SparseSegmentMeanWithNumSegments"); });
  Add<GatheredCombine::kSqrtN, FloatTypes>(
      ops, "SparseSegmentSqrtN", "floattype",
      [](GradientContext& g) { GradGradient(g, "SparseSegmentSqrtNWithNumSegments"); });
}

}  // namespace gyre
