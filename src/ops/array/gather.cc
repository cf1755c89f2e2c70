// Gather, GatherV2: slices of a tensor along one axis, by index.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/gather_gradient.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The axis and the number of leading dimensions that params and indices share.
struct GatherAxes {
  int axis;
  int batch_dims;
};

absl::StatusOr<GatherAxes> ResolveAxes(int64_t axis, int64_t batch_dims, int params_rank,
                                       int indices_rank) {
  if (params_rank < 1) return absl::InvalidArgumentError("params must be at least 1 dimensional");
  GYRE_ASSIGN_OR_RETURN(const int resolved, ResolveAxis(axis, params_rank, "axis"));
  if (batch_dims < -indices_rank || batch_dims > indices_rank) {
    return absl::InvalidArgumentError(absl::StrCat("Expected batch_dims in the range [",
                                                   -indices_rank, ", ", indices_rank, "], but got ",
                                                   batch_dims));
  }
  if (batch_dims < 0) batch_dims += indices_rank;
  if (batch_dims > resolved) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch_dims (", batch_dims, ") must be less than or equal to axis (", resolved, ")."));
  }
  return GatherAxes{resolved, static_cast<int>(batch_dims)};
}

// params[:axis] + indices[batch_dims:] + params[axis+1:]. Requirement: both ranks are known.
absl::StatusOr<PartialShape> GatheredShape(const PartialShape& params, const PartialShape& indices,
                                           GatherAxes axes) {
  Dims dims;
  for (int d = 0; d < axes.axis; ++d) {
    int64_t dim = params.dim(d);
    if (d < axes.batch_dims) {
      const int64_t other = indices.dim(d);
      if (dim >= 0 && other >= 0 && dim != other) {
        return absl::InvalidArgumentError(absl::StrCat(
            "params.shape[", d, "]: ", dim, " should be equal to indices.shape[", d, "]: ", other));
      }
      dim = std::max(dim, other);
    }
    dims.push_back(dim);
  }
  for (int d = axes.batch_dims; d < indices.rank(); ++d) dims.push_back(indices.dim(d));
  for (int d = axes.axis + 1; d < params.rank(); ++d) dims.push_back(params.dim(d));
  return PartialShape(std::move(dims));
}

// The loop nest of a gather: batch × outer × indices rows of `inner` elements.
struct GatherLoops {
  int64_t batch = 1;
  int64_t outer = 1;
  int64_t limit = 0;  // size of the gathered axis
  int64_t count = 1;  // indices per batch element
  int64_t inner = 1;
};

GatherLoops MakeLoops(const Shape& params, const Shape& indices, GatherAxes axes) {
  GatherLoops loops;
  for (int d = 0; d < axes.batch_dims; ++d) loops.batch *= params.dim(d);
  for (int d = axes.batch_dims; d < axes.axis; ++d) loops.outer *= params.dim(d);
  loops.limit = params.dim(axes.axis);
  for (int d = axes.batch_dims; d < indices.rank(); ++d) loops.count *= indices.dim(d);
  for (int d = axes.axis + 1; d < params.rank(); ++d) loops.inner *= params.dim(d);
  return loops;
}

template <typename Index>
absl::Status CheckIndices(const KernelContext& ctx, const Tensor& indices, int64_t limit) {
  const auto values = indices.values<Index>();
  std::atomic<int64_t> bad{-1};
  const auto n = static_cast<int64_t>(values.size());
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, n, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<int64_t>(values[i]);
      if (index >= 0 && index < limit) continue;
      int64_t first = bad.load(std::memory_order_relaxed);
      while ((first < 0 || i < first) &&
             !bad.compare_exchange_weak(first, i, std::memory_order_relaxed)) {
      }
      return;
    }
  }));
  const int64_t first = bad.load();
  if (first < 0) return absl::OkStatus();
  const std::string at =
      indices.rank() == 0 ? "" : absl::StrCat("[", Coordinates(indices.shape(), first), "]");
  return absl::InvalidArgumentError(
      absl::StrCat("indices", at, " = ", values[first], " is not in [0, ", limit, ")"));
}

// Copies rows [begin, end) of the output.
template <typename T, typename Index>
void GatherRows(const T* params, const Index* indices, T* out, const GatherLoops& loops,
                int64_t begin, int64_t end, Mover<T>& mover) {
  int64_t i = begin % loops.count;
  int64_t block = begin / loops.count;  // batch and outer together
  for (int64_t row = begin; row < end; ++row) {
    const Index* batch_indices = indices + block / loops.outer * loops.count;
    const auto index = static_cast<int64_t>(batch_indices[i]);
    const T* from = params + (block * loops.limit + index) * loops.inner;
    T* to = out + row * loops.inner;
    if (loops.inner == 1) {
      mover.Set(*to, *from);
    } else {
      mover.Copy(from, loops.inner, to);
    }
    if (++i == loops.count) {
      i = 0;
      ++block;
    }
  }
}

absl::Status GatherInto(const KernelContext& ctx, const Tensor& params, const Tensor& indices,
                        const GatherLoops& loops, Tensor& out) {
  if (out.num_elements() == 0) return absl::OkStatus();
  const int64_t rows = loops.batch * loops.outer * loops.count;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / loops.inner);
  return VisitType<AnyIndexTypes>(indices.dtype(), [&](auto index_tag) {
    using Index = typename decltype(index_tag)::type;
    return VisitElement(params.dtype(), [&](auto tag) -> absl::Status {
      using T = typename decltype(tag)::type;
      const T* from = static_cast<const T*>(params.raw_data());
      const Index* at = indices.values<Index>().data();
      T* to = static_cast<T*>(out.mutable_raw_data());
      Mover<T> mover(ctx, out);
      GYRE_RETURN_IF_ERROR(RunPieces(ctx, rows, grain, [&](int64_t begin, int64_t end) {
        GatherRows(from, at, to, loops, begin, end, mover);
      }));
      return mover.status();
    });
  });
}

absl::Status Gather(KernelContext& ctx, int64_t wanted_axis, int64_t batch_dims) {
  const Tensor& params = ctx.input(0);
  const Tensor& indices = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const GatherAxes axes,
                        ResolveAxes(wanted_axis, batch_dims, params.rank(), indices.rank()));
  GYRE_ASSIGN_OR_RETURN(const PartialShape gathered,
                        GatheredShape(params.shape(), indices.shape(), axes));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(gathered.dims()));
  const GatherLoops loops = MakeLoops(params.shape(), indices.shape(), axes);
  GYRE_RETURN_IF_ERROR(VisitType<AnyIndexTypes>(indices.dtype(), [&](auto tag) {
    return CheckIndices<typename decltype(tag)::type>(ctx, indices, loops.limit);
  }));
  if (axes.axis == 0 && indices.num_elements() == 1) {
    GYRE_ASSIGN_OR_RETURN(const Dims row, IntegerElements(indices, "indices"));
    GYRE_ASSIGN_OR_RETURN(Tensor out, TakeRows(ctx, params, row[0], 1, shape));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(params.dtype(), shape));
  GYRE_RETURN_IF_ERROR(GatherInto(ctx, params, indices, loops, out));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeGather(KernelContext& ctx) { return Gather(ctx, 0, 0); }

struct BatchDims {
  explicit BatchDims(const Node& node) : value(NodeAttr<int64_t>(node, "batch_dims")) {}
  int64_t value;
};

absl::Status ComputeGatherV2(KernelContext& ctx, const BatchDims& batch_dims) {
  GYRE_ASSIGN_OR_RETURN(const int64_t axis, IntegerScalar(ctx.input(2), "axis"));
  return Gather(ctx, axis, batch_dims.value);
}

// Elements of a list of dimensions, picked by known indices. An index out of range is left to the
// run: the node may stand on a path that is never taken.
void GatherDims(ShapeContext& ctx) {
  const auto dims = KnownDims(ctx, 0);
  if (!dims || !ctx.input(1).has_rank() || ctx.input(1).rank() > 1) return;
  const auto indices = ctx.input_ints(1);
  if (!indices) return;
  Dims picked;
  for (const int64_t i : *indices) {
    if (i < 0 || i >= dims->rank()) return;
    picked.push_back(dims->dim(static_cast<int>(i)));
  }
  if (ctx.input(1).rank() == 1) {
    SetDims(ctx, 0, PartialShape(std::move(picked)));
  } else {
    SetIntScalar(ctx, 0, picked[0]);
  }
}

absl::Status GatherRule(ShapeContext& ctx, std::optional<int64_t> axis, int64_t batch_dims) {
  const PartialShape& params = ctx.input(0);
  const PartialShape& indices = ctx.input(1);
  if (!params.has_rank() || !indices.has_rank()) return absl::OkStatus();
  if (params.rank() < 1) {
    return absl::InvalidArgumentError("params must be at least 1 dimensional");
  }
  if (!axis) {
    if (batch_dims >= 0 && batch_dims <= indices.rank()) {
      const int64_t rank = params.rank() + indices.rank() - 1 - batch_dims;
      if (rank >= 0) ctx.set_output(0, PartialShape::UnknownOfRank(static_cast<int>(rank)));
    }
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const GatherAxes axes,
                        ResolveAxes(*axis, batch_dims, params.rank(), indices.rank()));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, GatheredShape(params, indices, axes));
  ctx.set_output(0, std::move(shape));
  GatherDims(ctx);
  return absl::OkStatus();
}

absl::Status GatherV1Rule(ShapeContext& ctx) { return GatherRule(ctx, 0, 0); }

absl::Status GatherV2Rule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(2));
  return GatherRule(ctx, ctx.input_int(2), NodeAttr<int64_t>(ctx.node(), "batch_dims"));
}

void GatherGradient(GradientContext& g) { AddGatheredRows(g, 1); }

// As GatheredDims::Along, for an axis that is not known before the program runs.
GatheredDims AlongInput(GradientContext& g, int axis_input, int batch_dims) {
  ExprBuilder& b = g.builder();
  const RuleDims params = RuleDims::OfInput(g, 0);
  const Expr all = params.All();
  const Expr rank = g.op("Size", {all});
  const Expr axis = VectorOf({g.op("FloorMod", {Cast(g.input(axis_input), DType::kInt32), rank})});
  const Expr begin = b.Ints({batch_dims});
  return {params.Product(0, batch_dims),
          g.op("Prod", {g.op("Slice", {all, begin, axis - begin}), b.Int(0)}),
          g.op("Prod", {g.op("Slice", {all, axis, b.Ints({1})}), b.Int(0)}),
          g.op("Slice", {all, axis + 1, b.Ints({-1})})};
}

void GatherV2Gradient(GradientContext& g) {
  const auto axis = KnownInteger(g, 2);
  const PartialShape& indices = g.input_shape(1);
  int batch_dims = static_cast<int>(g.attr<int64_t>("batch_dims", 0));
  if (batch_dims < 0 && indices.has_rank()) batch_dims += indices.rank();
  if (batch_dims < 0) {
    return g.Fail(absl::UnimplementedError(
        "the gradient of a gather with negative batch_dims needs to know the rank of the indices"));
  }
  const bool of_vector = g.input_shape(0).has_rank() && g.input_shape(0).rank() == 1;
  if (batch_dims == 0 && (axis == 0 || of_vector)) return AddGatheredRows(g, 1);
  const RuleDims params = RuleDims::OfInput(g, 0);
  AddGatheredSlices(g, g.input(1), RuleDims::OfInput(g, 1).Product(batch_dims),
                    axis ? GatheredDims::Along(params, static_cast<int>(*axis), batch_dims)
                         : AlongInput(g, 2, batch_dims));
}

int64_t IntegerOf(const Tensor& scalar) {
  return scalar.dtype() == DType::kInt64 ? scalar.scalar<int64_t>() : scalar.scalar<int32_t>();
}

// Indices that differ, params that do not: their axis comes out at the front by itself, or is
// brought there.
absl::Status GatherFromSame(BatchContext& c, int64_t axis) {
  const Expr gathered =
      c.op("GatherV2", {c.input(0), c.input(1), c.builder().Int(static_cast<int32_t>(axis))});
  std::vector<int32_t> perm(c.output_row_shape(0).rank() + 1);
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + 1);
  return c.EmitAs("Transpose", {gathered, c.builder().Ints(perm)});
}

absl::Status GatherBatch(BatchContext& c) {
  const bool has_axis = c.num_inputs() > 2;
  if (has_axis) GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  const int64_t batch_dims = c.attr<int64_t>("batch_dims", 0);
  if (batch_dims == 0 && !c.is_stacked(0)) {
    int64_t axis = 0;
    if (has_axis) {
      if (c.constant(2) == nullptr) return batch::Refuse("its axis is not known");
      axis = IntegerOf(*c.constant(2));
    }
    if (axis == 0) return c.EmitAs("GatherV2", {c.input(0), c.input(1), c.builder().Int(0)});
    GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(0));
    if (c.output_row_shape(0).has_rank()) return GatherFromSame(c, axis < 0 ? axis + rank : axis);
  }
  const Expr axis = has_axis ? c.shifted_axes(2) : c.builder().Int(1);
  if (batch_dims == 0 && !c.is_stacked(1))
    return c.EmitAs("GatherV2", {c.input(0), c.input(1), axis});
  return c.EmitAs("GatherV2", {c.stacked(0), c.stacked(1), axis},
                  {{"batch_dims", batch_dims < 0 ? batch_dims : batch_dims + 1}});
}

}  // namespace

void RegisterGather(OpRegistry& ops) {
  ops.Add({
      .schema = "Gather(params: Tparams, indices: Tindices) -> output: Tparams "
                "{validate_indices: bool = true; Tparams: type; Tindices: {int32, int64}}",
      .doc = "Rows of a tensor, by index (older form).",
      .traits = {.moves_elements = true},
      .shape = GatherV1Rule,
      .gradient = {GatherGradient},
      .batch = {GatherBatch},
      .kernel = Compute<ComputeGather>(),
  });
  ops.Add({
      .schema = "GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> output: Tparams "
                "{batch_dims: int = 0; Tparams: type; Tindices: {int16, int32, int64}; "
                "Taxis: {int32, int64}}",
      .doc = "Slices of a tensor along an axis, by index.",
      .traits = {.moves_elements = true},
      .shape = GatherV2Rule,
      .gradient = {GatherV2Gradient},
      .batch = {GatherBatch},
      .kernel = Compute<ComputeGatherV2>(),
  });
}

}  // namespace gyre
