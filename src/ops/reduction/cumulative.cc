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
    const int64_t tiles = (view_.inner + kTile - 1) / kTile;
    const int64_t work = std::max<int64_t>(1, view_.size * std::min(view_.inner, kTile));
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
    const int64_t rows_per_poll = std::max<int64_t>(1, kWorkPerPoll / width);
    Accumulator<T> acc[kTile];
    std::fill_n(acc, width, kProduct ? Accumulator<T>{1} : Accumulator<T>{0});
    for (int64_t i = 0; i < view_.size; ++i) {
      if (i % rows_per_poll == rows_per_poll - 1 && !ctx_.Poll().ok()) return;
      const int64_t row = base + (attrs_.reverse ? view_.size - 1 - i : i) * view_.inner;
      for (int64_t j = 0; j < width; ++j) {
        const Accumulator<T> before = acc[j];
        const Accumulator<T> x = ToAccumulator(in_[row + j]);
        acc[j] = kProduct ? Product(before, x) : before + x;
        out_[row + j] = FromAccumulator<T>(attrs_.exclusive ? before : acc[j]);
      }
    }
  }

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

// The peer gives 0 where x is 0, and so does this.
void CumprodGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Expr sums = SumBack(g, g.grad() * Conj(g.output(0)));
  g.Add(0, g.op("DivNoNan", {sums, Conj(g.input(0))}));
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
}

}  // namespace gyre
