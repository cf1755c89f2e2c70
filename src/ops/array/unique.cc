// Unique: the distinct elements of a vector, in order of first appearance.
#include <limits>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
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

// Fills `ids` with the number of each element's first equal, and `firsts` with the position where
// each number first appears. Returns how many there are.
template <typename T, typename Id>
absl::StatusOr<int64_t> Number(const KernelContext& ctx, absl::Span<const T> x, Table table,
                               int64_t* firsts, Id* ids) {
  int64_t count = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) {
    const auto key = Key(x[i]);
    if (i % kElementGrain == kElementGrain - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (!(key == key)) {  // a NaN: nothing equals it, so nobody needs to find it
      ids[i] = static_cast<Id>(count);
      firsts[count++] = i;
      continue;
    }
    uint64_t at = absl::HashOf(key) & table.mask;
    while (table.slots[at] > 0 && !(Key(x[firsts[table.slots[at] - 1]]) == key)) {
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

template <typename T>
absl::Status FindUnique(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const auto x = input.values<T>();
  const int64_t n = input.num_elements();
  GYRE_ASSIGN_OR_RETURN(Tensor ids, ctx.Allocate(ctx.output_dtype(1), input.shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor firsts, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  int64_t slots = 16;
  while (slots < 2 * n) slots *= 2;
  GYRE_ASSIGN_OR_RETURN(Tensor table, ctx.AllocateZeros(DType::kInt64, Shape::Vector(slots)));
  const Table hashed{table.mutable_values<int64_t>().data(), static_cast<uint64_t>(slots - 1)};
  int64_t* first = firsts.mutable_values<int64_t>().data();
  int64_t count = 0;
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(ids.dtype(), [&](auto tag) -> absl::Status {
    using Id = typename decltype(tag)::type;
    GYRE_ASSIGN_OR_RETURN(count,
                          (Number<T, Id>(ctx, x, hashed, first, ids.mutable_values<Id>().data())));
    return absl::OkStatus();
  }));
  GYRE_ASSIGN_OR_RETURN(Tensor y, ctx.Allocate(input.dtype(), Shape::Vector(count)));
  const auto distinct = y.mutable_values<T>();
  Mover<T> mover(ctx, y);
  for (int64_t i = 0; i < count; ++i) {
    if (i % kElementGrain == kElementGrain - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    mover.Set(distinct[i], x[first[i]]);
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(y));
  ctx.set_output(1, std::move(ids));
  return absl::OkStatus();
}

absl::Status ComputeUnique(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("unique expects a 1D vector, but got shape ", input.shape().ToString()));
  }
  if (input.num_elements() > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        "unique does not support input tensors larger than 2^31-1 "
        "elements");
  }
  const DType dtype = input.dtype() == DType::kBool ? DType::kUint8 : input.dtype();
  return VisitType<UniqueTypes>(
      dtype, [&](auto tag) { return FindUnique<typename decltype(tag)::type>(ctx); });
}

absl::Status UniqueRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(0, 1));
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  ctx.set_output(1, ctx.input(0).has_rank() ? ctx.input(0) : PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

}  // namespace

void RegisterUnique(OpRegistry& ops) {
  ops.Add({
      .schema = "Unique(x: T) -> y: T, idx: out_idx {T: type; out_idx: {int32, int64} = int32}",
      .doc = "The distinct elements of a vector, and for each element the number of its value.",
      .shape = UniqueRule,
      .gradient = NotDifferentiable("the number of results depends on the values"),
      .kernel = Compute<ComputeUnique>(),
  });
}

}  // namespace gyre
