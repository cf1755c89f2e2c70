#include "ops/sparse/sparse_tensor.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace gyre {

absl::StatusOr<SparseInput> SparseInputAt(const KernelContext& ctx, int indices, int values,
                                          int shape, absl::string_view prefix, bool in_range) {
  const Tensor &i = ctx.input(indices), &v = ctx.input(values), &s = ctx.input(shape);
  if (s.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(prefix,
                                                   "shape must be a vector, but its shape "
                                                   "is ",
                                                   s.shape().ToString()));
  }
  if (v.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(prefix,
                                                   "values must be a vector, but its shape "
                                                   "is ",
                                                   v.shape().ToString()));
  }
  if (i.rank() != 2 || i.dim(0) != v.dim(0) || i.dim(1) != s.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, "indices must have the shape [", v.dim(0), ",", s.dim(0),
                     "], a row for each value with as many elements as the shape, but has ",
                     i.shape().ToString()));
  }
  const SparseInput sparse{i.values<int64_t>().data(), v.dim(0), s.values<int64_t>()};
  GYRE_RETURN_IF_ERROR(Annotate(Shape::Make(sparse.shape).status(), absl::StrCat(prefix, "shape")));
  if (!in_range) return sparse;
  const int64_t rank = sparse.rank();
  for (int64_t row = 0; row < sparse.n; ++row) {
    if (row % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t index = sparse.row(row)[d];
      if (index >= 0 && index < sparse.shape[d]) continue;
      return absl::InvalidArgumentError(absl::StrCat(prefix, "indices[", row, ",", d, "] = ", index,
                                                     " is not in [0, ", sparse.shape[d], ")"));
    }
  }
  return sparse;
}

absl::StatusOr<std::vector<int64_t>> SortedOrder(const KernelContext& ctx,
                                                 const SparseInput& sparse) {
  std::vector<int64_t> order(static_cast<size_t>(sparse.n));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    return CompareRows(sparse.row(a), sparse.row(b), sparse.rank()) < 0;
  };
  if (std::is_sorted(order.begin(), order.end(), before)) return order;
  // Runs are sorted, then merged two by two: between steps there is time to look for the deadline.
  constexpr int64_t kRun = 4096;
  const auto at = [&](int64_t i) { return order.begin() + std::min(i, sparse.n); };
  for (int64_t i = 0; i < sparse.n; i += kRun) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    std::stable_sort(at(i), at(i + kRun), before);
  }
  std::vector<int64_t> merged(order.size());
  for (int64_t run = kRun; run < sparse.n; run *= 2) {
    for (int64_t i = 0; i < sparse.n; i += 2 * run) {
      auto a = at(i), b = at(i + run);
      const auto a_end = b, b_end = at(i + 2 * run);
      for (int64_t to = i; a != a_end || b != b_end; ++to) {
        if (to % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const bool takes_b = a == a_end || (b != b_end && before(*b, *a));
        merged[static_cast<size_t>(to)] = takes_b ? *b++ : *a++;
      }
    }
    order.swap(merged);
  }
  return order;
}

absl::StatusOr<Tensor> NewIndices(const KernelContext& ctx, int64_t n, int64_t rank) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({n, rank}));
  return ctx.Allocate(DType::kInt64, shape);
}

absl::StatusOr<Tensor> ShapeVector(const KernelContext& ctx, absl::Span<const int64_t> dims) {
  GYRE_ASSIGN_OR_RETURN(
      Tensor shape, ctx.Allocate(DType::kInt64, Shape::Vector(static_cast<int64_t>(dims.size()))));
  std::copy(dims.begin(), dims.end(), static_cast<int64_t*>(shape.mutable_raw_data()));
  return shape;
}

Dims StridesOf(absl::Span<const int64_t> shape) {
  Dims strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(1, shape[d]);
  return strides;
}

absl::Status RequireSparse(ShapeContext& c, int indices, int values, int shape) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(indices, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(values, 1));
  return c.RequireRank(shape, 1);
}

int64_t KnownSparseRank(const ShapeContext& c, int indices, int shape) {
  if (c.input(shape).has_rank() && c.input(shape).rank() == 1 && c.input(shape).dim(0) >= 0)
    return c.input(shape).dim(0);
  return c.input(indices).has_rank() && c.input(indices).rank() == 2 ? c.input(indices).dim(1) : -1;
}

void SetSparse(ShapeContext& c, int i, int64_t n, int64_t rank) {
  c.set_output(i, PartialShape(Dims{n, rank}));
  c.set_output(i + 1, PartialShape(Dims{n}));
  c.set_output(i + 2, PartialShape(Dims{rank}));
}

}  // namespace gyre
