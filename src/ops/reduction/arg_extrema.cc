#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/axis_view.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kTile = 256;             // neighbouring outputs computed at once
constexpr int64_t kWorkPerPoll = 1 << 18;  // elements compared between two looks at cancellation

absl::StatusOr<int> AxisInput(const KernelContext& ctx) {
  const Tensor& axis = ctx.input(1);
  int64_t value = 0;
  if (axis.dtype() == DType::kInt16 && axis.num_elements() == 1) {
    value = axis.scalar<int16_t>();
  } else {
    GYRE_ASSIGN_OR_RETURN(value, ctx.IntScalar(1, "dimension"));
  }
  const absl::StatusOr<int> dim = shape::Axis(value, ctx.input(0).rank());
  if (!dim.ok()) return Annotate(dim.status(), "dimension");
  return dim;
}

void StoreIndices(Tensor& out, int64_t first, const int64_t* indices, int64_t n) {
  VisitType<Types<int16_t, uint16_t, int32_t, int64_t>>(out.dtype(), [&](auto tag) {
    using I = typename decltype(tag)::type;
    I* to = static_cast<I*>(out.mutable_raw_data()) + first;
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<I>(indices[j]);
    return absl::OkStatus();
  }).IgnoreError();  // the schema allows no other type
}

// Booleans are compared as bytes, small floats as floats.
template <typename T>
using Compared = std::conditional_t<std::is_same_v<T, bool>, uint8_t,
                                    std::conditional_t<kIsSmallFloat<T>, float, T>>;

template <typename T>
Compared<T> LoadAt(const void* data, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const uint8_t*>(data)[i] != 0 ? 1 : 0;
  } else {
    return static_cast<Compared<T>>(static_cast<const T*>(data)[i]);
  }
}

// The first of several equal extrema wins; a NaN never does, unless there is nothing else.
template <typename T, bool kMax>
class ArgExtremum {
 public:
  ArgExtremum(const KernelContext& ctx, const Tensor& input, int axis, Tensor& out)
      : ctx_(ctx), data_(input.raw_data()), view_(input.shape(), axis), out_(out) {}

  absl::Status Run() {
    const int64_t tiles = (view_.inner + kTile - 1) / kTile;
    const int64_t work = view_.size * std::min(view_.inner, kTile);
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / work);
    GYRE_RETURN_IF_ERROR(
        ctx_.ParallelRun(view_.outer * tiles, grain, [&](int64_t begin, int64_t end) {
          for (int64_t unit = begin; unit < end; ++unit)
            RunTile(unit / tiles, unit % tiles * kTile);
        }));
    return ctx_.Poll();  // RunTile stops half-way when cancelled
  }

 private:
  void RunTile(int64_t outer, int64_t column) {
    const int64_t width = std::min(kTile, view_.inner - column);
    const int64_t base = outer * view_.size * view_.inner + column;
    Compared<T> best[kTile];
    int64_t index[kTile] = {};
    for (int64_t j = 0; j < width; ++j) best[j] = LoadAt<T>(data_, base + j);
    const int64_t rows_per_poll = std::max<int64_t>(1, kWorkPerPoll / width);
    for (int64_t i = 1; i < view_.size; ++i) {
      if (i % rows_per_poll == 0 && !ctx_.Poll().ok()) return;
      for (int64_t j = 0; j < width; ++j) {
        const Compared<T> x = LoadAt<T>(data_, base + i * view_.inner + j);
        const bool better = kMax ? x > best[j] : x < best[j];
        if (better || (best[j] != best[j] && x == x)) {
          best[j] = x;
          index[j] = i;
        }
      }
    }
    StoreIndices(out_, outer * view_.inner + column, index, width);
  }

  const KernelContext& ctx_;
  const void* data_;
  const AxisView view_;
  Tensor& out_;
};

template <typename T, bool kMax>
absl::Status RunArgExtremum(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int axis, AxisInput(ctx));
  const Tensor& input = ctx.input(0);
  if (input.dim(axis) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " is empty in shape ",
                                                   input.shape().ToString(),
                                                   ", so there is no element to point at"));
  }
  Dims dims(input.shape().dims().begin(), input.shape().dims().end());
  dims.erase(dims.begin() + axis);
  GYRE_ASSIGN_OR_RETURN(Tensor out,
                        ctx.Allocate(ctx.output_dtype(0), Shape::Trusted(std::move(dims))));
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR((ArgExtremum<T, kMax>(ctx, input, axis, out).Run()));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
struct ArgMaxKernel {
  static absl::Status Run(KernelContext& ctx) { return RunArgExtremum<T, true>(ctx); }
};
template <typename T>
struct ArgMinKernel {
  static absl::Status Run(KernelContext& ctx) { return RunArgExtremum<T, false>(ctx); }
};

using ArgTypes = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                       uint16_t, uint32_t, uint64_t, bool>;

absl::Status ArgShape(ShapeContext& c) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  if (input.rank() == 0) {
    return absl::InvalidArgumentError("a scalar has no dimension to search along");
  }
  const std::optional<int64_t> axis = c.input_int(1);
  if (!axis) {
    c.set_output(0, PartialShape::UnknownOfRank(input.rank() - 1));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const int dim, shape::Axis(*axis, input.rank()));
  Dims dims(input.dims().begin(), input.dims().end());
  dims.erase(dims.begin() + dim);
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

}  // namespace

void RegisterArgExtrema(OpRegistry& ops) {
  ops.Add({
      .schema = "ArgMax(input: T, dimension: Tidx) -> output: output_type "
                "{T: {realnumbertype, quantizedtype, bool}; Tidx: {int16, int32, int64} = int32; "
                "output_type: {int16, uint16, int32, int64} = int64}",
      .doc = "The position of the largest element along a dimension; the first of several.",
      .shape = ArgShape,
      .gradient = NotDifferentiable("its result is a position"),
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<ArgMaxKernel, ArgTypes>("T"),
  });
  ops.Add({
      .schema = "ArgMin(input: T, dimension: Tidx) -> output: output_type "
                "{T: {realnumbertype, quantizedtype, bool}; Tidx: indextype = int32; "
                "output_type: indextype = int64}",
      .doc = "The position of the smallest element along a dimension; the first of several.",
      .shape = ArgShape,
      .gradient = NotDifferentiable("its result is a position"),
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<ArgMinKernel, ArgTypes>("T"),
  });
}

}  // namespace gyre
