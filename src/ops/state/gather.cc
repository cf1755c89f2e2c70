// ResourceGather, ResourceGatherNd: read rows or slices of a variable without copying the rest.
#include <algorithm>

#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/array/gather_gradient.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

// Copies slices of `slice` elements: result slice i comes from slice source(i) of `params`, where
// source gives a slice number or an error.
template <typename Source>
absl::Status CopySlices(const KernelContext& ctx, const Tensor& params, int64_t slice, int64_t n,
                        Tensor& result, const Source& source) {
  constexpr int64_t kPollEvery = 1 << 14;
  return VisitElement(params.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T* const from = params.values<T>().data();
    T* const to = result.mutable_values<T>().data();
    Mover<T> mover(ctx, result);
    for (int64_t i = 0; i < n; ++i) {
      if (i % kPollEvery == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      GYRE_ASSIGN_OR_RETURN(const int64_t k, source(i));
      mover.Copy(from + k * slice, slice, to + i * slice);
    }
    return mover.status();
  });
}

int64_t IndexAt(const Tensor& indices, int64_t i) {
  return indices.dtype() == DType::kInt32 ? int64_t{indices.values<int32_t>()[i]}
                                          : indices.values<int64_t>()[i];
}

// "[0,2,1]": where element i of a tensor of this shape stands.
std::string Position(const Shape& shape, int64_t i) {
  Dims at(shape.rank());
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[d] = i % shape.dim(d);
    i /= shape.dim(d);
  }
  return Shape::Trusted(std::move(at)).ToString();
}

absl::StatusOr<Tensor> ReadParams(const KernelContext& ctx, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(const VariableObject* variable, VariableInput(ctx, 0, dtype));
  Tensor value = variable->Read();
  GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, 0, *variable, value));
  return value;
}

struct GatherAttrs {
  explicit GatherAttrs(const Node& node)
      : dtype(NodeAttr<DType>(node, "dtype")), batch_dims(NodeAttr<int64_t>(node, "batch_dims")) {}
  DType dtype;
  int64_t batch_dims;
};

absl::Status CheckBatch(const Shape& params, const Shape& indices, int64_t batch_dims) {
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= params.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch_dims = ", batch_dims, " must be at least 0, at most the rank of indices (",
        indices.rank(), ") and less than the rank of params (", params.rank(), ")"));
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (params.dim(i) != indices.dim(i)) {
      return absl::InvalidArgumentError(absl::StrCat("params.shape[", i, "]: ", params.dim(i),
                                                     " should be equal to indices.shape[", i,
                                                     "]: ", indices.dim(i)));
    }
  }
  return absl::OkStatus();
}

absl::Status ResourceGather(KernelContext& ctx, const GatherAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Tensor params, ReadParams(ctx, attrs.dtype));
  const Tensor& indices = ctx.input(1);
  if (params.rank() == 0)
    return absl::InvalidArgumentError("params must be at least 1 dimensional");
  GYRE_RETURN_IF_ERROR(CheckBatch(params.shape(), indices.shape(), attrs.batch_dims));
  const int batch = static_cast<int>(attrs.batch_dims);
  const int64_t rows = params.dim(batch);
  Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
  dims.insert(dims.end(), params.shape().dims().begin() + batch + 1, params.shape().dims().end());
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(params.dtype(), shape));
  const int64_t n = indices.num_elements();
  const int64_t slice = n == 0 ? 0 : shape.num_elements() / n;
  int64_t per_batch = n;
  for (int i = 0; i < batch && n > 0; ++i) per_batch /= indices.dim(i);
  GYRE_RETURN_IF_ERROR(
      CopySlices(ctx, params, slice, n, result, [&](int64_t i) -> absl::StatusOr<int64_t> {
        const int64_t k = IndexAt(indices, i);
        if (k >= 0 && k < rows) return i / per_batch * rows + k;
        return absl::InvalidArgumentError(absl::StrCat("indices", Position(indices.shape(), i),
                                                       " = ", k, " is not in [0, ", rows, ")"));
      }));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

struct GatherNdAttrs {
  explicit GatherNdAttrs(const Node& node) : dtype(NodeAttr<DType>(node, "dtype")) {}
  DType dtype;
};

absl::Status CheckNd(const Shape& params, const Shape& indices) {
  if (params.rank() == 0) return absl::InvalidArgumentError("params must be at least a vector");
  if (indices.rank() == 0) return absl::InvalidArgumentError("indices must be at least a vector");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("index innermost dimension length must be <= params rank; saw: ", depth,
                     " vs. ", params.rank()));
  }
  return absl::OkStatus();
}

absl::Status ResourceGatherNd(KernelContext& ctx, const GatherNdAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Tensor params, ReadParams(ctx, attrs.dtype));
  const Tensor& indices = ctx.input(1);
  GYRE_RETURN_IF_ERROR(CheckNd(params.shape(), indices.shape()));
  const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
  Dims dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
  dims.insert(dims.end(), params.shape().dims().begin() + depth, params.shape().dims().end());
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(params.dtype(), shape));
  // Indices of depth 0 each name all of params: then the result alone says how many there are.
  const int64_t n = depth > 0                    ? indices.num_elements() / depth
                    : params.num_elements() == 0 ? 0
                                                 : shape.num_elements() / params.num_elements();
  const int64_t slice = n == 0 ? 0 : shape.num_elements() / n;
  GYRE_RETURN_IF_ERROR(
      CopySlices(ctx, params, slice, n, result, [&](int64_t i) -> absl::StatusOr<int64_t> {
        int64_t k = 0;
        for (int d = 0; d < depth; ++d) {
          const int64_t index = IndexAt(indices, i * depth + d);
          if (index < 0 || index >= params.dim(d)) {
            return absl::InvalidArgumentError(
                absl::StrCat("indices at position ", i, ": ", index, " in dimension ", d,
                             " does not index into param shape ", params.shape().ToString()));
          }
          k = k * params.dim(d) + index;
        }
        return k;
      }));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status GatherShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  if (!c.input_handle(0)) return absl::OkStatus();
  const PartialShape& params = c.input_handle(0)->shape;
  const int64_t batch = c.attrs().GetOr<int64_t>("batch_dims", 0);
  if (!params.has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  if (batch < 0 || batch >= params.rank() || batch > c.input(1).rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_dims = ", batch, " does not fit params of shape ", params.ToString(),
                     " and indices of shape ", c.input(1).ToString()));
  }
  Dims dims(c.input(1).dims().begin(), c.input(1).dims().end());
  dims.insert(dims.end(), params.dims().begin() + batch + 1, params.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status GatherNdShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  const PartialShape& indices = c.input(1);
  if (!c.input_handle(0) || !c.input_handle(0)->shape.has_rank() || !indices.has_rank())
    return absl::OkStatus();
  const PartialShape& params = c.input_handle(0)->shape;
  if (indices.rank() == 0) return absl::InvalidArgumentError("indices must be at least a vector");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return absl::OkStatus();
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("index innermost dimension length must be <= params rank; saw: ", depth,
                     " vs. ", params.rank()));
  }
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), params.dims().begin() + depth, params.dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

void ResourceGatherGradient(GradientContext& g) {
  const int batch_dims = static_cast<int>(g.attr<int64_t>("batch_dims", 0));
  if (batch_dims == 0) return AddGatheredRows(g, 1);
  AddGatheredSlices(g, g.input(1), RuleDims::OfInput(g, 1).Product(batch_dims),
                    GatheredDims::Along(RuleDims::OfInput(g, 0), batch_dims, batch_dims));
}

// Of a variable, which is the same for all rows.
absl::Status ResourceGatherBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  if (c.attr<int64_t>("batch_dims", 0) != 0) return batch::Refuse("it has batch_dims");
  return c.Emit({c.input(0), c.input(1)});
}

}  // namespace

void RegisterResourceGather(OpRegistry& ops) {
  ops.Add({.schema = "ResourceGather(resource: resource, indices: Tindices) -> output: dtype "
                     "{batch_dims: int = 0; "
                     "validate_indices: bool = true; dtype: type; Tindices: indextype}",
           .doc = "The rows of a variable that `indices` name.",
           .traits = {.effect = Effect::kRead, .role = Role::kReadsRows},
           .shape = GatherShape,
           .gradient = {ResourceGatherGradient},
           .batch = {ResourceGatherBatch},
           .kernel = Compute<ResourceGather>()});
  ops.Add(
      {.schema =
           "ResourceGatherNd(resource: resource, indices: Tindices) -> output: dtype {dtype: type; "
           "Tindices: indextype}",
       .doc = "The slices of a variable that the rows of `indices` name.",
       .traits = {.effect = Effect::kRead, .role = Role::kReadsElements},
       .shape = GatherNdShape,
       .gradient = {AddGatheredNd},
       .kernel = Compute<ResourceGatherNd>()});
}

}  // namespace gyre
