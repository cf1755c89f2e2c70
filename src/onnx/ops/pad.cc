// Padding and cropping.
#include <algorithm>
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

struct Amounts {
  std::vector<int> axes;
  std::vector<Expr> before, after;  // int64 scalars; negative ones cut off
};

// Those of all axes, where only some have any, and which is not known.
Expr Spread(NodeContext& c, const Expr& pads, const Expr& axes, int rank) {
  const Expr count = Pack(c, {c.op("Size", {axes}, {{"out_type", DType::kInt64}})});
  const Expr none = c.i64s(std::vector<int64_t>(rank, 0));
  const Expr before = c.op("Slice", {pads, c.i64s({0}), count});
  const Expr after = c.op("Slice", {pads, count, c.i64s({-1})});
  return Concat(c, {WithElements(c, none, axes, before), WithElements(c, none, axes, after)}, 0);
}

// Attributes below opset 11; some axes alone from opset 18 on.
Amounts ReadAmounts(NodeContext& c, const Expr& x) {
  Amounts amounts;
  const int rank = c.Rank(x);
  Expr pads = c.has(1) ? Cast(AsShape(c, c.in(1), {-1}), DType::kInt64) : c.i64s(c.Ints("pads"));
  const std::optional<Expr> axes =
      c.has(3) ? std::optional(Cast(c.in(3), DType::kInt64)) : std::nullopt;
  const auto known = axes ? c.ints(*axes) : std::nullopt;
  if (known) {
    amounts.axes = c.Axes(*known, rank);
  } else {
    if (axes) pads = Spread(c, pads, *axes, rank);
    amounts.axes.resize(rank);
    std::iota(amounts.axes.begin(), amounts.axes.end(), 0);
  }
  const int count = static_cast<int>(amounts.axes.size());
  if (const int64_t size = c.Dim(pads, 0); !c.failed() && size >= 0 && size != 2 * count)
    c.Invalid("the number of pads is not twice that of the axes");
  for (int i = 0; i < count && !c.failed(); ++i) {
    amounts.before.push_back(Taken(c, pads, c.b().Int(i), 0));
    amounts.after.push_back(Taken(c, pads, c.b().Int(i + count), 0));
  }
  return amounts;
}

bool IsKnownNotNegative(NodeContext& c, const Expr& x) {
  const auto known = c.ints(x);
  return known && known->size() == 1 && (*known)[0] >= 0;
}

Expr WithConstant(NodeContext& c, Expr x, const Amounts& amounts, const Expr& value) {
  const int rank = c.Rank(x);
  std::vector<Expr> before(rank, c.i64(0)), after(rank, c.i64(0));
  std::vector<Expr> begin(rank, c.i64(0)), size(rank, c.i64(-1));
  bool cuts = false;
  for (size_t i = 0; i < amounts.axes.size(); ++i) {
    const int axis = amounts.axes[i];
    const Expr zero = c.i64(0);
    before[axis] = Maximum(c, amounts.before[i], zero);
    after[axis] = Maximum(c, amounts.after[i], zero);
    if (IsKnownNotNegative(c, amounts.before[i]) && IsKnownNotNegative(c, amounts.after[i]))
      continue;
    cuts = true;
    begin[axis] = Maximum(c, -amounts.before[i], zero);
    size[axis] = DimOf(c, x, axis) + Minimum(c, amounts.before[i], zero) +
                 Minimum(c, amounts.after[i], zero);
  }
  if (c.failed()) return x;
  if (cuts) x = c.op("Slice", {x, Pack(c, begin), Pack(c, size)});
  const Expr paddings = c.op("Pack", {Pack(c, before), Pack(c, after)}, {{"axis", int64_t{1}}});
  return c.op("PadV2", {x, paddings, value});
}

// Where element i of a padded axis, counted from the first of the input's, comes from.
Expr Source(NodeContext& c, const Expr& i, const Expr& size, const std::string& mode) {
  const Expr last = size - 1.0, zero = c.i64(0);
  if (mode == "edge") return Maximum(c, Minimum(c, i, last), zero);
  if (mode == "wrap") return c.op("FloorMod", {i, size});
  // Reflected at both ends, as often as it takes.
  const Expr period = Maximum(c, 2.0 * last, c.i64(1));
  const Expr at = c.op("FloorMod", {i, period});
  return Minimum(c, at, period - at);
}

void Pad(NodeContext& c) {
  Expr x = c.in(0);
  const Amounts amounts = ReadAmounts(c, x);
  const std::string mode = c.Text("mode", "constant");
  if (c.failed()) return;
  if (mode == "constant") {
    Expr value;
    if (c.has(2)) {
      value = AsScalar(c, c.in(2));
    } else if (x.dtype() == DType::kString) {
      value = c.b().Constant(Tensor::Scalar(std::string()));
    } else if (x.dtype() == DType::kBool) {
      value = c.b().Constant(Tensor::Scalar(false));
    } else {
      value = c.scalar(x.dtype(), c.Float("value", 0));
    }
    return c.out(0, WithConstant(c, x, amounts, value));
  }
  if (mode != "edge" && mode != "wrap" && mode != "reflect")
    return c.Invalid("mode is not one of constant, reflect, edge, wrap");
  for (size_t i = 0; i < amounts.axes.size() && !c.failed(); ++i) {
    if (IsZero(c, amounts.before[i]) && IsZero(c, amounts.after[i])) continue;
    const Expr size = DimOf(c, x, amounts.axes[i]);
    const Expr numbers = c.op("Range", {-amounts.before[i], size + amounts.after[i], c.i64(1)});
    x = Taken(c, x, Source(c, numbers, size, mode), amounts.axes[i]);
  }
  c.out(0, c.op("Identity", {x}));
}

// Cut off or padded on both sides, one element more behind where it does not come out even.
void CenterCropPad(NodeContext& c) {
  const Expr x = c.in(0), wanted = Cast(c.in(1), DType::kInt64);
  const int rank = c.Rank(x);
  std::vector<int64_t> axes = c.Ints("axes");
  if (!c.HasAttr("axes")) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  Amounts amounts;
  for (const int axis : c.Axes(axes, rank)) {
    const int32_t i = static_cast<int32_t>(amounts.axes.size());
    const Expr missing = Taken(c, wanted, c.b().Int(i), 0) - DimOf(c, x, axis);
    // Of a crop: half of it, rounded down, in front.
    const Expr before = c.op("TruncateDiv", {missing, c.i64(2)});
    amounts.axes.push_back(axis);
    amounts.before.push_back(before);
    amounts.after.push_back(missing - before);
  }
  if (!c.failed()) c.out(0, WithConstant(c, x, amounts, c.scalar(x.dtype(), 0)));
}

}  // namespace

void AddPadOps(OpTable& t) {
  t.Add("CenterCropPad", CenterCropPad);
  t.Add("Pad", Pad);
}

}  // namespace gyre::onnx
