// Bincount and its kin: how often, or with what weight, each number stands in a tensor, in the rows
// of a matrix, in ragged rows or in a sparse tensor.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using CountTypes = Types<int32_t, int64_t, float, double>;
constexpr int64_t kNumbersPerPoll = 1 << 14;

// Of a row's numbers.
template <typename I, typename T>
struct Counter {
  const KernelContext& ctx;
  int64_t size;
  const T* weights;  // null: 1 each
  bool is_binary;

  // Adds numbers [begin, end) to `row`, which has `size` elements.
  absl::Status Count(const I* numbers, int64_t begin, int64_t end, T* row) const {
    for (int64_t i = begin; i < end; ++i) {
      if (i % kNumbersPerPoll == kNumbersPerPoll - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
      GYRE_RETURN_IF_ERROR(CountOne(numbers, i, row));
    }
    return absl::OkStatus();
  }
  absl::Status CountOne(const I* numbers, int64_t i, T* row) const {
    const I number = numbers[i];
    if (number < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the numbers to count must not be negative, but number ", i, " is ", number));
    }
    if (number >= size) return absl::OkStatus();
    if (is_binary) {
      row[number] = T{1};
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      row[number] = static_cast<T>(static_cast<U>(row[number]) +
                                   static_cast<U>(weights == nullptr ? T{1} : weights[i]));
    } else {
      row[number] += weights == nullptr ? T{1} : weights[i];
    }
    return absl::OkStatus();
  }
};

// Inputs `size` and `weights`, at these places; numbers at another.
template <typename I, typename T>
absl::StatusOr<Counter<I, T>> CounterInput(const KernelContext& ctx, int numbers, int size,
                                           int weights) {
  GYRE_ASSIGN_OR_RETURN(const int64_t n, IntegerScalar(ctx.input(size), "size"));
  if (n < 0) {
    return absl::InvalidArgumentError(absl::StrCat("size must not be negative, but is ", n));
  }
  const Tensor& w = ctx.input(weights);
  if (w.num_elements() > 0 && w.shape() != ctx.input(numbers).shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights must be empty or have the shape of the numbers, ",
                     ctx.input(numbers).shape().ToString(), ", but have ", w.shape().ToString()));
  }
  return Counter<I, T>{ctx, n, w.num_elements() > 0 ? w.values<T>().data() : nullptr,
                       ctx.node().attrs.GetOr<bool>("binary_output", false)};
}

absl::StatusOr<Tensor> Bins(const KernelContext& ctx, std::optional<int64_t> rows, int64_t size) {
  Dims dims;
  if (rows) dims.push_back(*rows);
  dims.push_back(size);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return ctx.AllocateZeros(ctx.output_dtype(0), shape);
}

template <typename T>
struct OldKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const auto counter, (CounterInput<int32_t, T>(ctx, 0, 1, 2)));
    GYRE_ASSIGN_OR_RETURN(Tensor bins, Bins(ctx, std::nullopt, counter.size));
    GYRE_RETURN_IF_ERROR(counter.Count(ctx.input(0).values<int32_t>().data(), 0,
                                       ctx.input(0).num_elements(),
                                       bins.mutable_values<T>().data()));
    ctx.set_output(0, std::move(bins));
    return absl::OkStatus();
  }
};

// `run(TypeTag<I>)` with the type of the numbers.
template <typename F>
absl::Status WithNumberType(const KernelContext& ctx, int numbers, const F& run) {
  return VisitType<IndexTypes>(ctx.input(numbers).dtype(), run);
}

template <typename T>
struct DenseKernel {
  static absl::Status Run(KernelContext& ctx) {
    return WithNumberType(ctx, 0, [&](auto tag) -> absl::Status {
      using I = typename decltype(tag)::type;
      const Tensor& input = ctx.input(0);
      if (input.rank() > 2) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input must be a vector or a matrix, but its shape is ", input.shape().ToString()));
      }
      GYRE_ASSIGN_OR_RETURN(const auto counter, (CounterInput<I, T>(ctx, 0, 1, 2)));
      const std::optional<int64_t> rows =
          input.rank() == 2 ? std::optional(input.dim(0)) : std::nullopt;
      GYRE_ASSIGN_OR_RETURN(Tensor bins, Bins(ctx, rows, counter.size));
      // Rows without numbers, of which there may be any number, are done.
      const int64_t n = input.num_elements() == 0 ? 0 : rows.value_or(1);
      const int64_t width = n == 0 ? 0 : input.num_elements() / n;
      for (int64_t i = 0; i < n; ++i) {
        GYRE_RETURN_IF_ERROR(counter.Count(input.values<I>().data(), i * width, (i + 1) * width,
                                           bins.mutable_values<T>().data() + i * counter.size));
      }
      ctx.set_output(0, std::move(bins));
      return absl::OkStatus();
    });
  }
};

template <typename T>
struct RaggedKernel {
  static absl::Status Run(KernelContext& ctx) {
    return WithNumberType(ctx, 1, [&](auto tag) -> absl::Status {
      using I = typename decltype(tag)::type;
      for (const int i : {0, 1}) {
        if (ctx.input(i).rank() == 1) continue;
        return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "splits" : "values",
                                                       " must be a vector, but its shape is ",
                                                       ctx.input(i).shape().ToString()));
      }
      const absl::Span<const int64_t> splits = ctx.input(0).values<int64_t>();
      const int64_t n = ctx.input(1).num_elements();
      if (splits.empty() || splits[0] != 0 || splits.back() != n) {
        return absl::InvalidArgumentError(
            absl::StrCat("splits must begin with 0 and end with the number of values, ", n));
      }
      for (size_t i = 1; i < splits.size(); ++i) {
        if (splits[i] < splits[i - 1] || splits[i] > n) {
          return absl::InvalidArgumentError(
              absl::StrCat("splits[", i, "] = ", splits[i], " follows ", splits[i - 1]));
        }
      }
      GYRE_ASSIGN_OR_RETURN(const auto counter, (CounterInput<I, T>(ctx, 1, 2, 3)));
      const auto rows = static_cast<int64_t>(splits.size()) - 1;
      GYRE_ASSIGN_OR_RETURN(Tensor bins, Bins(ctx, rows, counter.size));
      for (int64_t i = 0; i < rows; ++i) {
        GYRE_RETURN_IF_ERROR(counter.Count(ctx.input(1).values<I>().data(), splits[i],
                                           splits[i + 1],
                                           bins.mutable_values<T>().data() + i * counter.size));
      }
      ctx.set_output(0, std::move(bins));
      return absl::OkStatus();
    });
  }
};

template <typename T>
struct SparseKernel {
  static absl::Status Run(KernelContext& ctx) {
    return WithNumberType(ctx, 1, [&](auto tag) -> absl::Status {
      using I = typename decltype(tag)::type;
      const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
      const int64_t rank = shape.num_elements();
      if (shape.rank() != 1 || rank < 1 || rank > 2) {
        return absl::InvalidArgumentError(
            absl::StrCat("dense_shape must be a vector of 1 or 2 elements, but its shape is ",
                         shape.shape().ToString()));
      }
      if (values.rank() != 1 || indices.rank() != 2 || indices.dim(0) != values.dim(0) ||
          indices.dim(1) != rank) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices must have the shape [", values.num_elements(), ",", rank,
                         "] for values that are a vector, but have ", indices.shape().ToString(),
                         " for ", values.shape().ToString()));
      }
      GYRE_ASSIGN_OR_RETURN(const auto counter, (CounterInput<I, T>(ctx, 1, 3, 4)));
      const std::optional<int64_t> rows =
          rank == 2 ? std::optional(shape.values<int64_t>()[0]) : std::nullopt;
      if (rows && *rows < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("dense_shape must not be negative, but has ", *rows));
      }
      GYRE_ASSIGN_OR_RETURN(Tensor bins, Bins(ctx, rows, counter.size));
      const I* numbers = values.values<I>().data();
      const int64_t* index = indices.values<int64_t>().data();
      T* to = bins.mutable_values<T>().data();
      for (int64_t i = 0; i < values.num_elements(); ++i) {
        if (i % kNumbersPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const int64_t row = rows ? index[i * rank] : 0;
        if (rows && (row < 0 || row >= *rows)) {
          return absl::InvalidArgumentError(
              absl::StrCat("indices[", i, ",0] = ", row, " is not in [0, ", *rows, ")"));
        }
        GYRE_RETURN_IF_ERROR(counter.CountOne(numbers, i, to + row * counter.size));
      }
      ctx.set_output(0, std::move(bins));
      return absl::OkStatus();
    });
  }
};

// The size at input `size`; a row of them for each of `rows`, where that is a number or unknown.
absl::Status SetBins(ShapeContext& c, int size, std::optional<int64_t> rows) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(size));
  const int64_t n = c.input_int(size).value_or(-1);
  Dims dims;
  if (rows) dims.push_back(*rows);
  dims.push_back(n < 0 ? -1 : n);
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status OldShape(ShapeContext& c) { return SetBins(c, 1, std::nullopt); }

absl::Status DenseShape(ShapeContext& c) {
  if (!c.input(0).has_rank()) return c.RequireScalar(1);
  if (c.input(0).rank() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input must be a vector or a matrix, but its shape is ", c.input(0).ToString()));
  }
  return SetBins(c, 1, c.input(0).rank() == 2 ? std::optional(c.input(0).dim(0)) : std::nullopt);
}

absl::Status RaggedShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  const int64_t n = c.input(0).has_rank() ? c.input(0).dim(0) : -1;
  return SetBins(c, 2, n < 1 ? -1 : n - 1);
}

absl::Status SparseShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  const std::optional<std::vector<int64_t>> shape = c.input_ints(2);
  if (!shape || shape->empty() || shape->size() > 2) return c.RequireScalar(3);
  if (shape->size() == 1) return SetBins(c, 3, std::nullopt);
  return SetBins(c, 3, std::max<int64_t>(-1, (*shape)[0]));
}

void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc, ShapeFn shape,
         KernelFactory kernel) {
  const std::string full = absl::StrCat(schema, "T: {int32, int64, float, double}}");
  ops.Add({.schema = full,
           .doc = doc,
           .shape = shape,
           .gradient = NotDifferentiable("counts do not change with the numbers but in steps"),
           .kernel = std::move(kernel)});
}

}  // namespace

void RegisterBincount(OpRegistry& ops) {
  Add(ops, "Bincount(arr: int32, size: int32, weights: T) -> bins: T {",
      "How often, or with what weight, each of 0, 1, … before `size` stands in `arr`.", OldShape,
      ForTypes<OldKernel, CountTypes>("T"));
  Add(ops,
      "DenseBincount(input: Tidx, size: Tidx, weights: T) -> output: T {Tidx: {int32, int64}; "
      "binary_output: bool = false; ",
      "How often each of 0, 1, … before `size` stands in a vector, or in each row of a matrix.",
      DenseShape, ForTypes<DenseKernel, CountTypes>("T"));
  Add(ops,
      "RaggedBincount(splits: int64, values: Tidx, size: Tidx, weights: T) -> output: T {Tidx: "
      "{int32, int64}; binary_output: bool = false; ",
      "How often each of 0, 1, … before `size` stands in each ragged row.", RaggedShape,
      ForTypes<RaggedKernel, CountTypes>("T"));
  Add(ops,
      "SparseBincount(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T) "
      "-> output: T {Tidx: {int32, int64}; binary_output: bool = false; ",
      "How often each of 0, 1, … before `size` stands in a sparse vector, or in each row of a "
      "sparse matrix.",
      SparseShape, ForTypes<SparseKernel, CountTypes>("T"));
}

}  // namespace gyre
