// HistogramFixedWidth: how many values fall into each of some bins of equal width.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
struct HistogramKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor& range = ctx.input(1);
    GYRE_ASSIGN_OR_RETURN(const int64_t bins, IntegerScalar(ctx.input(2), "nbins"));
    if (bins <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("nbins must be positive, but is ", bins));
    }
    if (range.rank() != 1 || range.dim(0) != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("value_range must be a vector of 2 elements, but its shape is ",
                       range.shape().ToString()));
    }
    const T low = range.values<T>()[0], high = range.values<T>()[1];
    if (!(low < high)) {
      return absl::InvalidArgumentError(
          absl::StrCat("value_range must be two numbers of which the first is less, but is [", low,
                       ", ", high, "]"));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(ctx.output_dtype(0), Shape::Vector(bins)));
    return out.dtype() == DType::kInt64 ? Count<int64_t>(ctx, low, high, bins, std::move(out))
                                        : Count<int32_t>(ctx, low, high, bins, std::move(out));
  }

 private:
  // All is computed as double, so that no difference leaves T.
  template <typename Out>
  static absl::Status Count(KernelContext& ctx, T low, T high, int64_t bins, Tensor out) {
    const auto first = static_cast<double>(low), n = static_cast<double>(bins);
    const double step = static_cast<double>(high) / n - first / n;
    const double last = n - 1;
    Out* counts = static_cast<Out*>(out.mutable_raw_data());
    int64_t i = 0;
    for (const T value : ctx.input(0).values<T>()) {
      if (i % 16384 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      if (bins > 1 && value != value) {
        return absl::InvalidArgumentError(absl::StrCat("values[", i, "] is not a number"));
      }
      ++i;
      const double place = (static_cast<double>(std::clamp(value, low, high)) - first) / step;
      ++counts[place > 0 ? static_cast<int64_t>(std::min(place, last)) : 0];
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status HistogramShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  const int64_t bins = c.input_int(2).value_or(-1);
  c.set_output(0, PartialShape(Dims{bins < 0 ? -1 : bins}));
  return absl::OkStatus();
}

}  // namespace

void RegisterHistogram(OpRegistry& ops) {
  ops.Add({.schema = "HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> out: dtype "
                     "{T: {int32, int64, float, double}; dtype: {int32, int64} = int32}",
           .doc = "How many values fall into each of `nbins` bins of equal width.",
           .shape = HistogramShape,
           .gradient = NotDifferentiable("counts do not change with the values but in steps"),
           .kernel = ForTypes<HistogramKernel, Types<int32_t, int64_t, float, double>>("T")});
}

}  // namespace gyre
