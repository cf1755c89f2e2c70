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

struct AffineAttrs {
  explicit AffineAttrs(const Node& node) : reverse(NodeAttr<bool>(node, "reverse")) {}
  bool reverse;
};

// Runs body(base, width, stops) for stretches of neighbouring columns, of which `base` is where the
// first row's begins. stops(i): whether the run is to stop at step i.
template <typename Body>
absl::Status ForTiles(const KernelContext& ctx, const AxisView& view, const Body& body) {
  const int64_t tiles = (view.inner + kTile - 1) / kTile;
  const int64_t work = std::max<int64_t>(1, view.size * std::min(view.inner, kTile));
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / work);
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(view.outer * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % tiles * kTile;
      const int64_t width = std::min(kTile, view.inner - column);
      const int64_t rows_per_poll = std::max<int64_t>(1, kWorkPerPoll / width);
      body(unit / tiles * view.size * view.inner + column, width,
           [&](int64_t i) { return i % rows_per_poll == rows_per_poll - 1 && !ctx.Poll().ok(); });
    }
  }));
  return ctx.Poll();  // stretches may have ended half-way
}

template <typename T, bool kProduct>
class Scan {
 public:
  Scan(const KernelContext& ctx, const ScanAttrs& attrs, const Tensor& input, int axis, Tensor& out)
      : ctx_(ctx),
        attrs_(attrs),
        view_(input.shape(), axis),
        in_(static_cast<const T*>(input.raw_data())),
        out_(static_cast<T*>(out.mutable_raw_data())) {}

  absl::Status Run() {
    return ForTiles(ctx_, view_, [this](int64_t base, int64_t width, const auto& stops) {
      Accumulator<T> acc[kTile];
      std::fill_n(acc, width, kProduct ? Accumulator<T>{1} : Accumulator<T>{0});
      for (int64_t i = 0; i < view_.size; ++i) {
        if (stops(i)) return;
        const int64_t row = base + (attrs_.reverse ? view_.size - 1 - i : i) * view_.inner;
        for (int64_t j = 0; j < width; ++j) {
          const Accumulator<T> before = acc[j];
          const Accumulator<T> x = ToAccumulator(in_[row + j]);
          acc[j] = kProduct ? Product(before, x) : before + x;
          out_[row + j] = FromAccumulator<T>(attrs_.exclusive ? before : acc[j]);
        }
      }
    });
  }

 private:
  const KernelContext& ctx_;
  const ScanAttrs& attrs_;
  const AxisView view_;
  const T* in_;
  T* out_;
};

template <typename T, bool kProduct>
absl::Status RunScan(KernelContext& ctx, const ScanAttrs& attrs) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const int64_t axis_value, ctx.IntScalar(1, "axis"));
  GYRE_ASSIGN_OR_RETURN(const int axis, shape::Axis(axis_value, input.rank()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, input.dtype(), input.shape()));
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR((Scan<T, kProduct>(ctx, attrs, input, axis, out).Run()));
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
    GYRE_RETURN_IF_ERROR(shape::Axis(*axis, c.input(0).rank()).status());
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
  const Expr x = Conj(g.input(0)), axis = g.input(1), dy = g.grad();
  const auto behind = [&](Expr terms) {
    return g.op("_AffineScan", {x, terms, axis}, {{"reverse", !reverse}});
  };
  const Expr sums = exclusive ? behind(dy) : dy + behind(x * dy);
  const Expr before = exclusive
                          ? Conj(g.output(0))
                          : g.op("Cumprod", {x, axis}, {{"exclusive", true}, {"reverse", reverse}});
  g.Add(0, before * sums);
}

// r of the elements before one, where r starts as 0 and each element makes a r + b of it.
template <typename T>
struct AffineScanKernel {
  static absl::Status Run(KernelContext& ctx, const AffineAttrs& attrs) {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return absl::InvalidArgumentError(absl::StrCat("a and b must have the same shape, but have ",
                                                     a.shape().ToString(), " and ",
                                                     b.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const int64_t axis_value, ctx.IntScalar(2, "axis"));
    GYRE_ASSIGN_OR_RETURN(const int axis, shape::Axis(axis_value, a.rank()));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, a.shape()));
    const AxisView view(a.shape(), axis);
    if (out.num_elements() > 0) {
      const T* as = static_cast<const T*>(a.raw_data());
      const T* bs = static_cast<const T*>(b.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      GYRE_RETURN_IF_ERROR(ForTiles(ctx, view, [&](int64_t base, int64_t width, const auto& stops) {
        Accumulator<T> r[kTile];
        std::fill_n(r, width, Accumulator<T>{0});
        for (int64_t i = 0; i < view.size; ++i) {
          if (stops(i)) return;
          const int64_t row = base + (attrs.reverse ? view.size - 1 - i : i) * view.inner;
          for (int64_t j = 0; j < width; ++j) {
            to[row + j] = FromAccumulator<T>(r[j]);
            r[j] = Product(ToAccumulator(as[row + j]), r[j]) + ToAccumulator(bs[row + j]);
          }
        }
      }));
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

// The adjoint of r is the same from the other end.
void AffineScanGradient(GradientContext& g) {
  const Expr back = g.op("_AffineScan", {Conj(g.input(0)), g.grad(), g.input(2)},
                         {{"reverse", !g.attr<bool>("reverse", false)}});
  if (g.wants(0)) g.Add(0, back * Conj(g.output(0)));
  if (g.wants(1)) g.Add(1, back);
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
      .schema = "_AffineScan(a: T, b: T, axis: Tidx) -> out: T {reverse: bool = false; T: "
                "numbertype; Tidx: indextype = int32}",
      .doc = "For each element along an axis, r of those before it, where r starts as 0 and each "
             "element makes a r + b of it.",
      .shape = AffineScanShape,
      .gradient = {AffineScanGradient},
      .batch = {AffineScanBatch},
      .kernel = ForTypes<AffineScanKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre
