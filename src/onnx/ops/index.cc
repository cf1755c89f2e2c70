// Gathering and scattering, sorting, counting.
#include <algorithm>
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

void Gather(NodeContext& c) {
  const Value x = c.value(0);
  const int axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x.expr), 1));
  const Expr indices = NonNegative(c, Cast(c.in(1), DType::kInt64), DimOf(c, x.expr, axis));
  c.out(0, Value{Taken(c, x.expr, indices, axis), x.type});
}

// For each element of `indices` its coordinates in x, where that along `axis` is the element; on a
// last axis of their own.
Expr Coordinates(NodeContext& c, const Expr& indices, int axis) {
  const int rank = c.Rank(indices);
  const Expr dims = DimsOf(c, indices);
  std::vector<Expr> coordinates;
  for (int d = 0; d < rank && !c.failed(); ++d) {
    if (d == axis) {
      coordinates.push_back(indices);
      continue;
    }
    std::vector<int64_t> line(rank, 1);
    line[d] = -1;
    coordinates.push_back(
        c.op("BroadcastTo", {AsShape(c, Iota(c, DimOf(c, indices, d)), line), dims}));
  }
  if (coordinates.empty()) c.Invalid("it takes no scalars");
  if (c.failed()) return indices;
  return c.op("Pack", coordinates, {{"axis", int64_t{rank}}});
}

Expr IndicesAlong(NodeContext& c, const Expr& x, const Expr& indices, int axis) {
  return NonNegative(c, Cast(indices, DType::kInt64), DimOf(c, x, axis));
}

void GatherElements(NodeContext& c) {
  const Expr x = c.in(0);
  const int axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1));
  const Expr indices = IndicesAlong(c, x, c.in(1), axis);
  c.out(0, c.op("GatherNd", {x, Coordinates(c, indices, axis)}));
}

// Batch dimensions are coordinates that the indices leave out.
void GatherND(NodeContext& c) {
  const Expr x = c.in(0);
  Expr indices = c.in(1);
  const int64_t batch = c.Int("batch_dims", 0);
  if (c.failed()) return;
  const int rank = c.Rank(indices);
  if (rank < 1 || batch < 0 || batch >= rank) return c.Invalid("batch_dims is out of range");
  const int64_t width = c.Dim(indices, rank - 1);
  if (width < 0) return c.Unsupported("the last dimension of its indices must be known");
  if (!c.scope().ShapeOf(x).has_rank() || width + batch > c.Rank(x))
    return c.Invalid("the indices are longer than the shape");
  indices =
      NonNegative(c, Cast(indices, DType::kInt64), Part(c, DimsOf(c, x), batch, batch + width));
  if (batch > 0) {
    const Expr dims = DimsOf(c, indices);
    const Expr outer = c.op("ConcatV2", {Part(c, dims, 0, rank - 1), c.i64s({1}), c.b().Int(0)});
    std::vector<Expr> parts;
    for (int d = 0; d < batch; ++d) {
      std::vector<int64_t> line(rank, 1);
      line[d] = -1;
      parts.push_back(
          c.op("BroadcastTo", {AsShape(c, Iota(c, DimOf(c, indices, d)), line), outer}));
    }
    parts.push_back(indices);
    indices = Concat(c, parts, rank - 1);
  }
  c.out(0, c.op("GatherNd", {x, indices}));
}

// x with updates at indices [n, k], combined as `reduction` says.
Expr Scattered(NodeContext& c, const Expr& x, const Expr& indices, const Expr& updates) {
  const std::string reduction = c.Text("reduction", "none");
  if (reduction == "none") return c.op("TensorScatterUpdate", {x, indices, updates});
  if (reduction == "add") return c.op("TensorScatterAdd", {x, indices, updates});
  if (reduction == "max") return c.op("TensorScatterMax", {x, indices, updates});
  if (reduction == "min") return c.op("TensorScatterMin", {x, indices, updates});
  if (reduction != "mul") {
    c.Invalid("reduction is not one of none, add, mul, max, min");
    return x;
  }
  // A product for each place, by its number; 1 where nothing goes.
  const int64_t width = std::max<int64_t>(c.Dim(indices, c.Rank(indices) - 1), 0);
  const Expr dims = DimsOf(c, x);
  const Expr outer = Part(c, dims, 0, width), inner = Part(c, dims, width, c.Rank(x));
  const Expr steps =
      c.op("Cumprod", {outer, c.b().Int(0)}, {{"exclusive", true}, {"reverse", true}});
  const Expr places = Reduced(c, "Sum", indices * steps, {c.Rank(indices) - 1}, false);
  const Expr count = c.op("Prod", {outer, c.b().Int(0)});
  const Expr rows =
      c.op("Reshape", {updates, c.op("ConcatV2", {c.i64s({-1}), inner, c.b().Int(0)})});
  const Expr products = c.op("UnsortedSegmentProd", {rows, AsShape(c, places, {-1}), count});
  return x * c.op("Reshape", {products, dims});
}

void ScatterElements(NodeContext& c) {
  const Expr x = c.in(0);
  const int axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1));
  const Expr indices = IndicesAlong(c, x, c.in(1), axis);
  const Expr at = Coordinates(c, indices, axis);
  const Expr updates = c.in(2);
  if (!c.failed()) c.out(0, Scattered(c, x, at, updates));
}

void ScatterND(NodeContext& c) {
  const Expr x = c.in(0), updates = c.in(2);
  Expr indices = c.in(1);
  const int rank = c.Rank(indices);
  if (c.failed() || rank < 1) return c.Invalid("its indices have no last dimension");
  const int64_t width = c.Dim(indices, rank - 1);
  if (width < 0) return c.Unsupported("the last dimension of its indices must be known");
  if (width > c.Rank(x)) return c.Invalid("the indices are longer than the shape");
  indices = NonNegative(c, indices, Part(c, DimsOf(c, x), 0, width));
  c.out(0, Scattered(c, x, indices, updates));
}

// Rows of a cache from `write_indices` on, by batch; modulo its size where it is circular.
void TensorScatter(NodeContext& c) {
  const Expr x = c.in(0), update = c.in(1);
  const int rank = c.Rank(x);
  const int axis = c.Axis(c.Int("axis", -2), rank);
  if (c.failed()) return;
  const Expr steps = Iota(c, DimOf(c, update, axis));
  std::vector<int64_t> line(rank, 1), batch(rank, 1);
  line[axis] = -1;
  batch[0] = -1;
  Expr at = AsShape(c, steps, line);
  if (c.has(2)) at = at + AsShape(c, Cast(c.in(2), DType::kInt64), batch);
  if (c.Text("mode", "linear") == "circular") at = c.op("FloorMod", {at, DimOf(c, x, axis)});
  const Expr indices = c.op("BroadcastTo", {at, DimsOf(c, update)});
  c.out(0, c.op("TensorScatterUpdate", {x, Coordinates(c, indices, axis), update}));
}

// Negative indices count from the end; others outside are off everywhere.
void OneHot(NodeContext& c) {
  const Expr depth = Cast(AsScalar(c, c.in(1)), DType::kInt64);
  const Expr indices = NonNegative(c, Cast(c.in(0), DType::kInt64), depth);
  const Expr values = c.in(2);
  int64_t axis = c.Int("axis", -1);
  if (axis < -1) axis += c.Rank(indices) + 1;
  c.out(0, c.op("OneHot",
                {indices, Cast(depth, DType::kInt32), Taken(c, values, c.b().Int(1), 0),
                 Taken(c, values, c.b().Int(0), 0)},
                {{"axis", axis}}));
}

void NonZero(NodeContext& c) {
  c.out(0, c.op("Transpose", {c.op("Where", {c.in(0)}), c.i32s({1, 0})}));
}

void Compress(NodeContext& c) {
  Expr x = c.in(0);
  const Expr indices = AsShape(c, c.op("Where", {c.in(1)}), {-1});
  int axis = 0;
  if (c.HasAttr("axis")) {
    axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1));
  } else {
    x = AsShape(c, x, {-1});
  }
  c.out(0, Taken(c, x, indices, axis));
}

// What turns the order of a type's values round.
Expr Reversed(NodeContext& c, const Expr& x) {
  return c.op(IsFloating(x.dtype()) ? "Neg" : "Invert", {x});
}

void TopK(NodeContext& c) {
  const Expr x = c.in(0);
  const int rank = c.Rank(x);
  const int axis = c.Axis(c.Int("axis", -1), std::max(rank, 1));
  const Expr k = c.has(1) ? Cast(AsScalar(c, c.in(1)), DType::kInt32) : c.b().Int(c.Int32("k", 1));
  if (c.failed()) return;
  const bool largest = c.Int("largest", 1) != 0;
  const std::vector<int64_t> swap = SwapPermutation(rank, axis, rank - 1);
  Expr last = Transposed(c, x, swap);
  if (!largest) last = Reversed(c, last);
  const auto results =
      c.b().Ops("TopKV2", {last, k}, {{"sorted", true}, {"index_type", DType::kInt64}}, 2);
  c.out(0, Transposed(c, largest ? results[0] : Reversed(c, results[0]), swap));
  c.out(1, Transposed(c, results[1], swap));
}

// The number of smaller rows for each row of a matrix, by their first differing element.
Expr RanksOfRows(NodeContext& c, const Expr& rows) {
  const Expr a = Unsqueezed(c, rows, 1), b = Unsqueezed(c, rows, 0);
  const Expr differs = Cast(c.op("NotEqual", {a, b}), DType::kInt32);
  const Expr first = c.op("ArgMax", {differs, c.b().Int(2)}, {{"output_type", DType::kInt64}});
  const Expr depth = Cast(DimOf(c, rows, 1), DType::kInt32);
  const Expr at = c.op("OneHot", {first, depth, c.b().Constant(Tensor::Scalar(true)),
                                  c.b().Constant(Tensor::Scalar(false))});
  const Expr is_less = c.op("LogicalAnd", {c.op("Greater", {a, b}), at});
  const Expr counts = c.op("Any", {is_less, c.b().Int(2)});
  return c.op("Sum", {Cast(counts, DType::kInt64), c.b().Int(1)});
}

// The order in which `keys` (int64) ascend.
Expr Order(NodeContext& c, const Expr& keys) {
  const Expr count = Cast(c.op("Size", {keys}), DType::kInt32);
  return c.b().Ops("TopKV2", {Reversed(c, keys), count}, {{"index_type", DType::kInt64}}, 2)[1];
}

// Gyre's finds values in the order of their first occurrences: sorted, if asked for, by how many
// are smaller.
void UniqueOp(NodeContext& c) {
  Expr x = c.in(0);
  const bool is_flat = !c.HasAttr("axis");
  int axis = 0;
  if (is_flat) {
    x = AsShape(c, x, {-1});
  } else {
    axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1));
  }
  if (c.failed()) return;
  const auto found =
      c.b().Ops("UniqueWithCountsV2", {x, c.i64s({axis})}, {{"out_idx", DType::kInt64}}, 3);
  Expr values = found[0], inverse = AsShape(c, found[1], {-1}), counts = found[2];
  if (c.failed()) return;
  const Expr count = c.op("Size", {counts}, {{"out_type", DType::kInt64}});
  const Expr numbers = Iota(c, c.op("Size", {inverse}, {{"out_type", DType::kInt64}}));
  Expr first = c.op("UnsortedSegmentMin", {numbers, inverse, count});
  if (c.Int("sorted", 1) != 0) {
    const int rank = c.Rank(x);
    // By rows as numpy sorts them: their elements in the order of the other axes.
    std::vector<int64_t> to_front = {axis};
    for (int d = 0; d < rank; ++d) {
      if (d != axis) to_front.push_back(d);
    }
    const Expr front = Transposed(c, values, to_front);
    const Expr rows = c.op("Reshape", {front, FlatDims(c, front, 1)});
    const Expr order = Order(c, RanksOfRows(c, rows));
    values = Taken(c, values, order, axis);
    first = Taken(c, first, order, 0);
    counts = Taken(c, counts, order, 0);
    inverse = Taken(c, c.op("InvertPermutation", {order}), inverse, 0);
  }
  c.out(0, values);
  c.out(1, first);
  c.out(2, inverse);
  c.out(3, counts);
}

// Columns of a matrix (ai.onnx.ml).
void ArrayFeatureExtractor(NodeContext& c) {
  const Expr x = c.in(0);
  const Expr indices = AsShape(c, c.in(1), {-1});
  const int rank = c.Rank(x);
  if (c.failed() || rank < 1) return c.Invalid("it takes no scalars");
  Expr result = Taken(c, x, indices, rank - 1);
  if (rank == 1) result = Unsqueezed(c, result, 0);
  c.out(0, result);
}

void Binarizer(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  c.out(0, Cast(c.op("Greater", {x, c.scalar(x.dtype(), c.Float("threshold", 0))}), x.dtype()));
}

}  // namespace

void AddIndexOps(OpTable& t) {
  t.Add("Compress", Compress);
  t.Add("Gather", Gather);
  t.Add("GatherElements", GatherElements);
  t.Add("GatherND", GatherND);
  t.Add("NonZero", NonZero);
  t.Add("OneHot", OneHot);
  t.Add("Scatter", ScatterElements);
  t.Add("ScatterElements", ScatterElements);
  t.Add("ScatterND", ScatterND);
  t.Add("TensorScatter", TensorScatter);
  t.Add("TopK", TopK);
  t.Add("Unique", UniqueOp);
  t.Add("ai.onnx.ml.ArrayFeatureExtractor", ArrayFeatureExtractor);
  t.Add("ai.onnx.ml.Binarizer", Binarizer);
}

}  // namespace gyre::onnx
