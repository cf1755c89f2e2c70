// Unique and its kin: the distinct elements of a vector, or rows along an axis, in order of first
// appearance.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using UniqueTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                          uint16_t, uint32_t, uint64_t, std::string>;

// What equality and hashing go by. Zeros of both signs are one element, and each NaN is its own.
template <typename T>
auto Key(const T& x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return absl::string_view(x);
  } else {
    return x;
  }
}

// An open-addressing table of the numbers given so far, counted from 1; 0: free. Its size is a
// power of two, and at least half of it stays free.
struct Table {
  int64_t* slots;
  uint64_t mask;
};

// Elements [0, n) of a vector, or so many rows of `width` elements each.
template <typename T>
struct UniqueRows {
  const T* data;
  int64_t n;
  int64_t width;

  // A NaN is equal to nothing.
  bool Equal(int64_t i, int64_t j) const {
    for (int64_t k = 0; k < width; ++k) {
      if (!(Key(data[i * width + k]) == Key(data[j * width + k]))) return false;
    }
    return true;
  }
  uint64_t Hash(int64_t i) const {
    if (width == 1) return absl::HashOf(Key(data[i]));
    uint64_t hash = 0;
    for (int64_t k = 0; k < width; ++k) hash = absl::HashOf(hash, Key(data[i * width + k]));
    return hash;
  }
};

// Fills `ids` with the number of each row's first equal, and `firsts` with the position where
// each number first appears. Returns how many there are.
template <typename T, typename Id>
absl::StatusOr<int64_t> Number(const KernelContext& ctx, const UniqueRows<T>& rows, Table table,
                               int64_t* firsts, Id* ids) {
  int64_t count = 0;
  const int64_t rows_per_poll = std::max<int64_t>(1, kElementGrain / (rows.width + 1));
  for (int64_t i = 0; i < rows.n; ++i) {
    if (i % rows_per_poll == rows_per_poll - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (!rows.Equal(i, i)) {  // nothing equals it, so nobody needs to find it
      ids[i] = static_cast<Id>(count);
      firsts[count++] = i;
      continue;
    }
    uint64_t at = rows.Hash(i) & table.mask;
    while (table.slots[at] > 0 && !rows.Equal(firsts[table.slots[at] - 1], i)) {
      at = (at + 1) & table.mask;
    }
    if (table.slots[at] == 0) {
      firsts[count++] = i;
      table.slots[at] = count;
    }
    ids[i] = static_cast<Id>(table.slots[at] - 1);
  }
  return count;
}

// The input as [outer, n, inner], of which the distinct parts along n are wanted.
struct UniqueAxis {
  int axis;
  int64_t outer = 1, n, inner = 1;
};

absl::StatusOr<UniqueAxis> AxisInput(const KernelContext& ctx, bool has_axis) {
  const Shape& shape = ctx.input(0).shape();
  int64_t axis = 0;
  bool is_given = false;
  if (has_axis) {
    if (ctx.input(1).rank() != 1 || ctx.input(1).num_elements() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis must be a vector of one element at most, but its shape is ",
                       ctx.input(1).shape().ToString()));
    }
    if (ctx.input(1).num_elements() == 1) {
      GYRE_ASSIGN_OR_RETURN(const Dims axes, IntegerList(ctx.input(1), "axis"));
      axis = axes[0];
      is_given = true;
    }
  }
  if (!is_given && shape.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("unique expects a 1D vector, but got shape ", shape.ToString()));
  }
  UniqueAxis result;
  GYRE_ASSIGN_OR_RETURN(result.axis, ResolveAxis(axis, shape.rank(), "axis"));
  result.n = shape.dim(result.axis);
  for (int d = 0; d < result.axis; ++d) result.outer *= shape.dim(d);
  for (int d = result.axis + 1; d < shape.rank(); ++d) result.inner *= shape.dim(d);
  if (shape.num_elements() > std::numeric_limits<int32_t>::max() ||
      result.n > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        "unique does not support input tensors larger than 2^31-1 "
        "elements");
  }
  return result;
}

// As [n, outer, inner].
absl::StatusOr<Tensor> RowsInFront(const KernelContext& ctx, const UniqueAxis& a) {
  const Tensor& x = ctx.input(0);
  if (a.outer == 1) return x;
  GYRE_ASSIGN_OR_RETURN(Tensor rows, ctx.Allocate(x.dtype(), x.shape()));
  GYRE_RETURN_IF_ERROR(CopyStrided(
      ctx, x, 0, rows, 0,
      {{a.n, a.inner, a.outer * a.inner}, {a.outer, a.n * a.inner, a.inner}, {a.inner, 1, 1}}));
  return rows;
}

template <typename Id>
absl::StatusOr<Tensor> Counts(const KernelContext& ctx, const Tensor& ids, int64_t count) {
  GYRE_ASSIGN_OR_RETURN(Tensor counts, ctx.AllocateZeros(ids.dtype(), Shape::Vector(count)));
  Id* to = counts.mutable_values<Id>().data();
  int64_t i = 0;
  for (const Id id : ids.values<Id>()) {
    if (i++ % kElementGrain == kElementGrain - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    ++to[id];
  }
  return counts;
}

template <typename T>
absl::Status FindUnique(KernelContext& ctx, const UniqueAxis& axis) {
  GYRE_ASSIGN_OR_RETURN(const Tensor input, RowsInFront(ctx, axis));
  const int64_t n = axis.n, width = axis.outer * axis.inner;
  const UniqueRows<T> rows{static_cast<const T*>(input.raw_data()), n, width};
  GYRE_ASSIGN_OR_RETURN(Tensor ids, ctx.Allocate(ctx.output_dtype(1), Shape::Vector(n)));
  GYRE_ASSIGN_OR_RETURN(Tensor firsts, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  int64_t slots = 16;
  while (slots < 2 * n) slots *= 2;
  GYRE_ASSIGN_OR_RETURN(Tensor table, ctx.AllocateZeros(DType::kInt64, Shape::Vector(slots)));
  const Table hashed{table.mutable_values<int64_t>().data(), static_cast<uint64_t>(slots - 1)};
  int64_t* first = firsts.mutable_values<int64_t>().data();
  int64_t count = 0;
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(ids.dtype(), [&](auto tag) -> absl::Status {
    using Id = typename decltype(tag)::type;
    GYRE_ASSIGN_OR_RETURN(
        count, (Number<T, Id>(ctx, rows, hashed, first, ids.mutable_values<Id>().data())));
    if (ctx.num_outputs() < 3) return absl::OkStatus();
    GYRE_ASSIGN_OR_RETURN(Tensor counts, Counts<Id>(ctx, ids, count));
    ctx.set_output(2, std::move(counts));
    return absl::OkStatus();
  }));
  Dims dims(ctx.input(0).shape().dims().begin(), ctx.input(0).shape().dims().end());
  dims[axis.axis] = count;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  GYRE_ASSIGN_OR_RETURN(Tensor y, ctx.Allocate(input.dtype(), shape));
  T* distinct = static_cast<T*>(y.mutable_raw_data());
  Mover<T> mover(ctx, y);
  const int64_t rows_per_poll = std::max<int64_t>(1, kElementGrain / (width + 1));
  for (int64_t i = 0; i < count; ++i) {
    if (i % rows_per_poll == rows_per_poll - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (int64_t outer = 0; outer < axis.outer; ++outer) {
      mover.Copy(rows.data + first[i] * width + outer * axis.inner, axis.inner,
                 distinct + (outer * count + i) * axis.inner);
    }
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(y));
  ctx.set_output(1, std::move(ids));
  return absl::OkStatus();
}

template <bool kHasAxis>
absl::Status ComputeUnique(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const UniqueAxis axis, AxisInput(ctx, kHasAxis));
  const DType dtype = ctx.input(0).dtype() == DType::kBool ? DType::kUint8 : ctx.input(0).dtype();
  return VisitType<UniqueTypes>(
      dtype, [&](auto tag) { return FindUnique<typename decltype(tag)::type>(ctx, axis); });
}

absl::Status UniqueRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  ctx.set_output(1, ctx.input(0).has_rank() ? ctx.input(0) : PartialShape::UnknownOfRank(1));
  if (ctx.num_outputs() > 2) ctx.set_output(2, PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

absl::Status UniqueAxisRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  for (int i = 1; i < ctx.num_outputs(); ++i) ctx.set_output(i, PartialShape::UnknownOfRank(1));
  if (!ctx.input(0).has_rank()) return absl::OkStatus();
  PartialShape y = ctx.input(0);
  const std::optional<std::vector<int64_t>> axes = ctx.input_ints(1);
  if (!axes || axes->empty()) {
    if (axes && y.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("unique without an axis takes a vector, but got shape ", y.ToString()));
    }
    ctx.set_output(0, PartialShape::UnknownOfRank(y.rank()));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const int axis, shape::Axis((*axes)[0], y.rank()));
  ctx.set_output(1, PartialShape(Dims{y.dim(axis)}));
  y.set_dim(axis, -1);
  ctx.set_output(0, std::move(y));
  return absl::OkStatus();
}

template <bool kHasAxis>
void Add(OpRegistry& ops, absl::string_view schema, absl::string_view doc) {
  ops.Add({
      .schema = schema,
      .doc = doc,
      .shape = kHasAxis ? UniqueAxisRule : UniqueRule,
      .gradient = NotDifferentiable("the number of results depends on the values"),
      .kernel = Compute<ComputeUnique<kHasAxis>>(),
  });
}

}  // namespace

void RegisterUnique(OpRegistry& ops) {
  Add<false>(ops, "Unique(x: T) -> y: T, idx: out_idx {T: type; out_idx: {int32, int64} = int32}",
             "The distinct elements of a vector, and for each element the number of its value.");
  Add<false>(ops,
             "UniqueWithCounts(x: T) -> y: T, idx: out_idx, count: out_idx {T: type; out_idx: "
             "{int32, int64} = int32}",
             "The distinct elements of a vector, for each element the number of its value, and "
             "how often each value is there.");
  Add<true>(ops,
            "UniqueV2(x: T, axis: Taxis) -> y: T, idx: out_idx {T: type; Taxis: {int32, int64} = "
            "int64; out_idx: {int32, int64} = int32}",
            "The distinct parts of a tensor along an axis, and for each part its number.");
  Add<true>(ops,
            "UniqueWithCountsV2(x: T, axis: Taxis) -> y: T, idx: out_idx, count: out_idx {T: "
            "type; Taxis: {int32, int64} = int64; out_idx: {int32, int64} = int32}",
            "The distinct parts of a tensor along an axis, for each part its number, and how "
            "often each is there.");
}

}  // namespace gyre
