// RaggedRange: a row of numbers from a start to a limit, for each of several.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using RangeTypes = Types<float, double, BFloat16, int32_t, int64_t>;

// How many numbers there are from `start` on before `limit`; -1: more than can be counted.
template <typename T>
int64_t CountOf(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    if ((delta > 0 && start >= limit) || (delta < 0 && start <= limit)) return 0;
    using U = uint64_t;
    const U distance = delta > 0 ? static_cast<U>(limit) - static_cast<U>(start)
                                 : static_cast<U>(start) - static_cast<U>(limit);
    const U step = delta > 0 ? static_cast<U>(delta) : U{0} - static_cast<U>(delta);
    const U count = (distance - 1) / step + 1;
    return count > static_cast<U>(std::numeric_limits<int64_t>::max())
               ? -1
               : static_cast<int64_t>(count);
  } else {
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const A count =
        std::ceil((static_cast<A>(limit) - static_cast<A>(start)) / static_cast<A>(delta));
    if (!(count > 0)) return 0;
    return count < A{9e18F} ? static_cast<int64_t>(count) : -1;
  }
}

template <typename T>
struct RangeKernel {
  static absl::Status Run(KernelContext& ctx) {
    std::optional<int64_t> rows;
    for (int i = 0; i < 3; ++i) {
      const Tensor& t = ctx.input(i);
      if (t.rank() == 0) continue;
      if (t.rank() != 1 || t.dim(0) != rows.value_or(t.dim(0))) {
        return absl::InvalidArgumentError(absl::StrCat(
            "starts, limits and deltas must be scalars or vectors of one size, but are "
            "of shapes ",
            ctx.input(0).shape().ToString(), ", ", ctx.input(1).shape().ToString(), " and ",
            ctx.input(2).shape().ToString()));
      }
      rows = t.dim(0);
    }
    const int64_t n = rows.value_or(1);
    return ctx.output_dtype(0) == DType::kInt64 ? Make<int64_t>(ctx, n) : Make<int32_t>(ctx, n);
  }

 private:
  template <typename Split>
  static absl::Status Make(KernelContext& ctx, int64_t rows) {
    const T* inputs[3];
    int64_t steps[3];
    for (int i = 0; i < 3; ++i) {
      inputs[i] = ctx.input(i).values<T>().data();
      steps[i] = ctx.input(i).rank() == 0 ? 0 : 1;
    }
    GYRE_ASSIGN_OR_RETURN(Tensor splits, ctx.Allocate(DTypeOf<Split>, Shape::Vector(rows + 1)));
    Split* split = static_cast<Split*>(splits.mutable_raw_data());
    split[0] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      if (r % 8192 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const T delta = inputs[2][r * steps[2]];
      if (IsZero(delta)) return absl::InvalidArgumentError("a range cannot have a delta of 0");
      const int64_t count = CountOf<T>(inputs[0][r * steps[0]], inputs[1][r * steps[1]], delta);
      if (count < 0 || count > std::numeric_limits<Split>::max() - split[r]) {
        return absl::InvalidArgumentError("the ranges have more numbers than row splits can count");
      }
      split[r + 1] = static_cast<Split>(split[r] + count);
    }
    GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DTypeOf<T>, Shape::Vector(split[rows])));
    T* to = static_cast<T*>(values.mutable_raw_data());
    for (int64_t r = 0; r < rows; ++r) {
      T value = inputs[0][r * steps[0]];
      const T delta = inputs[2][r * steps[2]];
      for (int64_t i = split[r]; i < split[r + 1]; ++i) {
        if (i % 16384 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
        *to++ = value;
        value = Next(value, delta);
      }
    }
    ctx.set_output(0, std::move(splits));
    ctx.set_output(1, std::move(values));
    return absl::OkStatus();
  }

  static bool IsZero(T x) {
    if constexpr (kIsSmallFloat<T>) {
      return static_cast<float>(x) == 0;
    } else {
      return x == 0;
    }
  }

  static T Next(T value, T delta) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(value) + static_cast<U>(delta));
    } else if constexpr (kIsSmallFloat<T>) {
      return T(static_cast<float>(value) + static_cast<float>(delta));
    } else {
      return value + delta;
    }
  }
};

absl::Status RangeShape(ShapeContext& c) {
  int64_t rows = 1;
  for (int i = 0; i < 3; ++i) {
    if (!c.input(i).has_rank()) {
      rows = -1;
    } else if (c.input(i).rank() > 1) {
      return absl::InvalidArgumentError("starts, limits and deltas must be scalars or vectors");
    } else if (c.input(i).rank() == 1) {
      rows = c.input(i).dim(0);
      break;
    }
  }
  c.set_output(0, PartialShape(Dims{rows < 0 ? -1 : rows + 1}));
  c.set_output(1, PartialShape(Dims{-1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterRaggedRange(OpRegistry& ops) {
  ops.Add({.schema = "RaggedRange(starts: T, limits: T, deltas: T) -> rt_nested_splits: Tsplits, "
                     "rt_dense_values: T {T: {bfloat16, float, double, int32, int64} = int32; "
                     "Tsplits: {int32, int64} = int64}",
           .doc = "Ragged rows of numbers from starts before limits, in steps.",
           .shape = RangeShape,
           .gradient = NotDifferentiable("how many numbers there are depends on the values"),
           .kernel = ForTypes<RangeKernel, RangeTypes>("T")});
}

}  // namespace gyre
