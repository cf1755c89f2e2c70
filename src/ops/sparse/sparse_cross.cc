// SparseCross, SparseCrossV2, SparseCrossHashed: the crosses of features of sparse and dense
// columns, as a sparse matrix.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/sparse/feature_cross.h"
#include "ops/sparse/sparse_tensor.h"

namespace gyre {
namespace {

// Which inputs are what: indices, values and shapes of the sparse ones, then the dense ones.
struct CrossInputs {
  static absl::StatusOr<CrossInputs> Make(const Node& node) {
    const auto& sparse = NodeAttr<std::vector<DType>>(node, "sparse_types");
    const auto count = NodeAttr<int64_t>(node, "N");
    if (count != static_cast<int64_t>(sparse.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("N must be the number of sparse_types, ", sparse.size()));
    }
    const auto& dense = NodeAttr<std::vector<DType>>(node, "dense_types");
    return CrossInputs{static_cast<int>(count), static_cast<int>(dense.size())};
  }

  int end() const { return 3 * num_sparse + num_dense; }

  int num_sparse, num_dense;
};

absl::Status Cross(KernelContext& ctx, const CrossInputs& inputs, const CrossHash* hash,
                   absl::string_view separator) {
  std::vector<CrossColumn> columns;
  for (int i = 0; i < inputs.num_sparse; ++i) {
    GYRE_ASSIGN_OR_RETURN(CrossColumn column,
                          SparseColumnAt(ctx, i, inputs.num_sparse + i, 2 * inputs.num_sparse + i));
    columns.push_back(std::move(column));
  }
  for (int i = 0; i < inputs.num_dense; ++i) {
    GYRE_ASSIGN_OR_RETURN(CrossColumn column, DenseColumnAt(ctx, 3 * inputs.num_sparse + i));
    columns.push_back(std::move(column));
  }
  if (columns.empty()) return absl::InvalidArgumentError("there must be an input at least");
  GYRE_ASSIGN_OR_RETURN(const RowStarts starts, CrossStarts(ctx, columns));
  GYRE_ASSIGN_OR_RETURN(Tensor values, CrossValues(ctx, columns, starts.total(), hash, separator));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, NewIndices(ctx, starts.total(), 2));
  int64_t* index = indices.mutable_values<int64_t>().data();
  int64_t longest = 0;
  for (int64_t row = 0; row < starts.rows(); ++row) {
    if (row % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t count = starts.count(row);
    longest = std::max(longest, count);
    for (int64_t i = 0; i < count; ++i) {
      if (i % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      *index++ = row;
      *index++ = i;
    }
  }
  GYRE_ASSIGN_OR_RETURN(Tensor shape, ShapeVector(ctx, {starts.rows(), longest}));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, std::move(shape));
  return absl::OkStatus();
}

// SparseCross: its attributes say all.
struct CrossAttrs {
  static absl::StatusOr<CrossAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const CrossInputs inputs, CrossInputs::Make(node));
    CrossAttrs attrs{inputs, NodeAttr<bool>(node, "hashed_output"), {}};
    attrs.hash.key = static_cast<uint64_t>(NodeAttr<int64_t>(node, "hash_key"));
    attrs.hash.num_buckets = NodeAttr<int64_t>(node, "num_buckets");
    const DType wanted = attrs.is_hashed ? DType::kInt64 : DType::kString;
    if (NodeAttr<DType>(node, "out_type") != wanted) {
      return absl::InvalidArgumentError(
          absl::StrCat("with hashed_output = ", attrs.is_hashed ? "true" : "false",
                       ", out_type must be ", DTypeName(wanted)));
    }
    return attrs;
  }
  CrossInputs inputs;
  bool is_hashed;
  CrossHash hash;
};

absl::Status CrossByAttrs(KernelContext& ctx, const CrossAttrs& attrs) {
  return Cross(ctx, attrs.inputs, attrs.is_hashed ? &attrs.hash : nullptr, "_X_");
}

absl::Status CrossWithSeparator(KernelContext& ctx, const CrossInputs& inputs) {
  const Tensor& separator = ctx.input(inputs.end());
  if (separator.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("sep must be a scalar, but its shape is ", separator.shape().ToString()));
  }
  return Cross(ctx, inputs, nullptr, separator.values<std::string>()[0]);
}

absl::Status CrossHashed(KernelContext& ctx, const CrossInputs& inputs) {
  const Tensor &buckets = ctx.input(inputs.end()), &strong = ctx.input(inputs.end() + 1);
  const Tensor& salt = ctx.input(inputs.end() + 2);
  if (buckets.rank() != 0 || strong.rank() != 0 || salt.rank() != 1 || salt.dim(0) != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_buckets and strong_hash must be scalars and salt two numbers, but their shapes are ",
        buckets.shape().ToString(), ", ", strong.shape().ToString(), " and ",
        salt.shape().ToString()));
  }
  CrossHash hash;
  hash.form = strong.values<bool>()[0] ? CrossHash::Form::kStrong : CrossHash::Form::kPlain;
  hash.num_buckets = buckets.values<int64_t>()[0];
  if (hash.num_buckets < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_buckets must not be below 0, but is ", hash.num_buckets));
  }
  for (int i = 0; i < 2; ++i) hash.salt[i] = static_cast<uint64_t>(salt.values<int64_t>()[i]);
  return Cross(ctx, inputs, &hash, "");
}

absl::Status CrossShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const CrossInputs inputs, CrossInputs::Make(c.node()));
  for (int i = 0; i < inputs.num_sparse; ++i) {
    GYRE_RETURN_IF_ERROR(RequireSparse(c, i, inputs.num_sparse + i, 2 * inputs.num_sparse + i));
  }
  for (int i = 0; i < inputs.num_dense; ++i)
    GYRE_RETURN_IF_ERROR(c.RequireRank(3 * inputs.num_sparse + i, 2));
  SetSparse(c, 0, -1, 2);
  return absl::OkStatus();
}

void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc, KernelFactory kernel) {
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = CrossShape,
           .gradient = NotDifferentiable("features have no derivative"),
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterSparseCross(OpRegistry& ops) {
  Add(ops,
      "SparseCross(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: "
      "dense_types) -> output_indices: int64, output_values: out_type, output_shape: int64 {N: int "
      ">= 0; hashed_output: bool; num_buckets: int >= 0; hash_key: int; sparse_types: list({int64, "
      "string}) >= 0; dense_types: list({int64, string}) >= 0; out_type: {int64, string}; "
      "internal_type: {int64, string}}",
      "All combinations of one feature of each column, row by row: joined, or hashed.",
      Compute<&CrossByAttrs>());
  Add(ops,
      "SparseCrossV2(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: "
      "dense_types, sep: string) -> output_indices: int64, output_values: string, output_shape: "
      "int64 {N: int >= 0; sparse_types: list({int64, string}) >= 0; dense_types: list({int64, "
      "string}) >= 0}",
      "All combinations of one feature of each column, row by row, joined by a separator.",
      Compute<&CrossWithSeparator>());
  Add(ops,
      "SparseCrossHashed(indices: N * int64, values: sparse_types, shapes: N * int64, "
      "dense_inputs: dense_types, num_buckets: int64, strong_hash: bool, salt: int64) -> "
      "output_indices: int64, output_values: int64, output_shape: int64 {N: int >= 0; "
      "sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0}",
      "All combinations of one feature of each column, row by row, hashed.",
      Compute<&CrossHashed>());
}

}  // namespace gyre
