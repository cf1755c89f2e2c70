#include "ops/parse/example_columns.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ops/dispatch.h"
#include "ops/memory.h"
#include "ops/mover.h"

namespace gyre {
namespace {

using FeatureTypes = Types<float, int64_t, std::string>;

// One feature of all examples, of what FindAll has found.
class Column {
 public:
  Column(const std::vector<Feature>& all, absl::Span<const Wanted> wanted, size_t at)
      : all_(all), width_(wanted.size()), at_(at), wanted_(wanted[at]) {}
  size_t size() const { return all_.size() / width_; }
  const Feature& operator[](size_t i) const { return all_[i * width_ + at_]; }
  const Wanted& wanted() const { return wanted_; }
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
  const Wanted& wanted_;
};

// All features that are wanted, of all examples: example i has those from i * wanted.size() on.
// `charge` is what they take.
absl::StatusOr<std::vector<Feature>> FindAll(const KernelContext& ctx,
                                             absl::Span<const Wanted> wanted,
                                             absl::Span<const std::string> examples,
                                             MemoryCharge& charge) {
  const size_t width = wanted.size();
  FeatureNames names;
  for (size_t i = 0; i < width; ++i) {
    if (!names.emplace(wanted[i].key, i).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the key '", absl::Utf8SafeCEscape(wanted[i].key), "' is wanted twice"));
    }
  }
  const auto n = static_cast<int64_t>(examples.size());
  GYRE_ASSIGN_OR_RETURN(const Shape size, Shape::Make({n, static_cast<int64_t>(width),
                                                       static_cast<int64_t>(sizeof(Feature))}));
  GYRE_RETURN_IF_ERROR(charge.Set(size.num_elements()));
  std::vector<Feature> all(examples.size() * width);
  std::atomic<int64_t> malformed{n};
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto features = absl::MakeSpan(all).subspan(static_cast<size_t>(i) * width, width);
      if (FindFeatures(examples[i], names, features)) continue;
      int64_t first = malformed.load();
      while (i < first && !malformed.compare_exchange_weak(first, i)) {
      }
    }
  }));
  if (malformed < n) {
    return absl::InvalidArgumentError(
        absl::StrCat("could not parse example ", malformed.load(), ": '",
                     absl::Utf8SafeCEscape(examples[malformed].substr(0, 100)), "'"));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Wanted& own = wanted[i % width];
    if (all[i].dtype == DType::kInvalid || all[i].dtype == own.dtype) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("key '", absl::Utf8SafeCEscape(own.key), "' of example ", i / width,
                     ": data types "
                     "don't match; expected ",
                     DTypeName(own.dtype), ", but it has ", DTypeName(all[i].dtype)));
  }
  return all;
}

// A dense feature of one size in all examples, or of a first dimension that is as large as need be.
class DenseColumn {
 public:
  static absl::StatusOr<DenseColumn> Make(const Column& column, const PartialShape& shape,
                                          const Tensor& filler, bool is_batch) {
    DenseColumn dense{column, shape, filler, is_batch};
    GYRE_ASSIGN_OR_RETURN(dense.stride_, StrideOf(shape));
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
        for (int64_t k = present; k < width; ++k) {
          if (k % 65536 == 65535) GYRE_RETURN_IF_ERROR(ctx.Poll());
          mover.Set(to[k], from[is_open_ ? 0 : k]);
        }
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
absl::StatusOr<Tensor> SplitsAs(const KernelContext& ctx, const Column& column) {
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

// The values of all examples, one behind the other.
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

}  // namespace

absl::StatusOr<int64_t> StrideOf(const PartialShape& shape) {
  if (!shape.has_rank()) return absl::InvalidArgumentError("no rank");
  Dims dims;
  for (int d = shape.rank() > 0 && shape.dim(0) < 0 ? 1 : 0; d < shape.rank(); ++d)
    dims.push_back(shape.dim(d));
  GYRE_ASSIGN_OR_RETURN(const Shape known, Shape::Make(dims));
  return known.num_elements();
}

absl::Status ReadInto(const KernelContext& ctx, const Feature& feature, Tensor& out, int64_t at) {
  GYRE_RETURN_IF_ERROR(ChargeTextOf(ctx, out, FeatureTextBytes(feature)));
  return VisitType<FeatureTypes>(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ReadFeature(feature, static_cast<T*>(out.mutable_raw_data()) + at);
    return absl::OkStatus();
  });
}

absl::StatusOr<int> SetColumns(KernelContext& ctx, const ExampleColumns& columns) {
  const ColumnTypes& types = columns.types;
  const bool is_batch = columns.is_batch;
  MemoryCharge charge(ctx.env().budget);
  GYRE_ASSIGN_OR_RETURN(const std::vector<Feature> all,
                        FindAll(ctx, columns.wanted, columns.examples, charge));
  const auto num_sparse = static_cast<int>(types.sparse.size());
  size_t at = 0;
  for (int i = 0; i < num_sparse; ++i) {
    const Column column(all, columns.wanted, at++);
    GYRE_ASSIGN_OR_RETURN(auto places, SparsePlaces(ctx, column, is_batch));
    GYRE_ASSIGN_OR_RETURN(Tensor values, AllValues(ctx, column));
    ctx.set_output(i, std::move(places.first));
    ctx.set_output(num_sparse + i, std::move(values));
    ctx.set_output(2 * num_sparse + i, std::move(places.second));
  }
  int output = 3 * num_sparse;
  for (size_t i = 0; i < types.dense.size(); ++i) {
    const Tensor& filler = ctx.input(columns.first_default + static_cast<int>(i));
    GYRE_ASSIGN_OR_RETURN(
        const DenseColumn dense,
        DenseColumn::Make(Column(all, columns.wanted, at++), types.shapes[i], filler, is_batch));
    GYRE_ASSIGN_OR_RETURN(Tensor values, dense.Values(ctx));
    ctx.set_output(output++, std::move(values));
  }
  const auto num_ragged = static_cast<int>(types.ragged.size());
  for (int i = 0; i < num_ragged; ++i) {
    const Column column(all, columns.wanted, at++);
    GYRE_ASSIGN_OR_RETURN(Tensor values, AllValues(ctx, column));
    GYRE_ASSIGN_OR_RETURN(Tensor splits, types.splits[i] == DType::kInt64
                                             ? SplitsAs<int64_t>(ctx, column)
                                             : SplitsAs<int32_t>(ctx, column));
    ctx.set_output(output + i, std::move(values));
    ctx.set_output(output + num_ragged + i, std::move(splits));
  }
  return output + 2 * num_ragged;
}

}  // namespace gyre
