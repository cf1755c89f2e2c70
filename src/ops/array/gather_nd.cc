// GatherNd: slices of a tensor, by index vectors.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/array/gather_gradient.h"
#include "ops/array/layout.h"
#include "ops/array/nd_index.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
absl::Status CopySlices(const KernelContext& ctx, const Tensor& params, const NdIndices& indices,
                        Tensor& out) {
  const T* from = static_cast<const T*>(params.raw_data());
  const int64_t* offsets = indices.offsets.values<int64_t>().data();
  T* to = static_cast<T*>(out.mutable_raw_data());
  const int64_t n = indices.slice_size;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / n);
  Mover<T> mover(ctx, out);
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, indices.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (offsets[i] < 0) {
        std::fill_n(to + i * n, n, T());
      } else {
        mover.Copy(from + offsets[i], n, to + i * n);
      }
    }
  }));
  return mover.status();
}

absl::Status ComputeGatherNd(KernelContext& ctx, const BadIndices& policy) {
  const Tensor& params = ctx.input(0);
  if (params.rank() < 1) return absl::InvalidArgumentError("params must be at least a vector");
  GYRE_ASSIGN_OR_RETURN(const NdIndices indices,
                        ResolveNdIndices(ctx, ctx.input(1), params.shape(), policy));
  Dims dims = indices.batch_dims;
  dims.insert(dims.end(), indices.slice_dims.begin(), indices.slice_dims.end());
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(params.dtype(), shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(params.dtype(), [&](auto tag) {
      return CopySlices<typename decltype(tag)::type>(ctx, params, indices, out);
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status GatherNdRule(ShapeContext& ctx) {
  const PartialShape& params = ctx.input(0);
  const PartialShape& indices = ctx.input(1);
  if (indices.has_rank() && indices.rank() < 1) {
    return absl::InvalidArgumentError("indices must be at least a vector");
  }
  if (params.has_rank() && params.rank() < 1) {
    return absl::InvalidArgumentError("params must be at least a vector");
  }
  if (!params.has_rank() || !indices.has_rank()) return absl::OkStatus();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return absl::OkStatus();
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices.shape[-1] must be <= params.rank, but saw indices shape: ", indices.ToString(),
        " and params shape: ", params.ToString()));
  }
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), params.dims().begin() + depth, params.dims().end());
  ctx.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status GatherNdBatch(BatchContext& c) {
  if (!c.is_stacked(0)) return c.Emit({c.input(0), c.input(1)});
  GYRE_RETURN_IF_ERROR(c.NeedRank(1).status());
  return c.Emit({c.input(0), IndicesWithRow(c, 1)});
}

}  // namespace

void RegisterGatherNd(OpRegistry& ops) {
  ops.Add({
      .schema = "GatherNd(params: Tparams, indices: Tindices) -> output: Tparams {Tparams: type; "
                "Tindices: {int16, int32, int64}; bad_indices_policy: string = ''}",
      .doc = "Slices of a tensor by index vectors over its leading dimensions.",
      .shape = GatherNdRule,
      .gradient = {AddGatheredNd},
      .batch = {GatherNdBatch},
      .kernel = Compute<ComputeGatherNd>(),
  });
}

}  // namespace gyre
