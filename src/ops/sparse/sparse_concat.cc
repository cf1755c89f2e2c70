// SparseConcat, SparseSplit: sparse tensors joined along a dimension, and parted.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

struct ConcatAttrs {
  explicit ConcatAttrs(const Node& node)
      : dim(NodeAttr<int64_t>(node, "concat_dim")),
        count(static_cast<int>(NodeAttr<int64_t>(node, "N"))) {}
  int64_t dim;
  int count;
};

absl::StatusOr<std::vector<SparseInput>> ConcatInputs(const KernelContext& ctx,
                                                      const ConcatAttrs& attrs) {
  std::vector<SparseInput> inputs;
  for (int i = 0; i < attrs.count; ++i) {
    GYRE_ASSIGN_OR_RETURN(const SparseInput one,
                          SparseInputAt(ctx, i, attrs.count + i, 2 * attrs.count + i,
                                        absl::StrCat("input ", i, ": ")));
    inputs.push_back(one);
  }
  return inputs;
}

// The shape of all together.
absl::StatusOr<Shape> ConcatShape(const std::vector<SparseInput>& inputs, int dim) {
  Dims dims(inputs[0].shape.begin(), inputs[0].shape.end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].rank() != inputs[0].rank()) {
      return absl::InvalidArgumentError(absl::StrCat("inputs must have one rank, but input ", i,
                                                     " has ", inputs[i].rank(), " and the first ",
                                                     inputs[0].rank()));
    }
    for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
      if (d == dim) {
        const std::optional<int64_t> sum = CheckedAdd(dims[d], inputs[i].shape[d]);
        if (!sum) return absl::InvalidArgumentError("the concatenation is too large");
        dims[d] = *sum;
      } else if (inputs[i].shape[d] != dims[d]) {
        return absl::InvalidArgumentError(
            absl::StrCat("dimension ", d, " must be of one size in all inputs, but is ",
                         inputs[i].shape[d], " in input ", i, " and ", dims[d], " in the first"));
      }
    }
  }
  return Shape::Make(dims);
}

absl::Status Concat(KernelContext& ctx, const ConcatAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<SparseInput> inputs, ConcatInputs(ctx, attrs));
  const auto rank = static_cast<int>(inputs[0].rank());
  GYRE_ASSIGN_OR_RETURN(const int dim, ResolveAxis(attrs.dim, rank, "concat_dim"));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ConcatShape(inputs, dim));
  int64_t n = 0;
  for (const SparseInput& in : inputs) n += in.n;
  GYRE_ASSIGN_OR_RETURN(Tensor joined, NewIndices(ctx, n, rank));
  int64_t* next = joined.mutable_values<int64_t>().data();
  int64_t offset = 0;
  for (const SparseInput& in : inputs) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t i = 0; i < in.n; ++i, next += rank) {
      std::copy_n(in.row(i), rank, next);
      next[dim] += offset;
    }
    offset += in.shape[dim];
  }
  const SparseInput all{joined.values<int64_t>().data(), n, shape.dims()};
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> order, SortedOrder(ctx, all));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, n, rank));
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(ctx.output_dtype(1), Shape::Vector(n)));
  int64_t* index = indices.mutable_values<int64_t>().data();
  GYRE_RETURN_IF_ERROR(VisitElement(values.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    std::vector<const T*> from;  // by value of all together
    from.reserve(static_cast<size_t>(n));
    for (int k = 0; k < attrs.count; ++k) {
      const T* first = static_cast<const T*>(ctx.input(attrs.count + k).raw_data());
      for (int64_t i = 0; i < inputs[k].n; ++i) from.push_back(first + i);
    }
    T* to = static_cast<T*>(values.mutable_raw_data());
    Mover<T> mover(ctx, values);
    for (int64_t i = 0; i < n; ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      index = std::copy_n(all.row(order[i]), rank, index);
      mover.Set(to[i], *from[order[i]]);
    }
    return mover.status();
  }));
  GYRE_ASSIGN_OR_RETURN(Tensor dims, ShapeVector(ctx, shape.dims()));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, std::move(dims));
  return absl::OkStatus();
}

absl::Status ConcatShapeRule(ShapeContext& c) {
  const auto count = static_cast<int>(NodeAttr<int64_t>(c.node(), "N"));
  int64_t n = 0, rank = -1;
  for (int i = 0; i < count; ++i) {
    GYRE_RETURN_IF_ERROR(RequireSparse(c, i, count + i, 2 * count + i));
    const PartialShape& values = c.input(count + i);
    n = n < 0 || !values.has_rank() || values.dim(0) < 0 ? -1 : n + values.dim(0);
    rank = std::max(rank, KnownSparseRank(c, i, 2 * count + i));
  }
  SetSparse(c, 0, n, rank);
  return absl::OkStatus();
}

// Numbers in the place of values show where each of them has come to stand.
void ConcatGradient(GradientContext& g) {
  if (!g.has_grad(1)) return;
  ExprBuilder& b = g.builder();
  const auto count = static_cast<int>(g.attr<int64_t>("N", 0));
  std::vector<Expr> inputs, begins;
  Expr next = b.Int(0);
  for (int i = 0; i < count; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < count; ++i) {
    begins.push_back(next);
    next = next + g.op("Size", {g.input(count + i)});
    inputs.push_back(g.op("Range", {begins.back(), next, b.Int(1)}));
  }
  begins.push_back(next);
  for (int i = 0; i < count; ++i) inputs.push_back(g.input(2 * count + i));
  const std::vector<Expr> joined =
      b.Ops("SparseConcat", inputs,
            AttrMap{{"concat_dim", g.attr<int64_t>("concat_dim", 0)}, {"N", int64_t{count}}}, 3);
  const Expr grads =
      g.op("GatherV2", {g.grad(1), g.op("InvertPermutation", {joined[1]}), b.Int(0)});
  for (int i = 0; i < count; ++i) {
    if (!g.wants(count + i)) continue;
    const auto vector = [&](Expr x) { return Reshape(x, b.Ints({1})); };
    g.Add(count + i, g.op("Slice", {grads, vector(begins[i]), vector(begins[i + 1] - begins[i])}));
  }
}

struct SplitAttrs {
  explicit SplitAttrs(const Node& node) : count(NodeAttr<int64_t>(node, "num_split")) {}
  int64_t count;
};

// Sizes of `count` parts: the first ones have one more where they are not all of one size.
struct Parts {
  int64_t size, larger;

  int64_t PartOf(int64_t i) const {
    const int64_t edge = larger * (size + 1);
    return i < edge ? i / (size + 1) : larger + (i - edge) / size;
  }
  int64_t Begin(int64_t part) const { return part * size + std::min(part, larger); }
  int64_t SizeOf(int64_t part) const { return size + (part < larger ? 1 : 0); }
};

absl::Status Split(KernelContext& ctx, const SplitAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const SparseInput in, SparseInputAt(ctx, 1, 2, 3, ""));
  if (ctx.input(0).num_elements() != 1) {
    return absl::InvalidArgumentError("split_dim must be one number");
  }
  const auto rank = static_cast<int>(in.rank());
  GYRE_ASSIGN_OR_RETURN(const int dim,
                        ResolveAxis(ctx.input(0).values<int64_t>()[0], rank, "split_dim"));
  const int64_t count = attrs.count;
  if (count > in.shape[dim]) {
    return absl::InvalidArgumentError(absl::StrCat("num_split must lie in [1, ", in.shape[dim],
                                                   "], the size of the dimension, but is ", count));
  }
  const Parts parts{in.shape[dim] / count, in.shape[dim] % count};
  std::vector<int64_t> sizes(static_cast<size_t>(count), 0);
  for (int64_t i = 0; i < in.n; ++i) {
    if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    ++sizes[parts.PartOf(in.row(i)[dim])];
  }
  std::vector<Tensor> indices, values;
  for (int64_t part = 0; part < count; ++part) {
    if (part % 64 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(indices.emplace_back(), NewIndices(ctx, sizes[part], rank));
    GYRE_ASSIGN_OR_RETURN(values.emplace_back(),
                          ctx.Allocate(ctx.input(2).dtype(), Shape::Vector(sizes[part])));
    Dims dims(in.shape.begin(), in.shape.end());
    dims[dim] = parts.SizeOf(part);
    GYRE_ASSIGN_OR_RETURN(Tensor shape, ShapeVector(ctx, dims));
    ctx.set_output(static_cast<int>(2 * count + part), std::move(shape));
  }
  GYRE_RETURN_IF_ERROR(VisitElement(ctx.input(2).dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(ctx.input(2).raw_data());
    std::vector<int64_t> next(static_cast<size_t>(count), 0);
    if (count == 0) return absl::OkStatus();
    Mover<T> mover(ctx, values[0]);
    for (int64_t i = 0; i < in.n; ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const int64_t part = parts.PartOf(in.row(i)[dim]);
      const int64_t at = next[part]++;
      int64_t* index = indices[part].mutable_values<int64_t>().data() + at * rank;
      std::copy_n(in.row(i), rank, index);
      index[dim] -= parts.Begin(part);
      mover.Into(values[part]);
      mover.Set(static_cast<T*>(values[part].mutable_raw_data())[at], from[i]);
    }
    return mover.status();
  }));
  for (int64_t part = 0; part < count; ++part) {
    ctx.set_output(static_cast<int>(part), std::move(indices[part]));
    ctx.set_output(static_cast<int>(count + part), std::move(values[part]));
  }
  return absl::OkStatus();
}

absl::Status SplitShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RequireSparse(c, 1, 2, 3));
  const auto count = static_cast<int>(NodeAttr<int64_t>(c.node(), "num_split"));
  const int64_t rank = KnownSparseRank(c, 1, 3);
  for (int i = 0; i < count; ++i) {
    c.set_output(i, PartialShape(Dims{-1, rank}));
    c.set_output(count + i, PartialShape(Dims{-1}));
    c.set_output(2 * count + i, PartialShape(Dims{rank}));
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterSparseConcat(OpRegistry& ops) {
  ops.Add({.schema = "SparseConcat(indices: N * int64, values: N * T, shapes: N * int64) -> "
                     "output_indices: int64, output_values: T, output_shape: int64 {concat_dim: "
                     "int; N: int >= 2; T: type}",
           .doc = "Sparse tensors joined along a dimension, in row-major order.",
           .shape = ConcatShapeRule,
           .gradient = {ConcatGradient},
           .kernel = Compute<Concat>()});
  ops.Add({.schema = "SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64) -> "
                     "output_indices: num_split * int64, output_values: num_split * T, "
                     "output_shape: num_split * int64 {num_split: int >= 1; T: type}",
           .doc = "The parts of a sparse tensor along a dimension.",
           .shape = SplitShape,
           .gradient = RefusesGradient("there is none of SparseSplit; SparseSlice has one"),
           .kernel = Compute<Split>()});
}

}  // namespace gyre
