// Range, LinSpace: evenly spaced numbers.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using RangeTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint16_t,
                         uint32_t, uint64_t>;

// What a T is computed in: halves in float, with a rounding to T after each operation.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>;

// |limit - start| / |delta|, rounded up. Requirement: the range is not empty by direction.
template <typename T>
uint64_t IntegerCount(T start, T limit, T delta) {
  const auto from = static_cast<uint64_t>(start);
  const auto to = static_cast<uint64_t>(limit);
  const auto step = static_cast<uint64_t>(delta);
  const uint64_t distance = delta > 0 ? to - from : from - to;
  const uint64_t stride = delta > 0 ? step : uint64_t{0} - step;
  return distance / stride + (distance % stride != 0 ? 1 : 0);
}

// How many numbers there are from `start` to before `limit`.
template <typename T>
absl::StatusOr<int64_t> RangeSize(T first, T last, T step) {
  const auto start = static_cast<Wide<T>>(first);
  const auto limit = static_cast<Wide<T>>(last);
  const auto delta = static_cast<Wide<T>>(step);
  if (delta == 0) return absl::InvalidArgumentError("Requires delta != 0: 0");
  if (delta > 0 ? !(start <= limit) : !(start >= limit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Requires start ", delta > 0 ? "<=" : ">=", " limit when delta ",
                     delta > 0 ? ">" : "<", " 0: ", start, "/", limit));
  }
  constexpr double kMax = 9.2e18;  // below 2^63
  if constexpr (std::is_integral_v<T>) {
    const uint64_t count = IntegerCount(start, limit, delta);
    if (count <= static_cast<uint64_t>(kMax)) return static_cast<int64_t>(count);
  } else {
    const auto distance = static_cast<Wide<T>>(T(limit - start));
    const auto count = std::ceil(std::abs(static_cast<Wide<T>>(T(distance / delta))));
    if (count <= kMax) return static_cast<int64_t>(count);  // false for a NaN
  }
  return absl::InvalidArgumentError(absl::StrCat("a range from ", start, " to ", limit,
                                                 " in steps of ", delta, " has too many elements"));
}

// start + i * delta, rounded after each operation. Integers wrap around on the way.
template <typename T>
absl::Status WriteRange(const KernelContext& ctx, T start, T delta, absl::Span<T> out) {
  const auto n = static_cast<int64_t>(out.size());
  return RunPieces(ctx, n, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_integral_v<T>) {
        out[i] = static_cast<T>(static_cast<uint64_t>(start) +
                                static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
      } else {
        const T factor(static_cast<Wide<T>>(i));
        const T distance(static_cast<Wide<T>>(factor) * static_cast<Wide<T>>(delta));
        out[i] = T(static_cast<Wide<T>>(start) + static_cast<Wide<T>>(distance));
      }
    }
  });
}

absl::Status ComputeRange(KernelContext& ctx) {
  constexpr absl::string_view kNames[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(kNames[i], " must be a scalar, not shape ", ctx.input(i).shape().ToString()));
  }
  return VisitType<RangeTypes>(ctx.input_dtype(0), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    const T start = ctx.input(0).scalar<T>();
    const T delta = ctx.input(2).scalar<T>();
    GYRE_ASSIGN_OR_RETURN(const int64_t n, RangeSize(start, ctx.input(1).scalar<T>(), delta));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), Shape::Vector(n)));
    GYRE_RETURN_IF_ERROR(WriteRange<T>(ctx, start, delta, out.mutable_values<T>()));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  });
}

absl::Status RangeRule(ShapeContext& ctx) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(ctx.RequireScalar(i));
  ctx.set_output(0, PartialShape::UnknownOfRank(1));
  const Tensor* start = ctx.input_constant(0);
  const Tensor* limit = ctx.input_constant(1);
  const Tensor* delta = ctx.input_constant(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return absl::OkStatus();
  return VisitType<RangeTypes>(ctx.input_dtype(0), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    GYRE_ASSIGN_OR_RETURN(const int64_t n,
                          RangeSize(start->scalar<T>(), limit->scalar<T>(), delta->scalar<T>()));
    ctx.set_output(0, PartialShape(Dims{n}));
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status WriteLinSpace(const KernelContext& ctx, T first, T last, absl::Span<T> out) {
  const auto start = static_cast<Wide<T>>(first);
  const auto stop = static_cast<Wide<T>>(last);
  const auto n = static_cast<int64_t>(out.size());
  out[0] = first;
  if (n == 1) return absl::OkStatus();
  const Wide<T> step = (stop - start) / static_cast<Wide<T>>(n - 1);
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, n, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = std::max<int64_t>(begin, 1); i < end; ++i) {
      out[i] = T(start + step * static_cast<Wide<T>>(i));
    }
  }));
  out[n - 1] = last;
  return absl::OkStatus();
}

absl::Status ComputeLinSpace(KernelContext& ctx) {
  for (int i = 0; i < 2; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "start" : "stop",
                                                   " must be a scalar, not shape ",
                                                   ctx.input(i).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t n, IntegerScalar(ctx.input(2), "num"));
  if (n <= 0) return absl::InvalidArgumentError(absl::StrCat("Requires num > 0: ", n));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), Shape::Vector(n)));
  GYRE_RETURN_IF_ERROR(VisitType<FloatTypes>(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return WriteLinSpace<T>(ctx, ctx.input(0).scalar<T>(), ctx.input(1).scalar<T>(),
                            out.mutable_values<T>());
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status LinSpaceRule(ShapeContext& ctx) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(ctx.RequireScalar(i));
  const int64_t n = ctx.input_int(2).value_or(-1);
  ctx.set_output(0, PartialShape(Dims{n > 0 ? n : -1}));
  return absl::OkStatus();
}

// Element k is (1 - w) * start + w * stop for the k-th of `num` numbers w from 0 to 1.
void LinSpaceGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const DType dtype = g.output_dtype(0);
  const Expr weights = g.op("LinSpace", {b.Scalar(dtype, 0), b.Scalar(dtype, 1), g.input(2)});
  const Expr stop = Sum(g.grad() * weights, b.Int(0));
  if (g.wants(0)) g.Add(0, Sum(g.grad(), b.Int(0)) - stop);
  g.Add(1, stop);
}

}  // namespace

void RegisterRange(OpRegistry& ops) {
  ops.Add({
      .schema = "Range(start: Tidx, limit: Tidx, delta: Tidx) -> output: Tidx {Tidx: {bfloat16, "
                "half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32}",
      .doc = "The numbers from `start` in steps of `delta`, up to but not including `limit`.",
      .shape = RangeRule,
      .gradient = NotDifferentiable("the number of results depends on the inputs"),
      .kernel = Compute<ComputeRange>(),
  });
  ops.Add({
      .schema = "LinSpace(start: T, stop: T, num: Tidx) -> output: T {T: {bfloat16, half, float, "
                "double}; Tidx: {int32, int64} = int32}",
      .doc = "`num` evenly spaced numbers from `start` to `stop`, both included.",
      .shape = LinSpaceRule,
      .gradient = {LinSpaceGradient},
      .kernel = Compute<ComputeLinSpace>(),
  });
}

}  // namespace gyre
