#include "onnx/ops/pieces.h"

#include <algorithm>
#include <numeric>

#include "onnx/narrow.h"

namespace gyre::onnx {
namespace {

Value Tensors(const Expr& x, int elem_type) { return {x, Type::Tensor(elem_type)}; }

// Texts of numbers as numpy prints them, which Gyre's op comes near to; and back.
Value ToText(NodeContext& c, const Expr& x) {
  return Tensors(c.op("AsString", {x}, {{"shortest", IsFloating(x.dtype())}}),
                 wire::TensorProto::STRING);
}

Expr FromText(NodeContext& c, const Expr& x, DType dtype) {
  const bool is_whole = IsInteger(dtype);
  const DType type = is_whole ? DType::kInt64 : dtype == DType::kDouble ? dtype : DType::kFloat;
  return Cast(c.op("StringToNumber", {x}, {{"out_type", type}}), dtype);
}

}  // namespace

Value ToElem(NodeContext& c, const Value& x, int elem_type) {
  const absl::StatusOr<DType> dtype = DTypeOfElem(elem_type);
  if (!dtype.ok()) {
    c.Fail(dtype.status());
    return {c.scope().Invalid(), {}};
  }
  const bool is_same = x.type.elem_type == elem_type;
  if (!c.failed() && NarrowCarrier(elem_type) && !is_same) {
    const bool saturates = c.Int("saturate", 1) != 0;
    return Tensors(Narrowed(c.scope(), x.expr, elem_type, saturates, c.Text("round_mode", "up")),
                   elem_type);
  }
  if (c.failed() || x.expr.dtype() == *dtype) return Tensors(c.op("Identity", {x.expr}), elem_type);
  if (*dtype == DType::kString) return ToText(c, x.expr);
  if (x.expr.dtype() == DType::kString) return Tensors(FromText(c, x.expr, *dtype), elem_type);
  return Tensors(Cast(x.expr, *dtype), elem_type);
}

Expr DimsOf(NodeContext& c, const Expr& x) {
  const std::optional<Shape> known = c.shape(x).ToShape();
  if (known) return c.i64s({known->dims().begin(), known->dims().end()});
  return c.op("Shape", {x}, {{"out_type", DType::kInt64}});
}

Expr DimOf(NodeContext& c, const Expr& x, int axis) {
  const PartialShape& shape = c.shape(x);
  if (shape.has_rank() && axis < shape.rank() && shape.dim(axis) >= 0)
    return c.i64(shape.dim(axis));
  return Taken(c, c.op("Shape", {x}, {{"out_type", DType::kInt64}}), c.b().Int(axis), 0);
}

Expr FlatDims(NodeContext& c, const Expr& x, int axis) {
  const Expr dims = DimsOf(c, x);
  const Expr before = c.op("Prod", {Part(c, dims, 0, axis), c.b().Int(0)});
  const Expr after = c.op("Prod", {Part(c, dims, axis, c.Rank(x)), c.b().Int(0)});
  return Pack(c, {before, after});
}

Expr Part(NodeContext& c, const Expr& vector, int64_t begin, int64_t end) {
  return c.op("Slice", {vector, c.i64s({begin}), c.i64s({end - begin})});
}

Expr AsScalar(NodeContext& c, const Expr& x) {
  if (c.scope().RankOf(x) == 0) return x;
  return AsShape(c, x, {});
}

Expr AsShape(NodeContext& c, const Expr& x, const std::vector<int64_t>& dims) {
  return c.op("Reshape", {x, c.i64s(dims)});
}

Expr Pack(NodeContext& c, const std::vector<Expr>& scalars) { return c.op("Pack", scalars); }

Expr Concat(NodeContext& c, const std::vector<Expr>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  std::vector<Expr> inputs = parts;
  inputs.push_back(c.b().Int(axis));
  return c.op("ConcatV2", inputs);
}

std::vector<int64_t> SwapPermutation(int rank, int a, int b) {
  std::vector<int64_t> result(rank);
  std::iota(result.begin(), result.end(), 0);
  if (a < rank && b < rank && a >= 0 && b >= 0) std::swap(result[a], result[b]);
  return result;
}

Expr Transposed(NodeContext& c, const Expr& x, const std::vector<int64_t>& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  return c.op("Transpose", {x, c.i32s(permutation)});
}

Expr ChannelsLast(NodeContext& c, const Expr& x) {
  const int rank = c.Rank(x);
  std::vector<int64_t> permutation = {0};
  for (int d = 2; d < rank; ++d) permutation.push_back(d);
  if (rank > 1) permutation.push_back(1);
  return Transposed(c, x, permutation);
}

Expr ChannelsFirst(NodeContext& c, const Expr& x) {
  const int rank = c.Rank(x);
  std::vector<int64_t> permutation = {0};
  if (rank > 1) permutation.push_back(rank - 1);
  for (int d = 1; d + 1 < rank; ++d) permutation.push_back(d);
  return Transposed(c, x, permutation);
}

Expr Unsqueezed(NodeContext& c, const Expr& x, int axis) {
  return c.op("ExpandDims", {x, c.b().Int(axis)});
}

Expr Squeezed(NodeContext& c, const Expr& x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : c.op("Squeeze", {x}, {{"squeeze_dims", axes}});
}

Expr Taken(NodeContext& c, const Expr& x, const Expr& index, int axis) {
  return c.op("GatherV2", {x, index, c.b().Int(axis)});
}

Expr WithElements(NodeContext& c, const Expr& vector, const Expr& places, const Expr& values) {
  const Expr size = c.op("Size", {vector}, {{"out_type", DType::kInt64}});
  return c.op("TensorScatterUpdate",
              {vector, Unsqueezed(c, NonNegative(c, places, size), 1), values});
}

Expr NonNegative(NodeContext& c, const Expr& x, const Expr& size) {
  if (c.failed()) return x;
  return Where(c.op("Less", {x, c.scalar(x.dtype(), 0)}), x + size, x);
}

bool IsZero(NodeContext& c, const Expr& x) {
  const auto known = c.ints(x);
  return known && known->size() == 1 && (*known)[0] == 0;
}

Expr BeginningAt(NodeContext& c, const Expr& x, const Expr& y, int axis) {
  const int rank = c.Rank(x), own = c.Rank(y);
  Expr result = y;
  for (int d = own; axis + d < rank && !c.failed(); ++d) result = Unsqueezed(c, result, d);
  return result;
}

Expr SecondOperand(NodeContext& c, const Expr& x) {
  const Expr y = c.in(1);
  if (c.opset() >= 7 || c.Int("broadcast", 0) == 0 || !c.HasAttr("axis")) return y;
  return BeginningAt(c, x, y, c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1)));
}

Expr Less(NodeContext& c, const Expr& x, const Expr& y) { return c.op("Less", {x, y}); }
Expr And(NodeContext& c, const Expr& x, const Expr& y) { return c.op("LogicalAnd", {x, y}); }
Expr Minimum(NodeContext& c, const Expr& x, const Expr& y) { return c.op("Minimum", {x, y}); }
Expr Maximum(NodeContext& c, const Expr& x, const Expr& y) { return c.op("Maximum", {x, y}); }

Expr Iota(NodeContext& c, const Expr& count) {
  if (c.failed()) return count;
  return c.op("Range", {c.scalar(count.dtype(), 0), count, c.scalar(count.dtype(), 1)});
}

Expr Reduced(NodeContext& c, const char* op, const Expr& x, const std::vector<int64_t>& axes,
             bool keep_dims) {
  return c.op(op, {x, c.i32s(axes)}, {{"keep_dims", keep_dims}});
}

Expr Widened(const Expr& x) {
  const bool is_narrow = x.dtype() == DType::kHalf || x.dtype() == DType::kBfloat16;
  return is_narrow ? Cast(x, DType::kFloat) : x;
}

}  // namespace gyre::onnx
