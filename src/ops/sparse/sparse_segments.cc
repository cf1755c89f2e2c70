// SparseSegmentSum, …Mean and …SqrtN: rows of a tensor, gathered and added up by segments.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/row_sums.h"
#include "ops/sparse/segment_inputs.h"

namespace gyre {
namespace {

constexpr int64_t kTile = 256;  // neighbouring columns added up at once

template <typename T, GatheredCombine kCombine>
T Scaled(Accumulator<T> sum, int64_t count) {
  if constexpr (kCombine == GatheredCombine::kSum || std::is_integral_v<T>) {
    return FromAccumulator<T>(sum);
  } else {
    using A = Accumulator<T>;
    const A n = static_cast<A>(count);
    return FromAccumulator<T>(sum / (kCombine == GatheredCombine::kMean ? n : std::sqrt(n)));
  }
}

template <GatheredCombine kCombine, bool kHasCount>
struct Kernels {
  template <typename T>
  struct For {
    static absl::Status Run(KernelContext& ctx) {
      const Tensor& data = ctx.input(0);
      if (data.rank() < 1) {
        return absl::InvalidArgumentError("data must have one dimension at least, but is a scalar");
      }
      int64_t count = std::numeric_limits<int64_t>::max();
      if constexpr (kHasCount) {
        GYRE_ASSIGN_OR_RETURN(count, IntegerScalar(ctx.input(3), "num_segments"));
        if (count < 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("num_segments must not be negative, but is ", count));
        }
      }
      GYRE_ASSIGN_OR_RETURN(const auto indices, IdsInput(ctx, 1, data.dim(0), "indices"));
      GYRE_ASSIGN_OR_RETURN(const auto ids, IdsInput(ctx, 2, count, "segment_ids"));
      GYRE_RETURN_IF_ERROR(CheckSegments(ctx, indices, ids));
      if (!kHasCount) count = ids.empty() ? 0 : ids.back() + 1;
      Dims dims(data.shape().dims().begin(), data.shape().dims().end());
      dims[0] = count;
      GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
      if (out.num_elements() > 0) GYRE_RETURN_IF_ERROR(Reduce(ctx, indices, ids, count, out));
      ctx.set_output(0, std::move(out));
      return absl::OkStatus();
    }

   private:
    static absl::Status Reduce(const KernelContext& ctx, const std::vector<int64_t>& indices,
                               const std::vector<int64_t>& ids, int64_t count, Tensor& out) {
      const T* data = ctx.input(0).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const int64_t width = out.num_elements() / count;
      const auto n = static_cast<int64_t>(ids.size());
      const int64_t grain = std::max<int64_t>(1, (1 << 15) / (width * (n / count + 1)));
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(count, grain, [&](int64_t begin, int64_t end) {
        auto at = std::lower_bound(ids.begin(), ids.end(), begin) - ids.begin();
        for (int64_t segment = begin; segment < end; ++segment) {
          const int64_t first = at;
          while (at < n && ids[at] == segment) ++at;
          for (int64_t j = 0; j < width; j += kTile) {
            const int64_t columns = std::min(kTile, width - j);
            Accumulator<T> sums[kTile];
            std::fill_n(sums, columns, Accumulator<T>{});
            for (int64_t i = first; i < at; ++i) {
              if (i % 4096 == 4095 && !ctx.Poll().ok()) return;
              AddRow(data + indices[i] * width + j, columns, sums);
            }
            const int64_t rows = std::max<int64_t>(1, at - first);
            for (int64_t c = 0; c < columns; ++c)
              to[segment * width + j + c] = Scaled<T, kCombine>(sums[c], rows);
          }
        }
      }));
      return ctx.Poll();  // a segment may have ended half-way
    }
  };
};

absl::Status SegmentShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  int64_t count = -1;
  if (c.num_inputs() > 3) {
    GYRE_RETURN_IF_ERROR(c.RequireScalar(3));
    count = std::max<int64_t>(-1, c.input_int(3).value_or(-1));
  }
  if (!c.input(0).has_rank()) return absl::OkStatus();
  if (c.input(0).rank() < 1)
    return absl::InvalidArgumentError("data must have one dimension at least, but is a scalar");
  PartialShape out = c.input(0);
  out.set_dim(0, count);
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Each gathered row has its segment's gradient, by its share in it.
template <GatheredCombine kCombine>
void SegmentGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  ExprBuilder& b = g.builder();
  Expr rows = g.op("GatherV2", {g.grad(), g.input(2), b.Int(0)});
  if (kCombine != GatheredCombine::kSum) {
    const Expr ones = OnesLike(Cast(g.input(2), rows.dtype()));
    const Expr segments = g.op("GatherV2", {g.output_dims(0), b.Int(0), b.Int(0)});
    const Expr counts = g.op("UnsortedSegmentSum", {ones, g.input(2), segments});
    const Expr share = g.op("GatherV2", {counts, g.input(2), b.Int(0)});
    const Expr divisor = kCombine == GatheredCombine::kMean ? share : g.op("Sqrt", {share});
    rows = rows / gradient::AppendOnes(g, divisor, PartialShape(Dims{-1}), 0);
  }
  g.AddSlices(0, rows, g.input(1));
}

template <GatheredCombine kCombine, typename Set>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view types, absl::string_view what) {
  for (const bool has_count : {false, true}) {
    const std::string schema =
        absl::StrCat(name, has_count ? "WithNumSegments" : "",
                     "(data: T, indices: Tidx, segment_ids: Tsegmentids",
                     has_count ? ", num_segments: Tnumsegments" : "", ") -> output: T {T: ", types,
                     "; Tidx: {int32, int64} = int32; ",
                     has_count ? "Tnumsegments: {int32, int64} = int32; " : "",
                     "Tsegmentids: {int32, int64} = int32; sparse_gradient: bool = false}");
    ops.Add({.schema = schema,
             .doc = absl::StrCat("The ", what, " of the gathered rows of each segment",
                                 has_count ? ", of which there are so many." : "."),
             .shape = SegmentShape,
             .gradient = {SegmentGradient<kCombine>},
             .kernel = has_count ? ForTypes<Kernels<kCombine, true>::template For, Set>("T")
                                 : ForTypes<Kernels<kCombine, false>::template For, Set>("T")});
  }
}

}  // namespace

void RegisterSparseSegments(OpRegistry& ops) {
  Add<GatheredCombine::kSum, RealTypes>(ops, "SparseSegmentSum", "realnumbertype", "sum");
  Add<GatheredCombine::kMean, FloatTypes>(ops, "SparseSegmentMean", "floattype", "mean");
  Add<GatheredCombine::kSqrtN, FloatTypes>(ops, "SparseSegmentSqrtN", "floattype",
                                           "sum, divided by the root of their number,");
}

}  // namespace gyre
