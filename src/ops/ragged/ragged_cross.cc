// RaggedCross: the crosses of features of ragged, sparse and dense columns, as ragged rows.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/ragged/row_splits.h"
#include "ops/registry.h"
#include "ops/sparse/feature_cross.h"

namespace gyre {
namespace {

struct RaggedCrossAttrs {
  static absl::StatusOr<RaggedCrossAttrs> Make(const Node& node) {
    const auto count = [&](absl::string_view name) {
      return static_cast<int>(NodeAttr<std::vector<DType>>(node, name).size());
    };
    RaggedCrossAttrs attrs;
    attrs.num_ragged = count("ragged_values_types");
    attrs.num_sparse = count("sparse_values_types");
    attrs.num_dense = count("dense_types");
    attrs.order = NodeAttr<std::string>(node, "input_order");
    attrs.is_hashed = NodeAttr<bool>(node, "hashed_output");
    attrs.hash.key = static_cast<uint64_t>(NodeAttr<int64_t>(node, "hash_key"));
    attrs.hash.num_buckets = NodeAttr<int64_t>(node, "num_buckets");
    attrs.split_type = NodeAttr<DType>(node, "out_row_splits_type");
    const DType wanted = attrs.is_hashed ? DType::kInt64 : DType::kString;
    if (count("ragged_splits_types") != attrs.num_ragged ||
        NodeAttr<int64_t>(node, "Nsparse") != attrs.num_sparse) {
      return absl::InvalidArgumentError(
          "there must be a type of row splits for each ragged input, and Nsparse sparse types");
    }
    if (NodeAttr<DType>(node, "out_values_type") != wanted) {
      return absl::InvalidArgumentError(
          absl::StrCat("out_values_type must be ", DTypeName(wanted), " for this hashed_output"));
    }
    int ragged = 0, sparse = 0, dense = 0;
    for (const char kind : attrs.order) {
      ragged += kind == 'R' ? 1 : 0;
      sparse += kind == 'S' ? 1 : 0;
      dense += kind == 'D' ? 1 : 0;
    }
    if (ragged != attrs.num_ragged || sparse != attrs.num_sparse || dense != attrs.num_dense ||
        attrs.order.size() != static_cast<size_t>(ragged + sparse + dense)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input_order must have an R, S or D for each ragged, sparse and dense input, but is '",
          attrs.order, "'"));
    }
    return attrs;
  }

  int num_ragged = 0, num_sparse = 0, num_dense = 0;
  std::string order;
  bool is_hashed = false;
  CrossHash hash;
  DType split_type = DType::kInt64;
};

template <typename Split>
absl::Status SetStarts(const KernelContext& ctx, int input, int64_t size, CrossColumn& column) {
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const Split> splits,
                        SplitsInput<Split>(ctx, input, size, "ragged_row_splits"));
  GYRE_ASSIGN_OR_RETURN(column.starts,
                        RowStarts::Make(ctx, static_cast<int64_t>(splits.size()) - 1));
  for (size_t i = 0; i < splits.size(); ++i) column.starts[static_cast<int64_t>(i)] = splits[i];
  return absl::OkStatus();
}

absl::StatusOr<CrossColumn> RaggedColumnAt(const KernelContext& ctx, int values, int splits) {
  const Tensor& t = ctx.input(values);
  if (t.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the values of ragged inputs must be vectors, but one is of shape ", t.shape().ToString()));
  }
  CrossColumn column = FeaturesOf(t);
  GYRE_RETURN_IF_ERROR(ctx.input(splits).dtype() == DType::kInt64
                           ? SetStarts<int64_t>(ctx, splits, t.dim(0), column)
                           : SetStarts<int32_t>(ctx, splits, t.dim(0), column));
  return column;
}

absl::StatusOr<std::vector<CrossColumn>> Columns(const KernelContext& ctx,
                                                 const RaggedCrossAttrs& attrs) {
  std::vector<CrossColumn> columns;
  int ragged = 0, sparse = 0, dense = 0;
  const int first_sparse = 2 * attrs.num_ragged, first_dense = first_sparse + 3 * attrs.num_sparse;
  for (const char kind : attrs.order) {
    absl::StatusOr<CrossColumn> column;
    if (kind == 'R') {
      column = RaggedColumnAt(ctx, ragged, attrs.num_ragged + ragged);
      ++ragged;
    } else if (kind == 'S') {
      column = SparseColumnAt(ctx, first_sparse + sparse, first_sparse + attrs.num_sparse + sparse,
                              first_sparse + 2 * attrs.num_sparse + sparse);
      ++sparse;
    } else {
      column = DenseColumnAt(ctx, first_dense + dense);
      ++dense;
    }
    GYRE_RETURN_IF_ERROR(column.status());
    columns.push_back(*std::move(column));
  }
  return columns;
}

template <typename Split>
absl::StatusOr<Tensor> SplitsOf(const KernelContext& ctx, const RowStarts& starts) {
  if (starts.total() > std::numeric_limits<Split>::max())
    return absl::InvalidArgumentError("there are more crosses than row splits can count");
  GYRE_ASSIGN_OR_RETURN(Tensor splits,
                        ctx.Allocate(DTypeOf<Split>, Shape::Vector(starts.rows() + 1)));
  Split* to = splits.mutable_values<Split>().data();
  for (const int64_t start : starts.all()) *to++ = static_cast<Split>(start);
  return splits;
}

absl::Status CrossRagged(KernelContext& ctx, const RaggedCrossAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<CrossColumn> columns, Columns(ctx, attrs));
  if (columns.empty()) return absl::InvalidArgumentError("there must be an input at least");
  GYRE_ASSIGN_OR_RETURN(const RowStarts starts, CrossStarts(ctx, columns));
  GYRE_ASSIGN_OR_RETURN(Tensor values, CrossValues(ctx, columns, starts.total(),
                                                   attrs.is_hashed ? &attrs.hash : nullptr, "_X_"));
  GYRE_ASSIGN_OR_RETURN(Tensor splits, attrs.split_type == DType::kInt64
                                           ? SplitsOf<int64_t>(ctx, starts)
                                           : SplitsOf<int32_t>(ctx, starts));
  ctx.set_output(0, std::move(values));
  ctx.set_output(1, std::move(splits));
  return absl::OkStatus();
}

absl::Status CrossRaggedShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(RaggedCrossAttrs::Make(c.node()).status());
  c.set_output(0, PartialShape(Dims{-1}));
  c.set_output(1, PartialShape(Dims{-1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterRaggedCross(OpRegistry& ops) {
  ops.Add({.schema =
               "RaggedCross(ragged_values: ragged_values_types, ragged_row_splits: "
               "ragged_splits_types, sparse_indices: Nsparse * int64, sparse_values: "
               "sparse_values_types, sparse_shape: Nsparse * int64, dense_inputs: dense_types) -> "
               "output_values: out_values_type, output_row_splits: out_row_splits_type {Nsparse: "
               "int >= 0; input_order: string; hashed_output: bool; num_buckets: int >= 0; "
               "hash_key: int; ragged_values_types: list({int64, string}) >= 0; "
               "ragged_splits_types: list({int32, int64}) >= 0; sparse_values_types: list({int64, "
               "string}) >= 0; dense_types: list({int64, string}) >= 0; out_values_type: {int64, "
               "string}; out_row_splits_type: {int32, int64}}",
           .doc = "All combinations of one feature of each column, row by row, as ragged rows.",
           .shape = CrossRaggedShape,
           .gradient = NotDifferentiable("features have no derivative"),
           .kernel = Compute<&CrossRagged>()});
}

}  // namespace gyre
