// Reductions, running sums. Axes are an attribute, or from opset 13 (ReduceSum) or 18 on an input.
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

// The axes of a reduction, a vector; nullopt: it changes nothing (none are given, and
// noop_with_empty_axes is set).
std::optional<Expr> Axes(NodeContext& c, const Expr& x) {
  std::optional<std::vector<int64_t>> known;
  if (c.HasAttr("axes")) {
    known = c.Ints("axes");
  } else if (c.has(1)) {
    const Expr axes = c.in(1);
    known = c.ints(axes);
    const PartialShape& shape = c.shape(axes);
    const bool may_be_empty = !shape.has_rank() || shape.rank() != 1 || shape.dim(0) <= 0;
    // Which axes does not matter here, but none means all.
    if (!known && !may_be_empty) return axes;
    if (!known) {
      if (c.Int("noop_with_empty_axes", 0) != 0) return axes;
      const Expr count = c.op("Size", {axes}, {{"out_type", DType::kInt64}});
      // All axes, of which those that are not meant are told by what is kept.
      const Expr is_all = c.op("Equal", {count, c.i64(0)});
      const Expr none = c.i64s(std::vector<int64_t>(c.Rank(x), 0));
      const Expr is_named =
          c.op("NotEqual", {WithElements(c, none, axes, c.op("OnesLike", {axes})), c.i64(0)});
      return AsShape(c, c.op("Where", {c.op("LogicalOr", {is_named, is_all})}), {-1});
    }
  }
  if (known && !known->empty()) return c.i64s(*known);
  if (c.Int("noop_with_empty_axes", 0) != 0) return std::nullopt;
  std::vector<int64_t> all(c.Rank(x));
  std::iota(all.begin(), all.end(), 0);
  return c.i64s(all);
}

// What is done before and after a reduction.
using Step = Expr (*)(NodeContext&, const Expr&);
Expr Same(NodeContext&, const Expr& x) { return x; }
Expr Absolute(NodeContext& c, const Expr& x) { return c.op("Abs", {x}); }
Expr Squared(NodeContext&, const Expr& x) { return x * x; }
Expr Root(NodeContext& c, const Expr& x) {
  if (IsFloating(x.dtype())) return c.op("Sqrt", {x});
  return Cast(c.op("Sqrt", {Cast(x, DType::kDouble)}), x.dtype());
}
Expr Logarithm(NodeContext& c, const Expr& x) {
  if (IsFloating(x.dtype())) return c.op("Log", {x});
  return Cast(c.op("Log", {Cast(x, DType::kDouble)}), x.dtype());
}

void Reduce(NodeContext& c, const char* op, Step before, Step after) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const std::optional<Expr> axes = Axes(c, x);
  const Expr made = before(c, x);
  if (!axes) return c.out(0, after(c, c.op("Identity", {made})));
  c.out(0, after(c, c.op(op, {made, *axes}, {{"keep_dims", c.Int("keepdims", 1) != 0}})));
}

void ReduceSum(NodeContext& c) { Reduce(c, "Sum", Same, Same); }
void ReduceMean(NodeContext& c) { Reduce(c, "Mean", Same, Same); }
void ReduceProd(NodeContext& c) { Reduce(c, "Prod", Same, Same); }
void ReduceL1(NodeContext& c) { Reduce(c, "Sum", Absolute, Same); }
void ReduceL2(NodeContext& c) { Reduce(c, "Sum", Squared, Root); }
void ReduceSumSquare(NodeContext& c) { Reduce(c, "Sum", Squared, Same); }
void ReduceLogSum(NodeContext& c) { Reduce(c, "Sum", Same, Logarithm); }

// Of truth values: whether all, or any, are true.
void ReduceMax(NodeContext& c) {
  Reduce(c, c.dtype(0) == DType::kBool ? "Any" : "Max", Same, Same);
}
void ReduceMin(NodeContext& c) {
  Reduce(c, c.dtype(0) == DType::kBool ? "All" : "Min", Same, Same);
}

// Less the largest, which may be infinite, so that nothing overflows.
void ReduceLogSumExp(NodeContext& c) {
  const Expr given = c.in(0);
  if (c.failed()) return;
  const Expr x = IsFloating(given.dtype()) ? given : Cast(given, DType::kDouble);
  const std::optional<Expr> axes = Axes(c, x);
  if (!axes) return c.out(0, c.op("Identity", {given}));
  const bool keeps = c.Int("keepdims", 1) != 0;
  Expr largest = c.op("Max", {x, *axes}, {{"keep_dims", true}});
  const Expr zero = c.scalar(x.dtype(), 0);
  largest = Where(c.op("IsFinite", {largest}), largest, zero);
  const Expr sum = c.op("Sum", {c.op("Exp", {x - largest}), *axes}, {{"keep_dims", true}});
  Expr result = c.op("Log", {sum}) + largest;
  if (!keeps) result = c.op("Sum", {result, *axes}, {{"keep_dims", false}});
  c.out(0, Cast(result, given.dtype()));
}

// The first of equals, or the last.
void Arg(NodeContext& c, const char* op) {
  Expr x = c.in(0);
  const int axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1));
  if (c.failed()) return;
  const bool takes_last = c.Int("select_last_index", 0) != 0;
  if (takes_last) x = c.op("ReverseV2", {x, c.i32s({axis})});
  Expr result = c.op(op, {x, c.b().Int(axis)}, {{"output_type", DType::kInt64}});
  if (takes_last) result = (DimOf(c, x, axis) - 1.0) - result;
  if (c.Int("keepdims", 1) != 0) result = Unsqueezed(c, result, axis);
  c.out(0, result);
}
void ArgMax(NodeContext& c) { Arg(c, "ArgMax"); }
void ArgMin(NodeContext& c) { Arg(c, "ArgMin"); }

void CumSum(NodeContext& c) {
  c.out(0,
        c.op("Cumsum", {c.in(0), AsScalar(c, c.in(1))},
             {{"exclusive", c.Int("exclusive", 0) != 0}, {"reverse", c.Int("reverse", 0) != 0}}));
}

void CumProd(NodeContext& c) {
  c.out(0,
        c.op("Cumprod", {c.in(0), AsScalar(c, c.in(1))},
             {{"exclusive", c.Int("exclusive", 0) != 0}, {"reverse", c.Int("reverse", 0) != 0}}));
}

}  // namespace

void AddReduceOps(OpTable& t) {
  t.Add("ArgMax", ArgMax);
  t.Add("ArgMin", ArgMin);
  t.Add("CumProd", CumProd);
  t.Add("CumSum", CumSum);
  t.Add("ReduceL1", ReduceL1);
  t.Add("ReduceL2", ReduceL2);
  t.Add("ReduceLogSum", ReduceLogSum);
  t.Add("ReduceLogSumExp", ReduceLogSumExp);
  t.Add("ReduceMax", ReduceMax);
  t.Add("ReduceMean", ReduceMean);
  t.Add("ReduceMin", ReduceMin);
  t.Add("ReduceProd", ReduceProd);
  t.Add("ReduceSum", ReduceSum);
  t.Add("ReduceSumSquare", ReduceSumSquare);
}

}  // namespace gyre::onnx
