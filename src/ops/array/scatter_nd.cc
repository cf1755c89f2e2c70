// ScatterNd, TensorScatterUpdate/Add/Sub/Min/Max: slices put into a tensor at index vectors.
//
// Updates are applied one after another in the order of the indices, so that repeated indices give
// the same bits on any number of threads.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/array/nd_index.h"
#include "ops/array/rule_dims.h"
#include "ops/array/slice_update.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Calls `combine(element of out, element of updates)` for each element of each slice, in order.
template <typename T, typename Combine>
absl::Status ForEachUpdate(const KernelContext& ctx, const NdIndices& indices,
                           const Tensor& updates, Tensor& out, Combine combine) {
  const T* from = static_cast<const T*>(updates.raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  const int64_t* offsets = indices.offsets.values<int64_t>().data();
  const int64_t n = indices.slice_size;
  Mover<T> mover(ctx, out);
  int64_t since_poll = 0;
  for (int64_t i = 0; i < indices.count; ++i) {
    if (offsets[i] >= 0) {
      for (int64_t k = 0; k < n; ++k) {
        const T& update = from[i * n + k];
        if (mover.Admit(update)) combine(to[offsets[i] + k], update);
      }
    }
    since_poll += n;
    if (since_poll >= kElementGrain) {
      GYRE_RETURN_IF_ERROR(ctx.Poll());
      since_poll = 0;
    }
  }
  return mover.status();
}

struct Assign {
  template <typename T>
  void operator()(T& to, const T& from) const {
    to = from;
  }
};

// Integers wrap around; halves are rounded after each step.
struct Add {
  template <typename T>
  void operator()(T& to, const T& from) const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      to = T(float(to) + float(from));
    } else if constexpr (std::is_same_v<T, bool>) {
      to = to || from;
    } else if constexpr (std::is_integral_v<T>) {
      __builtin_add_overflow(to, from, &to);
    } else {
      to += from;
    }
  }
};
struct Sub {
  template <typename T>
  void operator()(T& to, const T& from) const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      to = T(float(to) - float(from));
    } else if constexpr (std::is_integral_v<T>) {
      __builtin_sub_overflow(to, from, &to);
    } else {
      to -= from;
    }
  }
};

template <typename T>
auto Comparable(const T& x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return float(x);
  } else {
    return x;
  }
}
// A NaN on either side wins.
struct Min {
  template <typename T>
  void operator()(T& to, const T& from) const {
    const auto a = Comparable(to);
    const auto b = Comparable(from);
    if (b < a || b != b) to = from;
  }
};
struct Max {
  template <typename T>
  void operator()(T& to, const T& from) const {
    const auto a = Comparable(to);
    const auto b = Comparable(from);
    if (b > a || b != b) to = from;
  }
};

using AddTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                       uint16_t, uint32_t, uint64_t, complex64, complex128, bool, std::string>;

template <typename Combine, typename Set>
absl::Status CombineUpdates(const KernelContext& ctx, const NdIndices& indices,
                            const Tensor& updates, Tensor& out) {
  if (updates.num_elements() == 0) return absl::OkStatus();
  if constexpr (std::is_same_v<Combine, Assign>) {
    return VisitElement(out.dtype(), [&](auto tag) {
      return ForEachUpdate<typename decltype(tag)::type>(ctx, indices, updates, out, Combine());
    });
  } else {
    return VisitType<Set>(out.dtype(), [&](auto tag) {
      return ForEachUpdate<typename decltype(tag)::type>(ctx, indices, updates, out, Combine());
    });
  }
}

}  // namespace

absl::Status CheckUpdates(const NdIndices& indices, const Shape& indices_shape,
                          const Shape& updates, const Shape& shape) {
  Dims dims = indices.batch_dims;
  dims.insert(dims.end(), indices.slice_dims.begin(), indices.slice_dims.end());
  if (updates.dims() == absl::MakeConstSpan(dims)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got "
      "updates.shape: ",
      updates.ToString(), ", indices.shape: ", indices_shape.ToString(),
      ", params_shape: ", shape.ToString()));
}

absl::Status CheckStaticUpdates(const PartialShape& indices, const PartialShape& updates,
                                const PartialShape& shape) {
  if (indices.has_rank() && indices.rank() < 1) {
    return absl::InvalidArgumentError("indices must be at least a vector");
  }
  if (!indices.has_rank() || !shape.has_rank()) return absl::OkStatus();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return absl::OkStatus();
  if (depth > shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index innermost dimension length must be <= ", shape.rank(), "; saw: ", depth));
  }
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), shape.dims().begin() + depth, shape.dims().end());
  return Annotate(updates.Intersect(PartialShape(std::move(dims))).status(),
                  "updates.shape must be indices.shape[:batch_dim] + shape[slice_dim:]");
}

absl::Status UpdateSlices(const KernelContext& ctx, SliceUpdate op, const NdIndices& indices,
                          const Tensor& updates, Tensor& out) {
  switch (op) {
    case SliceUpdate::kAssign:
      return CombineUpdates<Assign, Types<>>(ctx, indices, updates, out);
    case SliceUpdate::kAdd:
      return CombineUpdates<Add, AddTypes>(ctx, indices, updates, out);
    case SliceUpdate::kSub:
      return CombineUpdates<Sub, NumberTypes>(ctx, indices, updates, out);
    case SliceUpdate::kMin:
      return CombineUpdates<Min, RealTypes>(ctx, indices, updates, out);
    case SliceUpdate::kMax:
      break;
  }
  return CombineUpdates<Max, RealTypes>(ctx, indices, updates, out);
}

namespace {

absl::Status ComputeScatterNd(KernelContext& ctx, const BadIndices& policy) {
  const Tensor& updates = ctx.input(1);
  if (ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be a vector, but has shape ", ctx.input(2).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims dims, IntegerList(ctx.input(2), "Shape"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(const NdIndices indices,
                        ResolveNdIndices(ctx, ctx.input(0), shape, policy));
  GYRE_RETURN_IF_ERROR(CheckUpdates(indices, ctx.input(0).shape(), updates.shape(), shape));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(updates.dtype(), shape));
  GYRE_RETURN_IF_ERROR(UpdateSlices(ctx, SliceUpdate::kAdd, indices, updates, out));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <SliceUpdate op>
absl::Status ComputeTensorScatter(KernelContext& ctx, const BadIndices& policy) {
  const Shape shape = ctx.input(0).shape();
  if (shape.rank() < 1) return absl::InvalidArgumentError("Tensor must be at least 1-D");
  const Tensor& updates = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(const NdIndices indices,
                        ResolveNdIndices(ctx, ctx.input(1), shape, policy));
  GYRE_RETURN_IF_ERROR(CheckUpdates(indices, ctx.input(1).shape(), updates.shape(), shape));
  Tensor out = ctx.TakeInput(0);
  // Strings are written to a new tensor alone: theirs is the charge for text.
  if (!out.IsUnique() || out.dtype() == DType::kString) {
    GYRE_ASSIGN_OR_RETURN(Tensor copy, ctx.Allocate(out.dtype(), shape));
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, out, 0, copy, 0, {{shape.num_elements(), 1, 1}}));
    out = std::move(copy);
  }
  GYRE_RETURN_IF_ERROR(UpdateSlices(ctx, op, indices, updates, out));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ScatterNdRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(2, 1));
  if (!ctx.input(2).has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, ctx.InputAsShape(2));
  GYRE_RETURN_IF_ERROR(CheckStaticUpdates(ctx.input(0), ctx.input(1), shape));
  ctx.set_output(0, shape);
  return absl::OkStatus();
}

absl::Status TensorScatterRule(ShapeContext& ctx) {
  if (ctx.input(0).has_rank() && ctx.input(0).rank() < 1) {
    return absl::InvalidArgumentError("Tensor must be at least 1-D");
  }
  GYRE_RETURN_IF_ERROR(CheckStaticUpdates(ctx.input(1), ctx.input(2), ctx.input(0)));
  ctx.set_output(0, ctx.input(0));
  return absl::OkStatus();
}

AttrMap PolicyOf(const GradientContext& g) {
  return {{"bad_indices_policy", g.attr<std::string>("bad_indices_policy", "")}};
}

// The elements of `x` that the node's indices (input `indices`) name.
Expr Named(GradientContext& g, int indices, Expr x) {
  return g.op("GatherNd", {x, WideIndices(g.input(indices))}, PolicyOf(g));
}

void ScatterNdGradient(GradientContext& g) { g.Add(1, Named(g, 0, g.grad())); }

void ScatterUpdateGradient(GradientContext& g) {
  if (g.wants(0)) {
    g.Add(0, g.op("TensorScatterUpdate", {g.grad(), g.input(1), g.zero(2)}, PolicyOf(g)));
  }
  if (g.wants(2)) g.Add(2, Named(g, 1, g.grad()));
}

void ScatterAddGradient(GradientContext& g) {
  g.Add(0, g.grad());
  if (g.wants(2)) g.Add(2, Named(g, 1, g.grad()));
}

void ScatterSubGradient(GradientContext& g) {
  g.Add(0, g.grad());
  if (g.wants(2)) g.Add(2, -Named(g, 1, g.grad()));
}

// Of minimum and maximum: all that are equal to an element of the result share its gradient.
void ScatterExtremumGradient(GradientContext& g) {
  const DType dtype = g.output_dtype(0);
  const Expr output = g.output(0);
  const Expr is_old = Cast(g.op("Equal", {g.input(0), output}), dtype);
  const Expr is_update = Cast(g.op("Equal", {g.input(2), Named(g, 1, output)}), dtype);
  const Expr winners =
      g.op("TensorScatterAdd", {is_old, WideIndices(g.input(1)), is_update}, PolicyOf(g));
  const Expr share = g.grad() / winners;
  if (g.wants(0)) g.Add(0, share * is_old);
  if (g.wants(2)) g.Add(2, Named(g, 1, share) * is_update);
}

absl::Status ScatterNdBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  GYRE_RETURN_IF_ERROR(c.NeedRank(0).status());
  const Expr shape = Cast(c.with_rows(c.input(2)), c.input_dtype(0));
  return c.Emit({IndicesWithRow(c, 0), c.stacked(1), shape});
}

absl::Status TensorScatterBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedRank(1).status());
  return c.Emit({c.stacked(0), IndicesWithRow(c, 1), c.stacked(2)});
}

}  // namespace

void RegisterScatterNd(OpRegistry& ops) {
  ops.Add({
      .schema = "ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> output: T {T: type; "
                "Tindices: {int16, int32, int64}; bad_indices_policy: string = ''}",
      .doc = "Zeros with slices added at index vectors.",
      .shape = ScatterNdRule,
      .gradient = {ScatterNdGradient},
      .batch = {ScatterNdBatch},
      .kernel = Compute<ComputeScatterNd>(),
  });
  ops.Add({
      .schema = "TensorScatterUpdate(tensor: T, indices: Tindices, updates: T) -> output: T "
                "{T: type; Tindices: {int16, int32, int64, uint16}; "
                "bad_indices_policy: string = ''}",
      .doc = "A tensor with slices replaced at index vectors.",
      .shape = TensorScatterRule,
      .gradient = {ScatterUpdateGradient},
      .batch = {TensorScatterBatch},
      .kernel = Compute<ComputeTensorScatter<SliceUpdate::kAssign>>(),
  });
  ops.Add({
      .schema = "TensorScatterAdd(tensor: T, indices: Tindices, updates: T) -> output: T {T: type; "
                "Tindices: {int32, int64}; bad_indices_policy: string = ''}",
      .doc = "A tensor with slices added at index vectors.",
      .shape = TensorScatterRule,
      .gradient = {ScatterAddGradient},
      .batch = {TensorScatterBatch},
      .kernel = Compute<ComputeTensorScatter<SliceUpdate::kAdd>>(),
  });
  ops.Add({
      .schema = "TensorScatterSub(tensor: T, indices: Tindices, updates: T) -> output: T {T: type; "
                "Tindices: {int32, int64}; bad_indices_policy: string = ''}",
      .doc = "A tensor with slices subtracted at index vectors.",
      .shape = TensorScatterRule,
      .gradient = {ScatterSubGradient},
      .batch = {TensorScatterBatch},
      .kernel = Compute<ComputeTensorScatter<SliceUpdate::kSub>>(),
  });
  ops.Add({
      .schema = "TensorScatterMin(tensor: T, indices: Tindices, updates: T) -> output: T {T: type; "
                "Tindices: {int32, int64}; bad_indices_policy: string = ''}",
      .doc = "A tensor with slices combined by minimum at index vectors.",
      .shape = TensorScatterRule,
      .gradient = {ScatterExtremumGradient},
      .batch = {TensorScatterBatch},
      .kernel = Compute<ComputeTensorScatter<SliceUpdate::kMin>>(),
  });
  ops.Add({
      .schema = "TensorScatterMax(tensor: T, indices: Tindices, updates: T) -> output: T {T: type; "
                "Tindices: {int32, int64}; bad_indices_policy: string = ''}",
      .doc = "A tensor with slices combined by maximum at index vectors.",
      .shape = TensorScatterRule,
      .gradient = {ScatterExtremumGradient},
      .batch = {TensorScatterBatch},
      .kernel = Compute<ComputeTensorScatter<SliceUpdate::kMax>>(),
  });
}

}  // namespace gyre
