// TopKV2: the largest elements of each row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/gather_gradient.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// An element by its rank: larger values have larger keys. One order for all types keeps one
// selection for all types.
struct Ranked {
  uint64_t key;
  int64_t index;
};

// Larger values first, then smaller indices.
bool Before(const Ranked& a, const Ranked& b) {
  return a.key != b.key ? a.key > b.key : a.index < b.index;
}

// Zeros of both signs are equal; a NaN is larger than every number.
template <typename T>
uint64_t RankKey(T x) {
  if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(int64_t{x}) ^ (uint64_t{1} << 63);
  } else {
    double value = static_cast<double>(
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x));
    if (std::isnan(value)) return ~uint64_t{0};
    if (value == 0) value = 0;  // drops the sign
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
  }
}

// Leaves the k first elements of the row, in order, in `best`: a heap whose top is the last of
// them takes in each element that comes before it. Stops half-way when the run is cancelled.
template <typename T>
void SelectRow(const KernelContext& ctx, const T* row, int64_t n, int64_t k, Ranked* best) {
  const auto must_stop = [&ctx](int64_t i, int64_t grain) {
    return i % grain == grain - 1 && !ctx.Poll().ok();
  };
  // A large heap costs some ten times as much for each element.
  constexpr int64_t kHeapGrain = kElementGrain / 16;
  for (int64_t i = 0; i < k; ++i) {
    if (must_stop(i, kHeapGrain)) return;
    best[i] = {RankKey(row[i]), i};
    std::push_heap(best, best + i + 1, Before);
  }
  for (int64_t i = k; i < n; ++i) {
    if (must_stop(i, kHeapGrain)) return;
    const uint64_t key = RankKey(row[i]);
    if (key <= best[0].key) continue;  // an equal element with a larger index comes later
    std::pop_heap(best, best + k, Before);
    best[k - 1] = {key, i};
    std::push_heap(best, best + k, Before);
  }
  for (int64_t end = k; end > 1; --end) {
    if (must_stop(end, kHeapGrain)) return;
    std::pop_heap(best, best + end, Before);
  }
}

struct TopKOutputs {
  Tensor values;
  Tensor indices;
};

template <typename T>
absl::Status SelectRows(const KernelContext& ctx, const Tensor& input, int64_t k,
                        TopKOutputs& out) {
  const int64_t n = input.dim(input.rank() - 1);
  const int64_t rows = input.num_elements() / n;
  GYRE_ASSIGN_OR_RETURN(const Shape scratch_shape, Shape::Make({rows, k, 2}));
  GYRE_ASSIGN_OR_RETURN(Tensor scratch, ctx.Allocate(DType::kUint64, scratch_shape));
  auto* best = static_cast<Ranked*>(scratch.mutable_raw_data());
  const T* x = input.values<T>().data();
  const int64_t grain = std::max<int64_t>(1, kElementGrain / n);
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, rows, grain, [&](int64_t begin, int64_t end) {
    T* values = out.values.mutable_values<T>().data();
    for (int64_t r = begin; r < end; ++r) {
      SelectRow(ctx, x + r * n, n, k, best + r * k);
      for (int64_t i = 0; i < k; ++i) {
        if (i % kElementGrain == kElementGrain - 1 && !ctx.Poll().ok()) return;
        values[r * k + i] = x[r * n + best[r * k + i].index];
      }
    }
  }));
  GYRE_RETURN_IF_ERROR(ctx.Poll());  // the pieces stop half-way when cancelled
  return VisitType<Types<int16_t, int32_t, int64_t>>(out.indices.dtype(), [&](auto tag) {
    using Index = typename decltype(tag)::type;
    const auto to = out.indices.mutable_values<Index>();
    return RunPieces(ctx, rows * k, kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<Index>(best[i].index);
    });
  });
}

absl::Status ComputeTopK(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const int64_t k, IntegerScalar(ctx.input(1), "k"));
  if (k < 0) return absl::InvalidArgumentError(absl::StrCat("Need k >= 0, got ", k));
  if (input.rank() < 1) {
    return absl::InvalidArgumentError("input must be >= 1-D, got shape []");
  }
  const int64_t n = input.dim(input.rank() - 1);
  if (n < k) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have at least k columns. Had ", n, ", needed ", k));
  }
  Dims dims(input.shape().dims().begin(), input.shape().dims().end());
  dims.back() = k;
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  TopKOutputs out;
  GYRE_ASSIGN_OR_RETURN(out.values, ctx.Allocate(input.dtype(), shape));
  GYRE_ASSIGN_OR_RETURN(out.indices, ctx.Allocate(ctx.output_dtype(1), shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitType<RealTypes>(input.dtype(), [&](auto tag) {
      return SelectRows<typename decltype(tag)::type>(ctx, input, k, out);
    }));
  }
  ctx.set_output(0, std::move(out.values));
  ctx.set_output(1, std::move(out.indices));
  return absl::OkStatus();
}

absl::Status TopKRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(1));
  PartialShape shape = ctx.input(0);
  if (shape.has_rank()) {
    if (shape.rank() < 1) {
      return absl::InvalidArgumentError("input must be >= 1-D, got shape []");
    }
    const int64_t k = ctx.input_int(1).value_or(-1);
    const int64_t n = shape.dim(shape.rank() - 1);
    if (k >= 0 && n >= 0 && n < k) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must have at least k columns. Had ", n, ", needed ", k));
    }
    shape.set_dim(shape.rank() - 1, std::max<int64_t>(k, -1));
  }
  ctx.set_output(0, shape);
  ctx.set_output(1, std::move(shape));
  return absl::OkStatus();
}

// The values are what the indices gather.
void TopKGradient(GradientContext& g) {
  AddGatheredSlices(g, g.output(1), RuleDims::OfOutput(g, 1).Product(-1),
                    GatheredDims::Along(RuleDims::OfInput(g, 0), -1, -1));
}

}  // namespace

void RegisterTopK(OpRegistry& ops) {
  ops.Add({
      .schema = "TopKV2(input: T, k: Tk) -> values: T, indices: index_type {sorted: bool = true; "
                "T: realnumbertype; Tk: {int16, int32, int64} = int32; "
                "index_type: {int16, int32, int64} = int32}",
      .doc = "The k largest elements of each row and where they stand, largest first.",
      .shape = TopKRule,
      .gradient = {TopKGradient},
      .batch = {batch::FirstStacked},
      .kernel = Compute<ComputeTopK>(),
  });
}

}  // namespace gyre
