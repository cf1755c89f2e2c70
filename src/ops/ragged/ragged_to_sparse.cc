// RaggedTensorToSparse: a ragged tensor as a sparse one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/ragged/row_splits.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct SparseAttrs {
  explicit SparseAttrs(const Node& node)
      : rank(static_cast<int>(NodeAttr<int64_t>(node, "RAGGED_RANK"))) {}
  int rank;
};

template <typename Split>
struct ToSparseKernel {
  static absl::Status Run(KernelContext& ctx, const SparseAttrs& attrs) {
    const Tensor& values = ctx.input(attrs.rank);
    if (values.rank() < 1) {
      return absl::InvalidArgumentError("the values of a ragged tensor cannot be a scalar");
    }
    std::vector<absl::Span<const Split>> splits;
    for (int i = 0; i < attrs.rank; ++i) {
      const int64_t size = i + 1 < attrs.rank ? ctx.input(i + 1).num_elements() - 1 : values.dim(0);
      GYRE_ASSIGN_OR_RETURN(splits.emplace_back(),
                            SplitsInput<Split>(ctx, i, size, absl::StrCat("row splits ", i)));
    }
    Dims dims = {static_cast<int64_t>(splits[0].size()) - 1};
    for (const absl::Span<const Split> level : splits) {
      int64_t longest = 0;
      for (size_t i = 1; i < level.size(); ++i)
        longest = std::max<int64_t>(longest, level[i] - level[i - 1]);
      dims.push_back(longest);
    }
    for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
    const auto rank = static_cast<int64_t>(dims.size());
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({values.num_elements(), rank}));
    GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, shape));
    GYRE_RETURN_IF_ERROR(
        Fill(ctx, splits, values.shape(), rank, static_cast<int64_t*>(indices.mutable_raw_data())));
    GYRE_ASSIGN_OR_RETURN(Tensor dense_shape, ctx.Allocate(DType::kInt64, Shape::Vector(rank)));
    std::copy(dims.begin(), dims.end(), static_cast<int64_t*>(dense_shape.mutable_raw_data()));
    ctx.set_output(0, std::move(indices));
    ctx.set_output(1, values.Reshaped(Shape::Vector(values.num_elements())));
    ctx.set_output(2, std::move(dense_shape));
    return absl::OkStatus();
  }

 private:
  static absl::Status Fill(const KernelContext& ctx,
                           const std::vector<absl::Span<const Split>>& splits, const Shape& values,
                           int64_t rank, int64_t* index) {
    const size_t levels = splits.size();
    const int64_t n = values.dim(0);
    const int64_t width = n == 0 ? 0 : values.num_elements() / n;
    std::vector<int64_t> row(levels, 0);  // by level, the row that the value is in
    for (int64_t i = 0; i < n; ++i) {
      int64_t inner = i;
      for (size_t level = levels; level-- > 0;) {
        while (splits[level][row[level] + 1] <= inner) ++row[level];
        inner = row[level];
      }
      for (int64_t j = 0; j < width; ++j) {
        if ((i * width + j) % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        int64_t* at = index + (i * width + j) * rank;
        at[0] = row[0];
        for (size_t level = 0; level < levels; ++level) {
          const int64_t child = level + 1 < levels ? row[level + 1] : i;
          at[level + 1] = child - splits[level][row[level]];
        }
        int64_t rest = j;
        for (int d = values.rank() - 1; d >= 1; --d) {
          at[levels + static_cast<size_t>(d)] = rest % values.dim(d);
          rest /= values.dim(d);
        }
      }
    }
    return absl::OkStatus();
  }
};

absl::Status ToSparseShape(ShapeContext& c) {
  const SparseAttrs attrs(c.node());
  const PartialShape& values = c.input(attrs.rank);
  int64_t n = -1, rank = -1;
  if (values.has_rank()) {
    rank = attrs.rank + values.rank();
    n = values.IsFullyKnown() && values.ToShape() ? values.ToShape()->num_elements() : -1;
  }
  c.set_output(0, PartialShape(Dims{n, rank}));
  c.set_output(1, PartialShape(Dims{n}));
  c.set_output(2, PartialShape(Dims{rank}));
  return absl::OkStatus();
}

void ToSparseGradient(GradientContext& g) {
  const auto rank = static_cast<int>(g.attr<int64_t>("RAGGED_RANK", 1));
  if (g.wants(rank) && g.has_grad(1)) g.Add(rank, Reshape(g.grad(1), g.input_dims(rank)));
}

}  // namespace

void RegisterRaggedToSparse(OpRegistry& ops) {
  ops.Add({.schema = "RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK * Tsplits, "
                     "rt_dense_values: T) -> sparse_indices: int64, sparse_values: T, "
                     "sparse_dense_shape: int64 {RAGGED_RANK: int >= 1; T: type; Tsplits: {int32, "
                     "int64} = int64}",
           .doc = "A ragged tensor as a sparse one.",
           .shape = ToSparseShape,
           .gradient = {ToSparseGradient},
           .kernel = ForTypes<ToSparseKernel, IndexTypes>("Tsplits")});
}

}  // namespace gyre
