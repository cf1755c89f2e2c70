// Numbers on a grid of integers: value = (integer - zero point) * scale, by tensor, by axis or by
// blocks along an axis.
#include <algorithm>
#include <limits>

#include "onnx/narrow.h"
#include "onnx/op_table.h"
#include "onnx/ops/conv.h"
#include "onnx/ops/matrix.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

struct Bounds {
  double least, most;
};

std::optional<Bounds> BoundsOf(int elem_type) {
  using wire::TensorProto;
  switch (elem_type) {
    case TensorProto::UINT8:
      return Bounds{0, 255};
    case TensorProto::INT8:
      return Bounds{-128, 127};
    case TensorProto::UINT16:
      return Bounds{0, 65535};
    case TensorProto::INT16:
      return Bounds{-32768, 32767};
    case TensorProto::UINT4:
      return Bounds{0, 15};
    case TensorProto::INT4:
      return Bounds{-8, 7};
    default:
      return std::nullopt;
  }
}

// A scale or zero point in a shape that goes with x.
Expr Spread(NodeContext& c, const Expr& x, const Expr& parameter, int64_t axis_given) {
  const int rank = c.Rank(parameter);
  if (rank == 0 || c.failed()) return parameter;
  const auto known = c.shape(parameter).ToShape();
  if (known && known->num_elements() == 1) return AsScalar(c, parameter);
  const int x_rank = c.Rank(x);
  const int axis = c.Axis(axis_given, std::max(x_rank, 1));
  if (c.failed() || x_rank == 0) return parameter;
  const int64_t block = c.Int("block_size", 0);
  if (block > 0) {
    const Expr places = c.op("FloorDiv", {Iota(c, DimOf(c, x, axis)), c.i64(block)});
    return Taken(c, parameter, places, axis);
  }
  if (rank != 1) {
    c.Invalid("a scale must be a scalar or a vector");
    return parameter;
  }
  std::vector<int64_t> dims(x_rank, 1);
  dims[axis] = -1;
  return AsShape(c, parameter, dims);
}

// Rounded to even, clamped.
Value Quantized(NodeContext& c, const Expr& x, const Expr& zero, int elem_type) {
  const std::optional<Bounds> bounds = BoundsOf(elem_type);
  if (!bounds && NarrowCarrier(elem_type)) return ToElem(c, {x, {}}, elem_type);
  if (!bounds) {
    c.Unsupported(absl::StrCat("quantisation to ", ElemName(elem_type)));
    return {x, {}};
  }
  Expr y = c.op("Rint", {x});
  if (zero.ok()) y = y + Cast(zero, y.dtype());
  if (c.failed()) return {x, {}};
  y = Maximum(c, Minimum(c, y, c.scalar(y.dtype(), bounds->most)),
              c.scalar(y.dtype(), bounds->least));
  return ToElem(c, {y, Type::Tensor(ElemOfDType(y.dtype()))}, elem_type);
}

void QuantizeLinear(NodeContext& c) {
  const Expr given = c.in(0);
  if (c.failed()) return;
  const int64_t axis = c.Int("axis", 1);
  const Expr x = IsFloating(given.dtype()) ? Widened(given) : Cast(given, DType::kFloat);
  const Expr scale = Cast(Spread(c, x, c.in(1), axis), x.dtype());
  int elem_type = c.Int32("output_dtype", 0);
  Expr zero;
  if (c.has(2)) {
    zero = Spread(c, x, c.in(2), axis);
    elem_type = c.elem(2);
  }
  if (elem_type == 0) elem_type = wire::TensorProto::UINT8;
  if (!c.failed()) c.out(0, Quantized(c, x / scale, zero, elem_type));
}

void DequantizeLinear(NodeContext& c) {
  const Expr given = c.in(0), scale_given = c.in(1);
  if (c.failed()) return;
  const int64_t axis = c.Int("axis", 1);
  Expr x = Cast(given, DType::kFloat);
  if (c.has(2)) x = x - Cast(Spread(c, given, c.in(2), axis), DType::kFloat);
  const Expr y = x * Cast(Spread(c, given, scale_given, axis), DType::kFloat);
  const int elem_type = c.Int32("output_dtype", ElemOfDType(scale_given.dtype()));
  if (!c.failed()) c.out(0, ToElem(c, {y, Type::Tensor(wire::TensorProto::FLOAT)}, elem_type));
}

// To uint8, over the range of the values and zero.
void DynamicQuantizeLinear(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  std::vector<int64_t> all(c.Rank(x));
  for (size_t d = 0; d < all.size(); ++d) all[d] = static_cast<int64_t>(d);
  const Expr zero = c.scalar(x.dtype(), 0);
  const Expr most = Maximum(c, Reduced(c, "Max", x, all, false), zero);
  const Expr least = Minimum(c, Reduced(c, "Min", x, all, false), zero);
  const Expr scale = (most - least) / 255.0;
  const Expr place = c.op("Rint", {-least / scale});
  const Expr clamped =
      Maximum(c, Minimum(c, place, c.scalar(x.dtype(), 255)), c.scalar(x.dtype(), 0));
  c.out(0, Quantized(c, x / scale, clamped, wire::TensorProto::UINT8));
  c.out(1, scale);
  c.out(2, Cast(clamped, DType::kUint8));
}

// (x - zero point), 32-bit, with vectors along `axis`.
Expr Centered(NodeContext& c, int x_input, int zero_input, int64_t axis) {
  const Expr x = Cast(c.in(x_input), DType::kInt32);
  const Expr zero = Cast(c.in(zero_input), DType::kInt32);
  return c.failed() ? x : x - Spread(c, x, zero, axis);
}

void QLinearMatMul(NodeContext& c) {
  const Expr a = Centered(c, 0, 2, -2), b = Centered(c, 3, 5, -1);
  if (c.failed()) return;
  const Expr product = Cast(Product(c, a, b), DType::kFloat);
  const auto scale = [&](int i, int64_t axis) {
    return Cast(Spread(c, product, c.in(i), axis), DType::kFloat);
  };
  const Expr y = product * (scale(1, -2) * scale(4, -1)) / scale(6, -1);
  if (!c.failed()) c.out(0, Quantized(c, y, c.in(7), c.elem(7)));
}

void QLinearConv(NodeContext& c) {
  const Expr x = Centered(c, 0, 2, 1), filter = Centered(c, 3, 5, 0);
  if (c.failed()) return;
  Expr sum = Convolution(c, x, filter);
  if (c.has(8)) sum = sum + Spread(c, sum, c.in(8), 1);
  const Expr wide = Cast(sum, DType::kFloat);
  const Expr scale = c.in(1) * Spread(c, sum, c.in(4), 1) / c.in(6);
  if (!c.failed()) c.out(0, Quantized(c, wide * scale, c.in(7), c.elem(7)));
}

}  // namespace

void AddQuantizeOps(OpTable& t) {
  t.Add("DequantizeLinear", DequantizeLinear);
  t.Add("DynamicQuantizeLinear", DynamicQuantizeLinear);
  t.Add("QLinearConv", QLinearConv);
  t.Add("QLinearMatMul", QLinearMatMul);
  t.Add("QuantizeLinear", QuantizeLinear);
}

}  // namespace gyre::onnx
