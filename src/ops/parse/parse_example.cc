// ParseExample, ParseExampleV2, ParseSingleExample: tensors of the features of serialized Examples.
#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/parse/feature.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using FeatureTypes = Types<float, int64_t, std::string>;

enum class Form : uint8_t { kV1, kV2, kSingle };

// What a node asks for, as far as attributes say.
struct ParseAttrs {
  static absl::StatusOr<ParseAttrs> Make(const Node& node) {
    ParseAttrs attrs;
    const auto types = [&](absl::string_view name) {
      const auto* list = node.attrs.Get<std::vector<DType>>(name);
      return list == nullptr ? std::vector<DType>() : *list;
    };
    attrs.sparse = types("sparse_types");
    attrs.dense = types("Tdense");
    attrs.ragged = types("ragged_value_types");
    attrs.splits = types("ragged_split_types");
    attrs.dense_shapes = NodeAttr<std::vector<PartialShape>>(node, "dense_shapes");
    const auto* sparse_keys = node.attrs.Get<std::vector<std::string>>("sparse_keys");
    const auto* dense_keys = node.attrs.Get<std::vector<std::string>>("dense_keys");
    if (sparse_keys != nullptr) attrs.sparse_keys = *sparse_keys;
    if (dense_keys != nullptr) attrs.dense_keys = *dense_keys;
    const char* const count = node.attrs.Has("Nsparse") ? "Nsparse" : "num_sparse";
    if (NodeAttr<int64_t>(node, count) != static_cast<int64_t>(attrs.sparse.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(count, " must be the number of sparse_types, ", attrs.sparse.size()));
    }
    if (node.attrs.Has("Ndense") &&
        NodeAttr<int64_t>(node, "Ndense") != static_cast<int64_t>(attrs.dense.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("Ndense must be the number of Tdense, ", attrs.dense.size()));
    }
    if (attrs.splits.size() != attrs.ragged.size()) {
      return absl::InvalidArgumentError(
          "ragged_value_types and ragged_split_types must have equally many elements");
    }
    if (attrs.dense_shapes.size() != attrs.dense.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dense_shapes must have one element for each "
                       "of ",
                       attrs.dense.size(), " Tdense, but has ", attrs.dense_shapes.size()));
    }
    for (const PartialShape& shape : attrs.dense_shapes) {
      bool is_good = shape.has_rank();
      for (int d = 1; is_good && d < shape.rank(); ++d) is_good = shape.dim(d) >= 0;
      if (is_good && shape.rank() > 0 && shape.dim(0) < 0)
        is_good = Stride(shape).ok() && *Stride(shape) > 0;
      if (!is_good || !Stride(shape).ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "dense_shapes must be known, but perhaps for their first dimension; one is ",
            shape.ToString()));
      }
    }
    return attrs;
  }

  // Elements of what the first dimension counts.
  static absl::StatusOr<int64_t> Stride(const PartialShape& shape) {
    if (!shape.has_rank()) return absl::InvalidArgumentError("no rank");
    Dims dims;
    for (int d = shape.rank() > 0 && shape.dim(0) < 0 ? 1 : 0; d < shape.rank(); ++d)
      dims.push_back(shape.dim(d));
    GYRE_ASSIGN_OR_RETURN(const Shape known, Shape::Make(dims));
    return known.num_elements();
  }

  std::vector<DType> sparse, dense, ragged, splits;
  std::vector<PartialShape> dense_shapes;
  std::vector<std::string> sparse_keys, dense_keys;
};

// A feature that is wanted.
struct Wanted {
  absl::string_view key;
  DType dtype;
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
  Call call;
  const Tensor& serialized = ctx.input(0);
  call.examples = serialized.values<std::string>();
  call.is_batch = serialized.rank() == 1;
  const auto num_sparse = static_cast<int>(attrs.sparse.size());
  const auto num_dense = static_cast<int>(attrs.dense.size());
  if constexpr (kForm == Form::kV2) {
    GYRE_RETURN_IF_ERROR(AddKeys(ctx, 2, attrs.sparse, "sparse_keys", call));
    GYRE_RETURN_IF_ERROR(AddKeys(ctx, 3, attrs.dense, "dense_keys", call));
    GYRE_RETURN_IF_ERROR(AddKeys(ctx, 4, attrs.ragged, "ragged_keys", call));
    call.first_default = 5;
  } else if constexpr (kForm == Form::kV1) {
    GYRE_RETURN_IF_ERROR(AddScalarKeys(ctx, 2, attrs.sparse, "sparse_keys", call));
    GYRE_RETURN_IF_ERROR(AddScalarKeys(ctx, 2 + num_sparse, attrs.dense, "dense_keys", call));
    call.first_default = 2 + num_sparse + num_dense;
  } else {
    const auto add = [&](const std::vector<std::string>& keys, const std::vector<DType>& types) {
      for (size_t i = 0; i < std::min(keys.size(), types.size()); ++i)
        call.wanted.push_back({keys[i], types[i]});
      return keys.size() == types.size();
    };
    if (!add(attrs.sparse_keys, attrs.sparse) || !add(attrs.dense_keys, attrs.dense)) {
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

// All features that are wanted, of all examples: example i has those from i * wanted.size() on.
absl::StatusOr<std::vector<Feature>> FindAll(const KernelContext& ctx, const Call& call) {
  const size_t width = call.wanted.size();
  FeatureNames names;
  for (size_t i = 0; i < width; ++i) {
    if (!names.emplace(call.wanted[i].key, i).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the key '", absl::Utf8SafeCEscape(call.wanted[i].key), "' is wanted twice"));
    }
  }
  const auto n = static_cast<int64_t>(call.examples.size());
  GYRE_ASSIGN_OR_RETURN(const Shape size, Shape::Make({n, static_cast<int64_t>(width), 3}));
  GYRE_RETURN_IF_ERROR(ctx.Allocate(DType::kComplex128, size).status());
  std::vector<Feature> all(call.examples.size() * width);
  std::atomic<int64_t> malformed{n};
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto features = absl::MakeSpan(all).subspan(static_cast<size_t>(i) * width, width);
      if (FindFeatures(call.examples[i], names, features)) continue;
      int64_t first = malformed.load();
      while (i < first && !malformed.compare_exchange_weak(first, i)) {
      }
    }
  }));
  if (malformed < n) {
    return absl::InvalidArgumentError(
        absl::StrCat("could not parse example ", malformed.load(), ": '",
                     absl::Utf8SafeCEscape(call.examples[malformed].substr(0, 100)), "'"));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Wanted& wanted = call.wanted[i % width];
    if (all[i].dtype == DType::kInvalid || all[i].dtype == wanted.dtype) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("key '", absl::Utf8SafeCEscape(wanted.key), "' of example ", i / width,
                     ": data types "
                     "don't match; expected ",
                     DTypeName(wanted.dtype), ", but it has ", DTypeName(all[i].dtype)));
  }
  return all;
}

// One feature of all examples.
class Column {
 public:
  Column(const std::vector<Feature>& all, const Call& call, size_t at)
      : all_(all), width_(call.wanted.size()), at_(at), call_(call) {}
  size_t size() const { return call_.examples.size(); }
  const Feature& operator[](size_t i) const { return all_[i * width_ + at_]; }
  const Wanted& wanted() const { return call_.wanted[at_]; }
  int64_t total() const {
    int64_t n = 0;
    for (size_t i = 0; i < size(); ++i) n += (*this)[i].count;
    return n;
  }
  int64_t longest() const {
    int64_t n = 0;
    for (size_t i = 0; i < size(); ++i) n = std::max(n, (*this)[i].count);
    return n;
  }
  std::string Name(size_t example) const {
    return absl::StrCat("key '", absl::Utf8SafeCEscape(wanted().key), "' of example ", example);
  }

 private:
  const std::vector<Feature>& all_;
  const size_t width_, at_;
  const Call& call_;
};

// Writes values of examples, one behind the other.
absl::Status ReadInto(const KernelContext& ctx, const Feature& feature, Tensor& out, int64_t at) {
  GYRE_RETURN_IF_ERROR(ChargeTextOf(ctx, out, FeatureTextBytes(feature)));
  return VisitType<FeatureTypes>(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ReadFeature(feature, static_cast<T*>(out.mutable_raw_data()) + at);
    return absl::OkStatus();
  });
}

absl::StatusOr<Tensor> AllValues(const KernelContext& ctx, const Column& column) {
  GYRE_ASSIGN_OR_RETURN(Tensor values,
                        ctx.Allocate(column.wanted().dtype, Shape::Vector(column.total())));
  int64_t at = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    if (i % 64 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (column[i].count == 0) continue;
    GYRE_RETURN_IF_ERROR(ReadInto(ctx, column[i], values, at));
    at += column[i].count;
  }
  return values;
}

// Indices and shape of a sparse feature.
absl::StatusOr<std::pair<Tensor, Tensor>> SparsePlaces(const KernelContext& ctx,
                                                       const Column& column, bool is_batch) {
  const int64_t rank = is_batch ? 2 : 1;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({column.total(), rank}));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, shape));
  int64_t* index = static_cast<int64_t*>(indices.mutable_raw_data());
  for (size_t i = 0; i < column.size(); ++i) {
    if (i % 64 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t j = 0; j < column[i].count; ++j) {
      if (is_batch) *index++ = static_cast<int64_t>(i);
      *index++ = j;
    }
  }
  Tensor dense_shape =
      is_batch ? Tensor::Vector<int64_t>({static_cast<int64_t>(column.size()), column.longest()})
               : Tensor::Vector<int64_t>({column.longest()});
  return std::pair(std::move(indices), std::move(dense_shape));
}

// A dense feature of one size in all examples, or of a first dimension that is as large as need be.
class DenseColumn {
 public:
  static absl::StatusOr<DenseColumn> Make(const Column& column, const PartialShape& shape,
                                          const Tensor& filler, bool is_batch) {
    DenseColumn dense{column, shape, filler, is_batch};
    GYRE_ASSIGN_OR_RETURN(dense.stride_, ParseAttrs::Stride(shape));
    dense.is_open_ = shape.rank() > 0 && shape.dim(0) < 0;
    if (dense.is_open_ ? filler.num_elements() > 1
                       : filler.num_elements() > 0 && !shape.Allows(filler.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("the default of '", absl::Utf8SafeCEscape(column.wanted().key), "' must be ",
                       dense.is_open_ ? "one element" : absl::StrCat("of shape ", shape.ToString()),
                       ", but is of shape ", filler.shape().ToString()));
    }
    return dense;
  }

  absl::StatusOr<Tensor> Values(const KernelContext& ctx) const {
    GYRE_RETURN_IF_ERROR(Check());
    const int64_t rows = is_open_ ? column_.longest() / stride_ : 1;
    Dims dims;
    if (is_batch_) dims.push_back(static_cast<int64_t>(column_.size()));
    for (int d = 0; d < shape_.rank(); ++d)
      dims.push_back(d == 0 && is_open_ ? rows : shape_.dim(d));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(column_.wanted().dtype, shape));
    const int64_t width = rows * stride_;
    for (size_t i = 0; i < column_.size(); ++i) {
      if (i % 64 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const int64_t at = static_cast<int64_t>(i) * width;
      const Feature& feature = column_[i];
      if (feature.dtype != DType::kInvalid) GYRE_RETURN_IF_ERROR(ReadInto(ctx, feature, out, at));
      const int64_t present = feature.dtype == DType::kInvalid ? 0 : feature.count;
      if (filler_.num_elements() == 0 || present == width) continue;
      GYRE_RETURN_IF_ERROR(VisitType<FeatureTypes>(out.dtype(), [&](auto tag) -> absl::Status {
        using T = typename decltype(tag)::type;
        const T* from = static_cast<const T*>(filler_.raw_data());
        T* to = static_cast<T*>(out.mutable_raw_data()) + at;
        Mover<T> mover(ctx, out);
        for (int64_t k = present; k < width; ++k) mover.Set(to[k], from[is_open_ ? 0 : k]);
        return mover.status();
      }));
    }
    return out;
  }

 private:
  DenseColumn(const Column& column, const PartialShape& shape, const Tensor& filler, bool is_batch)
      : column_(column), shape_(shape), filler_(filler), is_batch_(is_batch) {}

  absl::Status Check() const {
    for (size_t i = 0; i < column_.size(); ++i) {
      const Feature& feature = column_[i];
      if (feature.dtype == DType::kInvalid) {
        if (is_open_ || filler_.num_elements() > 0) continue;
        return absl::InvalidArgumentError(absl::StrCat(column_.Name(i), " (of type ",
                                                       DTypeName(column_.wanted().dtype),
                                                       ") is required but could not be found"));
      }
      if (is_open_ ? feature.count % stride_ == 0 : feature.count == stride_) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(column_.Name(i), ": number of ", DTypeName(column_.wanted().dtype),
                       " values != expected; there are ", feature.count, ", but the shape is ",
                       shape_.ToString()));
    }
    return absl::OkStatus();
  }

  const Column column_;
  const PartialShape& shape_;
  const Tensor& filler_;
  const bool is_batch_;
  int64_t stride_ = 1;
  bool is_open_ = false;
};

template <typename Split>
absl::StatusOr<Tensor> RaggedSplits(const KernelContext& ctx, const Column& column) {
  const auto n = static_cast<int64_t>(column.size());
  GYRE_ASSIGN_OR_RETURN(Tensor splits, ctx.Allocate(DTypeOf<Split>, Shape::Vector(n + 1)));
  Split* to = static_cast<Split*>(splits.mutable_raw_data());
  int64_t total = 0;
  to[0] = 0;
  for (int64_t i = 0; i < n; ++i) {
    total += column[static_cast<size_t>(i)].count;
    if (total > std::numeric_limits<Split>::max()) {
      return absl::InvalidArgumentError("there are more values than row splits can count");
    }
    to[i + 1] = static_cast<Split>(total);
  }
  return splits;
}

template <Form kForm>
absl::Status Parse(KernelContext& ctx, const ParseAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Call call, ReadCall<kForm>(ctx, attrs));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Feature> all, FindAll(ctx, call));
  const size_t num_sparse = attrs.sparse.size(), num_dense = attrs.dense.size();
  const auto place = [&](size_t block, size_t i) {
    return static_cast<int>(block * num_sparse + i);
  };
  for (size_t i = 0; i < num_sparse; ++i) {
    const Column column(all, call, i);
    GYRE_ASSIGN_OR_RETURN(auto places, SparsePlaces(ctx, column, call.is_batch));
    GYRE_ASSIGN_OR_RETURN(Tensor values, AllValues(ctx, column));
    ctx.set_output(place(0, i), std::move(places.first));
    ctx.set_output(place(1, i), std::move(values));
    ctx.set_output(place(2, i), std::move(places.second));
  }
  for (size_t i = 0; i < num_dense; ++i) {
    const Tensor& filler = ctx.input(call.first_default + static_cast<int>(i));
    GYRE_ASSIGN_OR_RETURN(const DenseColumn dense,
                          DenseColumn::Make(Column(all, call, num_sparse + i),
                                            attrs.dense_shapes[i], filler, call.is_batch));
    GYRE_ASSIGN_OR_RETURN(Tensor values, dense.Values(ctx));
    ctx.set_output(place(3, i), std::move(values));
  }
  const size_t num_ragged = attrs.ragged.size();
  for (size_t i = 0; i < num_ragged; ++i) {
    const Column column(all, call, num_sparse + num_dense + i);
    GYRE_ASSIGN_OR_RETURN(Tensor values, AllValues(ctx, column));
    GYRE_ASSIGN_OR_RETURN(Tensor splits, attrs.splits[i] == DType::kInt64
                                             ? RaggedSplits<int64_t>(ctx, column)
                                             : RaggedSplits<int32_t>(ctx, column));
    ctx.set_output(place(3, num_dense + i), std::move(values));
    ctx.set_output(place(3, num_dense + num_ragged + i), std::move(splits));
  }
  return absl::OkStatus();
}

absl::Status ParseShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const ParseAttrs attrs, ParseAttrs::Make(c.node()));
  const auto num_sparse = static_cast<int>(attrs.sparse.size());
  const PartialShape& serialized = c.input(0);
  if (!serialized.has_rank()) return absl::OkStatus();
  if (serialized.rank() > 1)
    return absl::InvalidArgumentError("serialized must be a scalar or a vector");
  for (int i = 0; i < num_sparse; ++i) {
    c.set_output(i, PartialShape(Dims{-1, serialized.rank() + 1}));
    c.set_output(num_sparse + i, PartialShape(Dims{-1}));
    c.set_output(2 * num_sparse + i, PartialShape(Dims{serialized.rank() + 1}));
  }
  for (size_t i = 0; i < attrs.dense.size(); ++i) {
    Dims dims(serialized.dims().begin(), serialized.dims().end());
    const PartialShape& shape = attrs.dense_shapes[i];
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
