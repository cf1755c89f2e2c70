// ListDiff: what one list has and another has not.
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using DiffTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                        uint16_t, uint32_t, uint64_t, std::string>;

// What equality and hashing go by.
template <typename T>
auto Key(const T& x) {
  if constexpr (kIsSmallFloat<T>) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return absl::string_view(x);
  } else {
    return x;
  }
}

template <typename T>
absl::Status Diff(KernelContext& ctx) {
  const int64_t n = ctx.input(0).num_elements(), m = ctx.input(1).num_elements();
  const T* x = static_cast<const T*>(ctx.input(0).raw_data());
  const T* y = static_cast<const T*>(ctx.input(1).raw_data());
  // An open-addressing table of places in y, counted from 1; 0: free. Half of it stays free.
  int64_t slots = 16;
  while (slots / 2 < m) slots *= 2;
  GYRE_ASSIGN_OR_RETURN(Tensor table, ctx.AllocateZeros(DType::kInt64, Shape::Vector(slots)));
  int64_t* slot = table.mutable_values<int64_t>().data();
  const uint64_t mask = static_cast<uint64_t>(slots - 1);
  // Where an element of y that equals this one stands, or is to stand. (A NaN equals nothing.)
  const auto find = [&](const T& value) -> int64_t& {
    const auto key = Key(value);
    uint64_t at = absl::HashOf(key) & mask;
    while (slot[at] > 0 && !(Key(y[slot[at] - 1]) == key)) at = (at + 1) & mask;
    return slot[at];
  };
  for (int64_t i = 0; i < m; ++i) {
    if (i % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (Key(y[i]) == Key(y[i])) find(y[i]) = i + 1;
  }
  GYRE_ASSIGN_OR_RETURN(Tensor kept, ctx.Allocate(DType::kInt64, Shape::Vector(n)));
  int64_t* place = kept.mutable_values<int64_t>().data();
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (find(x[i]) == 0) place[count++] = i;
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(0).dtype(), Shape::Vector(count)));
  GYRE_ASSIGN_OR_RETURN(Tensor idx, ctx.Allocate(ctx.output_dtype(1), Shape::Vector(count)));
  T* to = static_cast<T*>(out.mutable_raw_data());
  Mover<T> mover(ctx, out);
  for (int64_t i = 0; i < count; ++i) {
    if (i % kElementGrain == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    mover.Set(to[i], x[place[i]]);
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(idx.dtype(), [&](auto tag) {
    std::copy_n(place, count, idx.mutable_values<typename decltype(tag)::type>().data());
    return absl::OkStatus();
  }));
  ctx.set_output(0, std::move(out));
  ctx.set_output(1, std::move(idx));
  return absl::OkStatus();
}

absl::Status ComputeListDiff(KernelContext& ctx) {
  for (const int i : {0, 1}) {
    if (ctx.input(i).rank() == 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "x" : "y",
                                                   " must be a vector, but its shape is ",
                                                   ctx.input(i).shape().ToString()));
  }
  const DType dtype = ctx.input(0).dtype() == DType::kBool ? DType::kUint8 : ctx.input(0).dtype();
  return VisitType<DiffTypes>(dtype,
                              [&](auto tag) { return Diff<typename decltype(tag)::type>(ctx); });
}

absl::Status DiffShape(ShapeContext& c) {
  for (const int i : {0, 1}) {
    GYRE_RETURN_IF_ERROR(c.RequireRank(i, 1));
    c.set_output(i, PartialShape::UnknownOfRank(1));
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterListDiff(OpRegistry& ops) {
  ops.Add({.schema = "ListDiff(x: T, y: T) -> out: T, idx: out_idx {T: type; out_idx: {int32, "
                     "int64} = int32}",
           .doc = "The elements of x that are not in y, and where they are in x.",
           .shape = DiffShape,
           .gradient = NotDifferentiable("the number of results depends on the values"),
           .kernel = Compute<ComputeListDiff>()});
}

}  // namespace gyre
