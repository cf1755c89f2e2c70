#include "ops/array/nd_index.h"

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"

namespace gyre {
namespace {

// The index vector that begins at `row`, checked against the dimensions it indexes: the offset of
// its slice, or -1.
template <typename Index>
int64_t Resolve(const Index* row, absl::Span<const int64_t> dims,
                absl::Span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto index = static_cast<int64_t>(row[d]);
    if (index < 0 || index >= dims[d]) return -1;
    offset += index * strides[d];
  }
  return offset;
}

template <typename Index>
absl::Status ResolveAll(const KernelContext& ctx, const Tensor& indices, const Shape& shape,
                        BadIndices policy, NdIndices& result) {
  const Dims strides = RowMajorStrides(shape);
  const auto indexed = shape.dims().subspan(0, result.depth);
  const Index* rows = indices.values<Index>().data();
  int64_t* offsets = result.offsets.mutable_values<int64_t>().data();
  std::atomic<int64_t> bad{-1};
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, result.count, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      offsets[i] = Resolve(rows + i * result.depth, indexed, strides);
      if (offsets[i] >= 0) continue;
      int64_t first = bad.load(std::memory_order_relaxed);
      while ((first < 0 || i < first) &&
             !bad.compare_exchange_weak(first, i, std::memory_order_relaxed)) {
      }
    }
  }));
  const int64_t first = bad.load();
  if (first < 0 || policy.ignore) return absl::OkStatus();
  const Dims row(rows + first * result.depth, rows + (first + 1) * result.depth);
  const Shape batch = Shape::Trusted(result.batch_dims);
  const std::string at = batch.IsScalar() ? "" : absl::StrCat("[", Coordinates(batch, first), "]");
  return absl::InvalidArgumentError(absl::StrCat("indices", at, " = ", ListToString(row),
                                                 " does not index into shape ", shape.ToString()));
}

}  // namespace

absl::StatusOr<BadIndices> BadIndices::Make(const Node& node) {
  const auto policy = node.attrs.GetOr<std::string>("bad_indices_policy", "");
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return BadIndices{false};
  if (policy == "IGNORE") return BadIndices{true};
  return absl::InvalidArgumentError(
      absl::StrCat("bad_indices_policy must be DEFAULT, ERROR or IGNORE, not ", policy));
}

absl::StatusOr<NdIndices> ResolveNdIndices(const KernelContext& ctx, const Tensor& indices,
                                           const Shape& shape, BadIndices policy) {
  if (indices.rank() == 0) return absl::InvalidArgumentError("indices must be at least a vector");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index innermost dimension length must be <= ", shape.rank(), "; saw: ", depth));
  }
  NdIndices result;
  result.depth = static_cast<int>(depth);
  const auto dims = indices.shape().dims();
  result.batch_dims.assign(dims.begin(), dims.end() - 1);
  GYRE_ASSIGN_OR_RETURN(const Shape batch, Shape::Make(result.batch_dims));
  result.count = batch.num_elements();
  const auto slice = shape.dims().subspan(depth);
  result.slice_dims.assign(slice.begin(), slice.end());
  for (const int64_t dim : slice) result.slice_size *= dim;
  GYRE_ASSIGN_OR_RETURN(result.offsets, ctx.Allocate(DType::kInt64, Shape::Vector(result.count)));
  GYRE_RETURN_IF_ERROR(VisitType<AnyIndexTypes>(indices.dtype(), [&](auto tag) {
    return ResolveAll<typename decltype(tag)::type>(ctx, indices, shape, policy, result);
  }));
  return result;
}

Expr IndicesWithRow(BatchContext& c, int i) {
  const Expr indices = c.stacked(i);
  if (!indices.ok()) return indices;
  ExprBuilder& b = c.builder();
  const int rank = c.row_shape(i).rank();
  const Expr row = batch::WithOnesBehindRows(batch::CountTo(Cast(c.rows(), indices.dtype())), rank);
  const auto known = c.row_shape(i).ToShape();
  Expr dims;  // of one number for each index vector
  if (known) {
    std::vector<int32_t> row_dims(known->dims().begin(), known->dims().end());
    row_dims.back() = 1;
    dims = c.with_rows(b.Ints(row_dims));
  } else {
    const Expr vectors =
        c.op("StridedSlice", {ShapeOf(indices), b.Ints({0}), b.Ints({-1}), b.Ints({1})},
             {{"begin_mask", int64_t{1}}});
    dims = batch::Joined({vectors, b.Ints({1})});
  }
  const Expr rows = c.op("BroadcastTo", {row, dims});
  return c.op("ConcatV2", {rows, indices, b.Int(-1)});
}

}  // namespace gyre
