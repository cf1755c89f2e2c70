// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample: tensors of the context
// and of the feature lists of serialized SequenceExamples.
#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/parse/example_columns.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"

namespace gyre {
namespace {

enum class Form : uint8_t { kV1, kV2, kSingle };

// The columns of one half of a node, the context or the feature lists.
struct Half : ColumnTypes {
  std::vector<std::string> sparse_keys, dense_keys;  // of V1
};

template <typename T>
std::vector<T> ListAttr(const Node& node, absl::string_view name) {
  const auto* list = node.attrs.Get<std::vector<T>>(name);
  return list == nullptr ? std::vector<T>() : *list;
}

absl::Status CheckCount(const Node& node, absl::string_view attr, size_t count) {
  const auto* given = node.attrs.Get<int64_t>(attr);
  if (given == nullptr || *given == static_cast<int64_t>(count)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(attr, " must be the number of its types, ", count, ", but is ", *given));
}

Half ReadHalf(const Node& node, absl::string_view prefix, absl::string_view dense_types) {
  const auto name = [&](absl::string_view rest) { return absl::StrCat(prefix, rest); };
  Half half;
  half.sparse = ListAttr<DType>(node, name("sparse_types"));
  half.dense = ListAttr<DType>(node, dense_types);
  half.ragged = ListAttr<DType>(node, name("ragged_value_types"));
  half.splits = ListAttr<DType>(node, name("ragged_split_types"));
  half.shapes = ListAttr<PartialShape>(node, name("dense_shapes"));
  half.sparse_keys = ListAttr<std::string>(node, name("sparse_keys"));
  half.dense_keys = ListAttr<std::string>(node, name("dense_keys"));
  return half;
}

struct SequenceAttrs {
  static absl::StatusOr<SequenceAttrs> Make(const Node& node) {
    SequenceAttrs attrs;
    Half &context = attrs.context, &lists = attrs.lists;
    context = ReadHalf(node, "context_", "Tcontext_dense");
    lists = ReadHalf(node, "feature_list_", "feature_list_dense_types");
    attrs.assumed_empty = ListAttr<std::string>(node, "feature_list_dense_missing_assumed_empty");
    GYRE_RETURN_IF_ERROR(CheckCount(node, "Ncontext_sparse", context.sparse.size()));
    GYRE_RETURN_IF_ERROR(CheckCount(node, "Ncontext_dense", context.dense.size()));
    GYRE_RETURN_IF_ERROR(CheckCount(node, "Nfeature_list_sparse", lists.sparse.size()));
    GYRE_RETURN_IF_ERROR(CheckCount(node, "Nfeature_list_dense", lists.dense.size()));
    for (const Half* half : {&context, &lists}) {
      if (half->shapes.size() != half->dense.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("there must be a shape for each of ", half->dense.size(),
                         " dense types, but there are ", half->shapes.size()));
      }
      if (half->splits.size() != half->ragged.size()) {
        return absl::InvalidArgumentError(
            "there must be a type of row splits for each ragged value type");
      }
      for (const PartialShape& shape : half->shapes) {
        if (shape.ToShape().has_value()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("dense shapes must be known, but one is ", shape.ToString()));
      }
    }
    return attrs;
  }

  Half context, lists;
  std::vector<std::string> assumed_empty;
};

// One call: which features, which lists, and where the defaults begin among the inputs.
struct Call {
  std::vector<Wanted> context, lists;  // sparse, dense, ragged
  std::vector<bool> may_lack;          // of the dense lists
  int first_default = 0;
  absl::Span<const std::string> examples;
  bool is_batch = false;
};

absl::Status AddKeys(absl::Span<const std::string> keys, const std::vector<DType>& types,
                     absl::string_view what, std::vector<Wanted>& wanted) {
  if (keys.size() != types.size()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": there must be a key for each of ",
                                                   types.size(), " types, but there are ",
                                                   keys.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) wanted.push_back({keys[i], types[i]});
  return absl::OkStatus();
}

// Keys that are scalars, from input `first` on, which is moved behind them.
absl::Status AddScalars(const KernelContext& ctx, int& first, const std::vector<DType>& types,
                        std::vector<Wanted>& wanted) {
  for (const DType type : types) {
    const Tensor& key = ctx.input(first++);
    if (key.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("keys must be scalars, but one is of shape ", key.shape().ToString()));
    }
    wanted.push_back({key.values<std::string>()[0], type});
  }
  return absl::OkStatus();
}

void AllowMissing(absl::Span<const std::string> names, size_t first, Call& call) {
  const std::set<absl::string_view> known(names.begin(), names.end());
  for (size_t i = 0; i < call.may_lack.size(); ++i)
    call.may_lack[i] = known.contains(call.lists[first + i].key);
}

template <Form kForm>
absl::StatusOr<Call> ReadCall(const KernelContext& ctx, const SequenceAttrs& attrs) {
  Call call;
  const Half &context = attrs.context, &lists = attrs.lists;
  call.examples = ctx.input(0).values<std::string>();
  call.is_batch = ctx.input(0).rank() == 1;
  if (ctx.input(0).rank() > 1 || (kForm == Form::kV1 && !call.is_batch) ||
      (kForm == Form::kSingle && call.is_batch)) {
    return absl::InvalidArgumentError(
        absl::StrCat("serialized must be a ", kForm == Form::kSingle ? "scalar" : "vector",
                     ", but is of shape ", ctx.input(0).shape().ToString()));
  }
  call.may_lack.resize(lists.dense.size());
  if constexpr (kForm == Form::kV2) {
    const std::vector<DType>* types[] = {&context.sparse, &context.dense, &context.ragged,
                                         &lists.sparse,   &lists.dense,   &lists.ragged};
    for (int i = 0; i < 6; ++i) {
      GYRE_RETURN_IF_ERROR(AddKeys(ctx.input(2 + i).values<std::string>(), *types[i],
                                   i < 3 ? "context" : "feature lists",
                                   i < 3 ? call.context : call.lists));
    }
    const auto missing = ctx.input(8).values<bool>();
    if (missing.size() != lists.dense.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature_list_dense_missing_assumed_empty must have ", lists.dense.size(),
                       " elements, but has ", missing.size()));
    }
    for (size_t i = 0; i < missing.size(); ++i) call.may_lack[i] = missing[i];
    call.first_default = 9;
  } else if constexpr (kForm == Form::kV1) {
    GYRE_RETURN_IF_ERROR(AddKeys(context.sparse_keys, context.sparse, "context", call.context));
    GYRE_RETURN_IF_ERROR(AddKeys(context.dense_keys, context.dense, "context", call.context));
    GYRE_RETURN_IF_ERROR(AddKeys(lists.sparse_keys, lists.sparse, "feature lists", call.lists));
    GYRE_RETURN_IF_ERROR(AddKeys(lists.dense_keys, lists.dense, "feature lists", call.lists));
    AllowMissing(attrs.assumed_empty, lists.sparse.size(), call);
    call.first_default = 2;
  } else {
    int next = 2;
    GYRE_RETURN_IF_ERROR(AddScalars(ctx, next, context.sparse, call.context));
    GYRE_RETURN_IF_ERROR(AddScalars(ctx, next, context.dense, call.context));
    GYRE_RETURN_IF_ERROR(AddScalars(ctx, next, lists.sparse, call.lists));
    GYRE_RETURN_IF_ERROR(AddScalars(ctx, next, lists.dense, call.lists));
    AllowMissing(ctx.input(1).values<std::string>(), lists.sparse.size(), call);
    call.first_default = next;
  }
  return call;
}

// The steps of one feature list of all examples: example i has those from starts[i] on.
struct Steps {
  std::vector<Feature> steps;
  std::vector<int64_t> starts = {0};

  int64_t count(size_t example) const { return starts[example + 1] - starts[example]; }
  int64_t values() const {
    int64_t n = 0;
    for (const Feature& step : steps) n += step.count;
    return n;
  }
  int64_t most_steps() const {
    int64_t n = 0;
    for (size_t i = 0; i + 1 < starts.size(); ++i) n = std::max(n, count(i));
    return n;
  }
  int64_t most_values() const {
    int64_t n = 0;
    for (const Feature& step : steps) n = std::max(n, step.count);
    return n;
  }
};

std::string ListName(const Wanted& wanted, size_t example) {
  return absl::StrCat("feature list '", absl::Utf8SafeCEscape(wanted.key), "' of example ",
                      example);
}

absl::StatusOr<std::vector<Steps>> FindSteps(const KernelContext& ctx, const Call& call,
                                             size_t first_dense) {
  const size_t width = call.lists.size();
  FeatureNames names;
  for (size_t i = 0; i < width; ++i) {
    if (names.emplace(call.lists[i].key, i).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the key '", absl::Utf8SafeCEscape(call.lists[i].key), "' is wanted twice"));
  }
  std::vector<Steps> all(width);
  int64_t bytes = 0;
  for (size_t example = 0; example < call.examples.size() && width > 0; ++example) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    // A step has two bytes at least.
    bytes += static_cast<int64_t>(call.examples[example].size() / 2 * sizeof(Feature));
    GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, bytes));
    std::vector<std::vector<Feature>> lists(width);
    std::vector<bool> is_there(width);
    if (!FindFeatureLists(call.examples[example], names, absl::MakeSpan(lists), is_there)) {
      return absl::InvalidArgumentError(
          absl::StrCat("could not parse example ", example, " as a SequenceExample"));
    }
    for (size_t i = 0; i < width; ++i) {
      const size_t dense = i - first_dense;
      if (i >= first_dense && dense < call.may_lack.size() && !is_there[i] &&
          !call.may_lack[dense]) {
        return absl::InvalidArgumentError(
            absl::StrCat(ListName(call.lists[i], example), " is required but could not be found"));
      }
      for (const Feature& step : lists[i]) {
        if (step.dtype != DType::kInvalid && step.dtype != call.lists[i].dtype) {
          return absl::InvalidArgumentError(
              absl::StrCat(ListName(call.lists[i], example), ": data types don't match; expected ",
                           DTypeName(call.lists[i].dtype), ", but it has ", DTypeName(step.dtype)));
        }
      }
      all[i].steps.insert(all[i].steps.end(), lists[i].begin(), lists[i].end());
      all[i].starts.push_back(static_cast<int64_t>(all[i].steps.size()));
    }
  }
  return all;
}

absl::StatusOr<Tensor> ValuesOf(const KernelContext& ctx, const Steps& steps, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(dtype, Shape::Vector(steps.values())));
  int64_t at = 0;
  for (size_t i = 0; i < steps.steps.size(); ++i) {
    if (i % 256 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (steps.steps[i].count > 0) GYRE_RETURN_IF_ERROR(ReadInto(ctx, steps.steps[i], values, at));
    at += steps.steps[i].count;
  }
  return values;
}

// Indices, values and shape of a list, from outputs 0, `stride` and 2 * `stride` on.
absl::Status SetSparseSteps(KernelContext& ctx, const Steps& steps, DType dtype, bool is_batch,
                            int output, int stride) {
  const int64_t rank = is_batch ? 3 : 2;
  GYRE_ASSIGN_OR_RETURN(const Shape size, Shape::Make({steps.values(), rank}));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, size));
  int64_t* index = indices.mutable_values<int64_t>().data();
  for (size_t example = 0; example + 1 < steps.starts.size(); ++example) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t step = 0; step < steps.count(example); ++step) {
      for (int64_t i = 0; i < steps.steps[steps.starts[example] + step].count; ++i) {
        if (is_batch) *index++ = static_cast<int64_t>(example);
        *index++ = step;
        *index++ = i;
      }
    }
  }
  GYRE_ASSIGN_OR_RETURN(Tensor values, ValuesOf(ctx, steps, dtype));
  const int64_t most = steps.most_steps(), longest = steps.most_values();
  const auto examples = static_cast<int64_t>(steps.starts.size()) - 1;
  ctx.set_output(output, std::move(indices));
  ctx.set_output(output + stride, std::move(values));
  ctx.set_output(output + 2 * stride, is_batch ? Tensor::Vector<int64_t>({examples, most, longest})
                                               : Tensor::Vector<int64_t>({most, longest}));
  return absl::OkStatus();
}

// The steps of all examples as one tensor, filled up with zeros.
absl::StatusOr<Tensor> DenseSteps(const KernelContext& ctx, const Steps& steps,
                                  const Wanted& wanted, const PartialShape& shape, bool is_batch) {
  const int64_t most = steps.most_steps();
  GYRE_ASSIGN_OR_RETURN(const int64_t width, StrideOf(shape));
  Dims dims;
  if (is_batch) dims.push_back(static_cast<int64_t>(steps.starts.size()) - 1);
  dims.push_back(most);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  GYRE_ASSIGN_OR_RETURN(const Shape whole, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(wanted.dtype, whole));
  for (size_t example = 0; example + 1 < steps.starts.size(); ++example) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t i = 0; i < steps.count(example); ++i) {
      const Feature& step = steps.steps[steps.starts[example] + i];
      if (step.count != width) {
        return absl::InvalidArgumentError(
            absl::StrCat(ListName(wanted, example), ", step ", i, ": number of ",
                         DTypeName(wanted.dtype), " values != expected; there are ", step.count,
                         ", but the shape is ", shape.ToString()));
      }
      if (width == 0) continue;
      const int64_t row = static_cast<int64_t>(example) * most + i;
      GYRE_RETURN_IF_ERROR(ReadInto(ctx, step, out, row * width));
    }
  }
  return out;
}

template <typename Split>
absl::StatusOr<Tensor> SplitsAs(const KernelContext& ctx, const std::vector<int64_t>& starts) {
  if (starts.back() > std::numeric_limits<Split>::max())
    return absl::InvalidArgumentError("there are more values than row splits can count");
  GYRE_ASSIGN_OR_RETURN(
      Tensor splits,
      ctx.Allocate(DTypeOf<Split>, Shape::Vector(static_cast<int64_t>(starts.size()))));
  std::transform(starts.begin(), starts.end(), splits.mutable_values<Split>().data(),
                 [](int64_t start) { return static_cast<Split>(start); });
  return splits;
}

absl::StatusOr<Tensor> SplitsOf(const KernelContext& ctx, const std::vector<int64_t>& starts,
                                DType dtype) {
  return dtype == DType::kInt64 ? SplitsAs<int64_t>(ctx, starts) : SplitsAs<int32_t>(ctx, starts);
}

template <Form kForm>
absl::Status Parse(KernelContext& ctx, const SequenceAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Call call, ReadCall<kForm>(ctx, attrs));
  GYRE_ASSIGN_OR_RETURN(int output, SetColumns(ctx, {.types = attrs.context,
                                                     .wanted = call.context,
                                                     .examples = call.examples,
                                                     .first_default = call.first_default,
                                                     .is_batch = call.is_batch}));
  const Half& half = attrs.lists;
  GYRE_ASSIGN_OR_RETURN(const std::vector<Steps> all, FindSteps(ctx, call, half.sparse.size()));
  const auto num_sparse = static_cast<int>(half.sparse.size());
  size_t at = 0;
  for (int i = 0; i < num_sparse; ++i, ++at) {
    GYRE_RETURN_IF_ERROR(
        SetSparseSteps(ctx, all[at], half.sparse[i], call.is_batch, output + i, num_sparse));
  }
  output += 3 * num_sparse;
  const auto num_dense = static_cast<int>(half.dense.size());
  for (int i = 0; i < num_dense; ++i, ++at) {
    GYRE_ASSIGN_OR_RETURN(Tensor values,
                          DenseSteps(ctx, all[at], call.lists[at], half.shapes[i], call.is_batch));
    ctx.set_output(output + i, std::move(values));
    if (kForm == Form::kSingle) continue;
    const Shape size =
        call.is_batch ? Shape::Vector(static_cast<int64_t>(call.examples.size())) : Shape();
    GYRE_ASSIGN_OR_RETURN(Tensor lengths, ctx.Allocate(DType::kInt64, size));
    for (size_t k = 0; k < call.examples.size(); ++k)
      lengths.mutable_values<int64_t>()[k] = all[at].count(k);
    ctx.set_output(output + num_dense + i, std::move(lengths));
  }
  output += kForm == Form::kSingle ? num_dense : 2 * num_dense;
  const auto num_ragged = static_cast<int>(half.ragged.size());
  for (int i = 0; i < num_ragged; ++i, ++at) {
    std::vector<int64_t> inner = {0};
    for (const Feature& step : all[at].steps) inner.push_back(inner.back() + step.count);
    GYRE_ASSIGN_OR_RETURN(Tensor values, ValuesOf(ctx, all[at], half.ragged[i]));
    GYRE_ASSIGN_OR_RETURN(Tensor outer, SplitsOf(ctx, all[at].starts, half.splits[i]));
    GYRE_ASSIGN_OR_RETURN(Tensor splits, SplitsOf(ctx, inner, half.splits[i]));
    ctx.set_output(output + i, std::move(values));
    ctx.set_output(output + num_ragged + i, std::move(outer));
    ctx.set_output(output + 2 * num_ragged + i, std::move(splits));
  }
  return absl::OkStatus();
}

absl::Status ParseShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const SequenceAttrs attrs, SequenceAttrs::Make(c.node()));
  const PartialShape& serialized = c.input(0);
  if (!serialized.has_rank()) return absl::OkStatus();
  if (serialized.rank() > 1)
    return absl::InvalidArgumentError("serialized must be a scalar or a vector");
  int output = 0;
  const auto set_sparse = [&](size_t count, int64_t rank) {
    const auto n = static_cast<int>(count);
    for (int i = 0; i < n; ++i) {
      c.set_output(output + i, PartialShape(Dims{-1, rank}));
      c.set_output(output + n + i, PartialShape(Dims{-1}));
      c.set_output(output + 2 * n + i, PartialShape(Dims{rank}));
    }
    output += 3 * n;
  };
  const auto set_dense = [&](const std::vector<PartialShape>& shapes, bool has_steps) {
    for (const PartialShape& shape : shapes) {
      Dims dims(serialized.dims().begin(), serialized.dims().end());
      if (has_steps) dims.push_back(-1);
      dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
      c.set_output(output++, PartialShape(std::move(dims)));
    }
  };
  set_sparse(attrs.context.sparse.size(), serialized.rank() + 1);
  set_dense(attrs.context.shapes, false);
  output += static_cast<int>(2 * attrs.context.ragged.size());
  set_sparse(attrs.lists.sparse.size(), serialized.rank() + 2);
  set_dense(attrs.lists.shapes, true);
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

void RegisterParseSequenceExample(OpRegistry& ops) {
  Add<Form::kV1>(
      ops,
      "ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults: "
      "Tcontext_dense) -> context_sparse_indices: Ncontext_sparse * int64, "
      "context_sparse_values: context_sparse_types, context_sparse_shapes: Ncontext_sparse * "
      "int64, context_dense_values: Tcontext_dense, feature_list_sparse_indices: "
      "Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, "
      "feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: "
      "feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64 "
      "{feature_list_dense_missing_assumed_empty: list(string) >= 0; context_sparse_keys: "
      "list(string) >= 0; context_dense_keys: list(string) >= 0; feature_list_sparse_keys: "
      "list(string) >= 0; feature_list_dense_keys: list(string) >= 0; Ncontext_sparse: int >= 0 = "
      "0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: "
      "int >= 0 = 0; context_sparse_types: list({float, int64, string}) >= 0 = []; "
      "Tcontext_dense: list({float, int64, string}) >= 0 = []; feature_list_dense_types: "
      "list({float, int64, string}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = []; "
      "feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
      "feature_list_dense_shapes: list(shape) >= 0 = []}",
      "The context and the feature lists of serialized SequenceExamples, as sparse and dense "
      "tensors.");
  Add<Form::kV2>(
      ops,
      "ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string, "
      "context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, "
      "feature_list_dense_keys: string, feature_list_ragged_keys: string, "
      "feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: Tcontext_dense) -> "
      "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: "
      "context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: "
      "Tcontext_dense, context_ragged_values: context_ragged_value_types, "
      "context_ragged_row_splits: context_ragged_split_types, feature_list_sparse_indices: "
      "Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, "
      "feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: "
      "feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64, "
      "feature_list_ragged_values: feature_list_ragged_value_types, "
      "feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
      "feature_list_ragged_inner_splits: feature_list_ragged_split_types {Ncontext_sparse: int >= "
      "0 = 0; Tcontext_dense: list({float, int64, string}) >= 0 = []; context_sparse_types: "
      "list({float, int64, string}) >= 0 = []; context_ragged_value_types: list({float, int64, "
      "string}) >= 0 = []; context_ragged_split_types: list({int32, int64}) >= 0 = []; "
      "context_dense_shapes: list(shape) >= 0 = []; Nfeature_list_sparse: int >= 0 = 0; "
      "Nfeature_list_dense: int >= 0 = 0; feature_list_dense_types: list({float, int64, string}) "
      ">= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
      "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []; "
      "feature_list_ragged_split_types: list({int32, int64}) >= 0 = []; feature_list_dense_shapes: "
      "list(shape) >= 0 = []}",
      "The context and the feature lists of serialized SequenceExamples, as sparse, dense and "
      "ragged tensors.");
  Add<Form::kSingle>(
      ops,
      "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: "
      "string, context_sparse_keys: Ncontext_sparse * string, context_dense_keys: Ncontext_dense * "
      "string, feature_list_sparse_keys: Nfeature_list_sparse * string, feature_list_dense_keys: "
      "Nfeature_list_dense * string, context_dense_defaults: Tcontext_dense, debug_name: string) "
      "-> context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: "
      "context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: "
      "Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, "
      "feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: "
      "Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types "
      "{Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= "
      "0 = 0; Nfeature_list_dense: int >= 0 = 0; context_sparse_types: list({float, int64, "
      "string}) >= 0 = []; Tcontext_dense: list({float, int64, string}) >= 0 = []; "
      "feature_list_dense_types: list({float, int64, string}) >= 0 = []; context_dense_shapes: "
      "list(shape) >= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
      "feature_list_dense_shapes: list(shape) >= 0 = []}",
      "The context and the feature lists of one serialized SequenceExample, as sparse and dense "
      "tensors.");
}

}  // namespace gyre
