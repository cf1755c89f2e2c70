// ClipByValue: numbers moved into a range.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kGrain = 1 << 15;

// The ends are numbers, or tensors of the shape of the values.
absl::Status CheckEnds(const KernelContext& ctx) {
  for (int i = 1; i < 3; ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (shape.IsScalar() || shape == ctx.input(0).shape()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        i == 1 ? "clip_value_min" : "clip_value_max", " must be a scalar or have the shape of t, ",
        ctx.input(0).shape().ToString(), ", but has ", shape.ToString()));
  }
  return absl::OkStatus();
}

template <typename T>
bool IsLess(T x, T y) {
  if constexpr (kIsSmallFloat<T>) {
    return static_cast<float>(x) < static_cast<float>(y);
  } else {
    return x < y;
  }
}

template <typename T>
struct ClipKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_RETURN_IF_ERROR(CheckEnds(ctx));
    const Tensor &t = ctx.input(0), &low = ctx.input(1), &high = ctx.input(2);
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, t.dtype(), t.shape()));
    const T* x = static_cast<const T*>(t.raw_data());
    const T* min = static_cast<const T*>(low.raw_data());
    const T* max = static_cast<const T*>(high.raw_data());
    const int64_t min_step = low.shape().IsScalar() ? 0 : 1;
    const int64_t max_step = high.shape().IsScalar() ? 0 : 1;
    T* to = static_cast<T*>(out.mutable_raw_data());
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(t.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T from = min[i * min_step], until = max[i * max_step], value = x[i];
        to[i] = IsLess(value, from) ? from : IsLess(until, value) ? until : value;
      }
    }));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// What is out of range gives its gradient to the end that it was moved to.
void ClipGradient(GradientContext& g) {
  const Expr below = g.op("Less", {g.input(0), g.input(1)});
  const Expr above = g.op("Greater", {g.input(0), g.input(2)});
  const Expr zero = g.builder().Zero(g.output_dtype(0));
  if (g.wants(0)) g.Add(0, Where(g.op("LogicalOr", {below, above}), zero, g.grad()));
  if (g.wants(1)) g.AddBroadcast(1, Where(below, g.grad(), zero));
  if (g.wants(2)) g.AddBroadcast(2, Where(above, g.grad(), zero));
}

}  // namespace

void RegisterClipByValue(OpRegistry& ops) {
  ops.Add({
      .schema = "ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> output: T "
                "{T: numbertype}",
      .doc = "Each number moved to the nearer end of a range, if it is outside.",
      .shape = shape::SameAsInput,
      .gradient = {ClipGradient},
      .kernel = ForTypes<ClipKernel, RealTypes>("T"),
  });
}

}  // namespace gyre
