// Cumsum, Cumprod, and the recurrence that the gradient of running products is.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/axis_view.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kTile = 256;             // neighbouring columns scanned at once
constexpr int64_t kWorkPerPoll = 1 << 18;  // elements between two looks at cancellation

struct ScanAttrs {
  explicit ScanAttrs(const Node& node)
      : exclusive(NodeAttr<bool>(node, "exclusive")), reverse(NodeAttr<bool>(node, "reverse")) {}
  bool exclusive;
  bool reverse;
};

// Takes an accumulator along an axis, column by column: step(accumulator, i) for each element i in
// turn, from `initial` on.
template <typename A, typename Step>
absl::Status ScanColumns(const KernelContext& ctx, const AxisView& view, bool reverse, A initial,
                         const Step& step) {
  const int64_t tiles = (view.inner + kTile - 1) / kTile;
  const int64_t work = std::max<int64_t>(1, view.size * std::min(view.inner, kTile));
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / work);
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(view.outer * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % tiles * kTile;
      const int64_t width = std::min(kTile, view.inner - column);
      const int64_t rows_per_poll = std::max<int64_t>(1, kWorkPerPoll / width);
      const int64_t base = unit / tiles * view.size * view.inner + column;
      const int64_t down = reverse ? -view.inner : view.inner;
      int64_t row = reverse ? base + (view.size - 1) * view.inner : base;
      A several[kTile];
      std::fill_n(several, width, initial);
      for (int64_t i = 0; i < view.size;) {
        if (i > 0 && !ctx.Poll().ok()) return;
        const int64_t last = std::min(view.size, i + rows_per_poll);
        if (width == 1) {
          A one = several[0];
          for (; i < last; ++i, row += down) step(one, row);
          several[0] = one;
        } else {
          for (; i < last; ++i, row += down) {
            for (int64_t j = 0; j < width; ++j) step(several[j], row + j);
          }
        }
      }
    }
  }));
  return ctx.Poll();  // columns may have ended half-way
}

template <typename T, bool kProduct, bool kExclusive>
absl::Status Scan(const KernelContext& ctx, const Tensor& input, int axis, bool reverse,
                  Tensor& out) {
  const T* const from = static_cast<const T*>(input.raw_data());
  T* const to = static_cast<T*>(out.mutable_raw_data());
  const Accumulator<T> initial = kProduct ? Accumulator<T>{1} : Accumulator<T>{0};
  return ScanColumns(ctx, AxisView(input.shape(), axis), reverse, initial,
                     [=](Accumulator<T>& sum, int64_t i) {
                       const Accumulator<T> before = sum, x = ToAccumulator(from[i]);
                       sum = kProduct ? Product(before, x) : before + x;
                       to[i] = FromAccumulator<T>(kExclusive ? before : sum);
                     });
}

absl::StatusOr<int> ScanAxis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return absl::InvalidArgumentError(
      absl::StrCat("Expected scan axis in the range [", -rank, ", ", rank, "), but got ", axis));
}

template <typename T, bool kProduct>
absl::Status RunScan(KernelContext& ctx, const ScanAttrs& attrs) {
  const Tensor& input = ctx.input(0);
  if (ctx.input(1).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("ScanOp: axis must be a scalar, not of shape ",
                                                   ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t axis_value, ctx.IntScalar(1, "axis"));
  GYRE_ASSIGN_OR_RETURN(const int axis, ScanAxis(axis_value, input.rank()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, input.dtype(), input.shape()));
  if (out.num_elements() > 0) {
    const auto scan = attrs.exclusive ? &Scan<T, kProduct, true> : &Scan<T, kProduct, false>;
    GYRE_RETURN_IF_ERROR(scan(ctx, input, axis, attrs.reverse, out));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <typename T>
struct CumsumKernel {
  static absl::Status Run(KernelContext& ctx, const ScanAttrs& attrs) {
    return RunScan<T, false>(ctx, attrs);
  }
};
template <typename T>
struct CumprodKernel {
  static absl::Status Run(KernelContext& ctx, const ScanAttrs& attrs) {
    return RunScan<T, true>(ctx, attrs);
  }
};

absl::Status ScanShape(ShapeContext& c) {
  const std::optional<int64_t> axis = c.input_int(1);
  if (c.input(0).has_rank() && axis) {
    GYRE_RETURN_IF_ERROR(ScanAxis(*axis, c.input(0).rank()).status());
  }
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

// Sums the other way round.
Expr SumBack(GradientContext& g, Expr x) {
  const bool exclusive = g.attr<bool>("exclusive", false);
  const bool reverse = !g.attr<bool>("reverse", false);
  return g.op("Cumsum", {x, g.input(1)}, {{"exclusive", exclusive}, {"reverse", reverse}});
}

// With P the product before an element, the derivative of L by x_k is P_k S_k, where
//
//   S_k = Σ dL/dy_i Π x_j,  over i from k on (behind k, where y is exclusive) and j between them,
//
// is a recurrence from the other end. There is no division: all derivatives are exact at zeros.
void CumprodGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const bool exclusive = g.attr<bool>("exclusive", false), reverse = g.attr<bool>("reverse", false);
  const Expr sums = g.op("_AffineScan", {Conj(g.input(0)), g.grad(), g.input(1)},
                         {{"exclusive", exclusive}, {"reverse", !reverse}});
  const Expr before = exclusive ? g.output(0)
                                : g.op("Cumprod", {g.input(0), g.input(1)},
                                       {{"exclusive", true}, {"reverse", reverse}});
  g.Add(0, Conj(before) * sums);
}

// r starts as 0. Exclusive: r is what comes out, then becomes a r + b; else r + b is what comes
// out, of which r becomes the a-fold.
template <typename T, bool kExclusive>
absl::Status AffineScan(const KernelContext& ctx, int axis, bool reverse, Tensor& out) {
  const T* const a = static_cast<const T*>(ctx.input(0).raw_data());
  const T* const b = static_cast<const T*>(ctx.input(1).raw_data());
  T* const to = static_cast<T*>(out.mutable_raw_data());
  return ScanColumns(ctx, AxisView(out.shape(), axis), reverse, Accumulator<T>{0},
                     [=](Accumulator<T>& r, int64_t i) {
                       const Accumulator<T> factor = ToAccumulator(a[i]),
                                            term = ToAccumulator(b[i]);
                       if constexpr (kExclusive) {
                         to[i] = FromAccumulator<T>(r);
                         r = Product(factor, r) + term;
                       } else {
                         const Accumulator<T> sum = r + term;
                         to[i] = FromAccumulator<T>(sum);
                         r = Product(factor, sum);
                       }
                     });
}

template <typename T>
struct AffineScanKernel {
  static absl::Status Run(KernelContext& ctx, const ScanAttrs& attrs) {
    const Shape shape = ctx.input(0).shape();
    if (shape != ctx.input(1).shape()) {
      return absl::InvalidArgumentError(absl::StrCat("a and b must have the same shape, but have ",
                                                     shape.ToString(), " and ",
                                                     ctx.input(1).shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const int64_t axis_value, ctx.IntScalar(2, "axis"));
    GYRE_ASSIGN_OR_RETURN(const int axis, shape::Axis(axis_value, shape.rank()));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(1, DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const auto scan = attrs.exclusive ? &AffineScan<T, true> : &AffineScan<T, false>;
      GYRE_RETURN_IF_ERROR(scan(ctx, axis, attrs.reverse, out));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status AffineScanShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.input(0).Intersect(c.input(1)));
  const std::optional<int64_t> axis = c.input_int(2);
  if (shape.has_rank() && axis) GYRE_RETURN_IF_ERROR(shape::Axis(*axis, shape.rank()).status());
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// The adjoint of what is handed on from one element to the next is the same from the other end.
void AffineScanGradient(GradientContext& g) {
  const Expr a = Conj(g.input(0));
  const Expr back = g.op("_AffineScan", {a, g.grad(), g.input(2)},
                         {{"exclusive", true}, {"reverse", !g.attr<bool>("reverse", false)}});
  if (g.wants(0)) g.Add(0, back * Conj(g.output(0)));
  if (g.wants(1)) g.Add(1, g.attr<bool>("exclusive", false) ? back : g.grad() + a * back);
}

absl::Status AffineScanBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  return c.Emit({c.stacked(0), c.stacked(1), c.shifted_axes(2)});
}

}  // namespace

void RegisterCumulative(OpRegistry& ops) {
  ops.Add({
      .schema = "Cumsum(x: T, axis: Tidx) -> out: T {exclusive: bool = false; "
                "reverse: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc =
          "Running sums along an axis: of the elements up to each one, or (exclusive) before it.",
      .shape = ScanShape,
      .gradient = {[](GradientContext& g) { g.Add(0, SumBack(g, g.grad())); }},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<CumsumKernel, NumberTypes>("T"),
  });
  ops.Add({
      .schema = "Cumprod(x: T, axis: Tidx) -> out: T {exclusive: bool = false; "
                "reverse: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc = "Running products along an axis: of the elements up to each one, or (exclusive) "
             "before it.",
      .shape = ScanShape,
      .gradient = {CumprodGradient},
      .batch = {batch::AlongAxes},
      .kernel = ForTypes<CumprodKernel, NumberTypes>("T"),
  });
  ops.Add({
      .schema = "_AffineScan(a: T, b: T, axis: Tidx) -> out: T {exclusive: bool = false; "
                "reverse: bool = false; T: numbertype; Tidx: indextype = int32}",
      .doc = "r + b of each element along an axis, where r starts as 0 and is a (r + b) of the one "
             "before; or (exclusive) r, which is a r + b of the one before.",
      .shape = AffineScanShape,
      .gradient = {AffineScanGradient},
      .batch = {AffineScanBatch},
      .kernel = ForTypes<AffineScanKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre
