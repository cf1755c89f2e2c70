// ParseExample, ParseExampleV2, ParseSingleExample: tensors of the features of serialized Examples.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/parse/example_columns.h"
#include "ops/registry.h"

namespace gyre {
namespace {

enum class Form : uint8_t { kV1, kV2, kSingle };

// What a node asks for, as far as attributes say.
struct ParseAttrs {
  static absl::StatusOr<ParseAttrs> Make(const Node& node) {
    ParseAttrs attrs;
    const auto types = [&](absl::string_view name) {
      const auto* list = node.attrs.Get<std::vector<DType>>(name);
      return list == nullptr ? std::vector<DType>() : *list;
    };
    ColumnTypes& columns = attrs.columns;
    columns.sparse = types("sparse_types");
    columns.dense = types("Tdense");
    columns.ragged = types("ragged_value_types");
    columns.splits = types("ragged_split_types");
    columns.shapes = NodeAttr<std::vector<PartialShape>>(node, "dense_shapes");
    const auto* sparse_keys = node.attrs.Get<std::vector<std::string>>("sparse_keys");
    const auto* dense_keys = node.attrs.Get<std::vector<std::string>>("dense_keys");
    if (sparse_keys != nullptr) attrs.sparse_keys = *sparse_keys;
    if (dense_keys != nullptr) attrs.dense_keys = *dense_keys;
    const char* const count = node.attrs.Has("Nsparse") ? "Nsparse" : "num_sparse";
    if (NodeAttr<int64_t>(node, count) != static_cast<int64_t>(columns.sparse.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(count, " must be the number of sparse_types, ", columns.sparse.size()));
    }
    if (node.attrs.Has("Ndense") &&
        NodeAttr<int64_t>(node, "Ndense") != static_cast<int64_t>(columns.dense.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("Ndense must be the number of Tdense, ", columns.dense.size()));
    }
    if (columns.splits.size() != columns.ragged.size()) {
      return absl::InvalidArgumentError(
          "ragged_value_types and ragged_split_types must have equally many elements");
    }
    if (columns.shapes.size() != columns.dense.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dense_shapes must have one element for each "
                       "of ",
                       columns.dense.size(), " Tdense, but has ", columns.shapes.size()));
    }
    for (const PartialShape& shape : columns.shapes) {
      bool is_good = shape.has_rank();
      for (int d = 1; is_good && d < shape.rank(); ++d) is_good = shape.dim(d) >= 0;
      if (is_good && shape.rank() > 0 && shape.dim(0) < 0)
        is_good = StrideOf(shape).ok() && *StrideOf(shape) > 0;
      if (!is_good || !StrideOf(shape).ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "dense_shapes must be known, but perhaps for their first dimension; one is ",
            shape.ToString()));
      }
    }
    return attrs;
  }

  ColumnTypes columns;
  std::vector<std::string> sparse_keys, dense_keys;
};

// One call: which features, where dense defaults begin among the inputs.
struct Call {
  std::vector<Wanted> wanted;  // sparse, dense, ragged
  int first_default = 0;
  absl::Span<const std::string> examples;
  bool is_batch = false;
};

absl::Status AddKeys(const KernelContext& ctx, int input, const std::vector<DType>& types,
                     absl::string_view what, Call& call) {
  const Tensor& keys = ctx.input(input);
  if (keys.rank() != 1 || keys.dim(0) != static_cast<int64_t>(types.size())) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must be a vector of ", types.size(),
                                                   " elements, but is of shape ",
                                                   keys.shape().ToString()));
  }
  for (size_t i = 0; i < types.size(); ++i)
    call.wanted.push_back({keys.values<std::string>()[i], types[i]});
  return absl::OkStatus();
}

absl::Status AddScalarKeys(const KernelContext& ctx, int first, const std::vector<DType>& types,
                           absl::string_view what, Call& call) {
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor& key = ctx.input(first + static_cast<int>(i));
    if (key.rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(what, "[", i,
                                                     "] must be a scalar, but is of "
                                                     "shape ",
                                                     key.shape().ToString()));
    }
    call.wanted.push_back({key.values<std::string>()[0], types[i]});
  }
  return absl::OkStatus();
}

template <Form kForm>
absl::StatusOr<Call> ReadCall(const KernelContext& ctx, const ParseAttrs& attrs) {
  const ColumnTypes& types = attrs.columns;
  Call call;
  const Tensor& serialized = ctx.input(0);
  call.examples = serialized.values<std::string>();
  call.is_batch = serialized.rank() == 1;
  const auto num_sparse = static_cast<int>(types.sparse.size());
  const auto num_dense = static_cast<int>(types.dense.size());
  if constexpr (kForm == Form::kV2) {
    GYRE_RETURN_IF_ERROR(AddKeys(ctx, 2, types.sparse, "sparse_keys", call));
    GYRE_RETURN_IF_ERROR(AddKeys(ctx, 3, types.dense, "dense_keys", call));
    GYRE_RETURN_IF_ERROR(AddKeys(ctx, 4, types.ragged, "ragged_keys", call));
    call.first_default = 5;
  } else if constexpr (kForm == Form::kV1) {
    GYRE_RETURN_IF_ERROR(AddScalarKeys(ctx, 2, types.sparse, "sparse_keys", call));
    GYRE_RETURN_IF_ERROR(AddScalarKeys(ctx, 2 + num_sparse, types.dense, "dense_keys", call));
    call.first_default = 2 + num_sparse + num_dense;
  } else {
    const auto add = [&](const std::vector<std::string>& keys, const std::vector<DType>& dtypes) {
      for (size_t i = 0; i < std::min(keys.size(), dtypes.size()); ++i)
        call.wanted.push_back({keys[i], dtypes[i]});
      return keys.size() == dtypes.size();
    };
    if (!add(attrs.sparse_keys, types.sparse) || !add(attrs.dense_keys, types.dense)) {
      return absl::InvalidArgumentError("there must be one key for each sparse and dense type");
    }
    call.first_default = 1;
  }
  if (serialized.rank() > (kForm == Form::kSingle ? 0 : 1) ||
      (kForm == Form::kV1 && serialized.rank() != 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("serialized must be a ", kForm == Form::kSingle ? "scalar" : "vector",
                     ", but is of shape ", serialized.shape().ToString()));
  }
  if (kForm != Form::kSingle) {
    const Tensor& names = ctx.input(1);
    if (names.num_elements() > 0 && names.shape() != serialized.shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("names must be empty or have the shape of serialized, ",
                       serialized.shape().ToString(), ", but have ", names.shape().ToString()));
    }
  }
  return call;
}

template <Form kForm>
absl::Status Parse(KernelContext& ctx, const ParseAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Call call, ReadCall<kForm>(ctx, attrs));
  return SetColumns(ctx, {.types = attrs.columns,
                          .wanted = call.wanted,
                          .examples = call.examples,
                          .first_default = call.first_default,
                          .is_batch = call.is_batch})
      .status();
}

absl::Status ParseShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const ParseAttrs attrs, ParseAttrs::Make(c.node()));
  const auto num_sparse = static_cast<int>(attrs.columns.sparse.size());
  const PartialShape& serialized = c.input(0);
  if (!serialized.has_rank()) return absl::OkStatus();
  if (serialized.rank() > 1)
    return absl::InvalidArgumentError("serialized must be a scalar or a vector");
  for (int i = 0; i < num_sparse; ++i) {
    c.set_output(i, PartialShape(Dims{-1, serialized.rank() + 1}));
    c.set_output(num_sparse + i, PartialShape(Dims{-1}));
    c.set_output(2 * num_sparse + i, PartialShape(Dims{serialized.rank() + 1}));
  }
  for (size_t i = 0; i < attrs.columns.dense.size(); ++i) {
    Dims dims(serialized.dims().begin(), serialized.dims().end());
    const PartialShape& shape = attrs.columns.shapes[i];
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    c.set_output(3 * num_sparse + static_cast<int>(i), PartialShape(std::move(dims)));
  }
  return absl::OkStatus();
}

template <Form kForm>
void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc) {
  ops.Add({.schema = schema,
           .doc = doc,
           .shape = ParseShape,
           .gradient = NotDifferentiable("bytes have no derivative"),
           .kernel = Compute<&Parse<kForm>>()});
}

}  // namespace

void RegisterParseExample(OpRegistry& ops) {
  Add<Form::kV1>(
      ops,
      "ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: "
      "Ndense * string, dense_defaults: Tdense) -> sparse_indices: Nsparse * int64, sparse_values: "
      "sparse_types, sparse_shapes: Nsparse * int64, dense_values: Tdense {Nsparse: int >= 0; "
      "Ndense: int >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, "
      "int64, string}) >= 0; dense_shapes: list(shape) >= 0}",
      "The features of serialized Examples, as sparse and dense tensors.");
  Add<Form::kV2>(
      ops,
      "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
      "ragged_keys: string, dense_defaults: Tdense) -> sparse_indices: num_sparse * int64, "
      "sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense, "
      "ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types {Tdense: "
      "list({float, int64, string}) >= 0; num_sparse: int >= 0; sparse_types: list({float, int64, "
      "string}) >= 0; ragged_value_types: list({float, int64, string}) >= 0; ragged_split_types: "
      "list({int32, int64}) >= 0; dense_shapes: list(shape) >= 0}",
      "The features of serialized Examples, as sparse, dense and ragged tensors.");
  Add<Form::kSingle>(
      ops,
      "ParseSingleExample(serialized: string, dense_defaults: Tdense) -> sparse_indices: "
      "num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, "
      "dense_values: Tdense {num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: "
      "list(string) >= 0; sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, "
      "int64, string}) >= 0; dense_shapes: list(shape) >= 0}",
      "The features of one serialized Example, as sparse and dense tensors.");
}

}  // namespace gyre
