// SparseToDense, SparseTensorDenseAdd: dense tensors with values at places.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

struct ToDenseAttrs {
  explicit ToDenseAttrs(const Node& node) : validate(NodeAttr<bool>(node, "validate_indices")) {}
  bool validate;
};

// The place in a dense tensor of each row of indices, which are in range.
template <typename I>
absl::StatusOr<Tensor> Places(const KernelContext& ctx, const Tensor& indices, int64_t n,
                              const Shape& shape, bool must_rise) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  const I* index = indices.values<I>().data();
  int64_t* places = out.mutable_values<int64_t>().data();
  const int rank = shape.rank();
  for (int64_t i = 0; i < n; ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    int64_t place = 0;
    for (int d = 0; d < rank; ++d) {
      const int64_t at = index[i * rank + d];
      if (at < 0 || at >= shape.dim(d)) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", i, ",", d, "] = ", at, " is not in [0, ", shape.dim(d), ")"));
      }
      place = place * shape.dim(d) + at;
    }
    if (must_rise && i > 0 && place <= places[i - 1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] is ", place == places[i - 1] ? "repeated" : "out of order",
                       "; indices must be in row-major order"));
    }
    places[i] = place;
  }
  return out;
}

absl::StatusOr<Tensor> PlacesInput(const KernelContext& ctx, const Shape& shape, bool validate) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(2);
  if (indices.rank() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("sparse_indices must be a scalar, vector or matrix, but its shape is ",
                     indices.shape().ToString()));
  }
  const int64_t n = indices.rank() == 0 ? 1 : indices.dim(0);
  const int64_t width = indices.rank() == 2 ? indices.dim(1) : 1;
  if (width != shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sparse_indices has ", width,
                     " elements for each value, but output_shape has ", shape.rank()));
  }
  if (values.rank() != 0 && !(values.rank() == 1 && values.dim(0) == n)) {
    return absl::InvalidArgumentError(absl::StrCat("sparse_values must be a scalar or a vector of ",
                                                   n, " elements, but its shape is ",
                                                   values.shape().ToString()));
  }
  if (ctx.input(3).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "default_value must be a scalar, but its shape is ", ctx.input(3).shape().ToString()));
  }
  return indices.dtype() == DType::kInt64 ? Places<int64_t>(ctx, indices, n, shape, validate)
                                          : Places<int32_t>(ctx, indices, n, shape, validate);
}

absl::Status ToDense(KernelContext& ctx, const ToDenseAttrs& attrs) {
  if (ctx.input(1).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output_shape must be a vector, but its shape is ", ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(1, "output_shape"));
  GYRE_ASSIGN_OR_RETURN(const Tensor places, PlacesInput(ctx, shape, attrs.validate));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(2).dtype(), shape));
  GYRE_RETURN_IF_ERROR(FillWith(ctx, ctx.input(3), out));
  GYRE_RETURN_IF_ERROR(VisitElement(out.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T* values = static_cast<const T*>(ctx.input(2).raw_data());
    T* to = static_cast<T*>(out.mutable_raw_data());
    const int64_t step = ctx.input(2).rank() == 0 ? 0 : 1;
    Mover<T> mover(ctx, out);
    for (int64_t i = 0; i < places.num_elements(); ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      mover.Set(to[places.values<int64_t>()[i]], values[i * step]);
    }
    return mover.status();
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ToDenseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_ASSIGN_OR_RETURN(PartialShape out, c.InputAsShape(1));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

// What stands at the places, a row of them for each value.
Expr AtPlaces(GradientContext& g, Expr dense, Expr indices, Expr shape) {
  const Expr rank = g.op("Reshape", {g.op("Size", {shape}), g.builder().Ints({1})});
  const Expr dims = g.op("ConcatV2", {g.builder().Ints({-1}), rank, g.builder().Int(0)});
  return g.op("GatherNd", {dense, Reshape(indices, dims)});
}

Expr SumOfAll(GradientContext& g, Expr x) {
  return Sum(Reshape(x, g.builder().Ints({-1})), g.builder().Int(0));
}

void ToDenseGradient(GradientContext& g) {
  const Expr values = AtPlaces(g, g.grad(), g.input(0), g.input(1));
  if (g.wants(2)) {
    const PartialShape shape = g.input_shape(2);
    if (shape.has_rank() && shape.rank() == 1) {
      g.Add(2, values);
    } else if (shape.has_rank() && shape.rank() == 0) {
      g.Add(2, SumOfAll(g, values));
    } else {
      // One value for all, or one each: summed where it is the former.
      const Expr is_one = g.op("Equal", {g.op("Size", {g.input_dims(2)}), g.builder().Int(0)});
      const Expr rows =
          g.op("SelectV2", {is_one, g.builder().Ints({1, -1}), g.builder().Ints({-1, 1})});
      const Expr sums = Sum(Reshape(values, rows), g.builder().Int(1));
      g.Add(2, Reshape(sums, g.input_dims(2)));
    }
  }
  if (g.wants(3)) g.Add(3, SumOfAll(g, g.grad()) - SumOfAll(g, values));
}

template <typename T>
struct DenseAddKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor& shape_in = ctx.input(2);
    if (shape_in.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a_shape must be a vector, but its shape is ", shape_in.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(2, "a_shape"));
    const Tensor &indices = ctx.input(0), &values = ctx.input(1);
    if (shape != ctx.input(3).shape()) {
      return absl::InvalidArgumentError(absl::StrCat("a_shape must be the shape of b, ",
                                                     ctx.input(3).shape().ToString(), ", but is ",
                                                     shape.ToString()));
    }
    if (values.rank() != 1 || indices.rank() != 2 || indices.dim(0) != values.dim(0) ||
        indices.dim(1) != shape.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a_indices must have the shape [", values.num_elements(), ",", shape.rank(),
                       "] for a_values that are a vector, but has ", indices.shape().ToString(),
                       " for ", values.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const Tensor places,
                          indices.dtype() == DType::kInt64
                              ? Places<int64_t>(ctx, indices, values.dim(0), shape, false)
                              : Places<int32_t>(ctx, indices, values.dim(0), shape, false));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    const T* b = ctx.input(3).values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(
        RunPieces(ctx, out.num_elements(), kElementGrain,
                  [&](int64_t begin, int64_t end) { std::copy(b + begin, b + end, to + begin); }));
    const T* value = values.values<T>().data();
    int64_t i = 0;
    for (const int64_t place : places.values<int64_t>()) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      to[place] = FromAccumulator<T>(ToAccumulator(to[place]) + ToAccumulator(value[i++]));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status DenseAddShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 0, 1, 2));
  c.set_output(0, c.input(3));
  return absl::OkStatus();
}

void DenseAddGradient(GradientContext& g) {
  if (g.wants(1)) g.Add(1, g.op("GatherNd", {g.grad(), g.input(0)}));
  if (g.wants(3)) g.Add(3, g.grad());
}

}  // namespace

void RegisterSparseToDense(OpRegistry& ops) {
  ops.Add({.schema = "SparseToDense(sparse_indices: Tindices, output_shape: Tindices, "
                     "sparse_values: T, default_value: T) -> dense: T {validate_indices: bool = "
                     "true; T: type; Tindices: {int32, int64}}",
           .doc = "A dense tensor with values at indices, and the default value elsewhere.",
           .shape = ToDenseShape,
           .gradient = {ToDenseGradient},
           .kernel = Compute<&ToDense>()});
  ops.Add({.schema = "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: "
                     "T) -> output: T {T: numbertype; Tindices: {int32, int64}}",
           .doc = "The sum of a sparse tensor and a dense one.",
           .shape = DenseAddShape,
           .gradient = {DenseAddGradient},
           .kernel = ForTypes<DenseAddKernel, NumberTypes>("T")});
}

}  // namespace gyre
