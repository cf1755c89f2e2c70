#include "gyre/math.h"

#include "front/error.h"
#include "front/op_call.h"
#include "session/literal.h"

namespace gyre {
namespace {

using internal::OpCall;

Value Unary(const char* op, const Operand& x) { return OpCall(op, x.where()).In(x).One(); }

Value Binary(const char* op, const Operand& x, const Operand& y) {
  return OpCall(op, x.where()).In(x).In(y).One();
}

Value Random(const char* op, const Operand& shape, DType dtype, int64_t seed) {
  return OpCall(op, shape.where()).In(shape).Attr("dtype", dtype).Attr("seed", seed).One();
}

}  // namespace

Value where(const Operand& condition, const Operand& x, const Operand& y) {
  return OpCall("SelectV2", condition.where()).In(condition).In(x).In(y).One();
}

Value add_n(const OperandList& values) { return OpCall("AddN", values.where()).In(values).One(); }

Value cast(const Operand& x, DType dtype) {
  return OpCall("Cast", x.where()).In(x).Attr("DstT", dtype).One();
}

Value identity(const Operand& x, const std::string& name) {
  return OpCall("Identity", x.where()).In(x).Name(name).One();
}

Value shape_of(const Operand& x) { return Unary("Shape", x); }
Value rank_of(const Operand& x) { return Unary("Rank", x); }
Value size_of(const Operand& x) { return Unary("Size", x); }
Value dim_of(const Operand& x, int axis) { return shape_of(x)[Operand(axis, x.where())]; }

Value concat(const OperandList& values, const Operand& axis) {
  if (values.list().size() == 1) return identity(values.list()[0]);  // the op asks for two
  return OpCall("ConcatV2", axis.where()).In(values).In(axis).One();
}

Value ensure_shape(const Operand& x, PartialShape shape) {
  return OpCall("EnsureShape", x.where()).In(x).Attr("shape", std::move(shape)).One();
}

Value gather(const Operand& params, const Operand& indices, const Operand& axis) {
  return OpCall("GatherV2", params.where()).In(params).In(indices).In(axis).One();
}
Value one_hot(const Operand& indices, const Operand& depth, const Operand& on, const Operand& off) {
  return OpCall("OneHot", indices.where()).In(indices).In(depth).In(on).In(off).One();
}

Value range(const Operand& start, const Operand& limit, const Operand& delta) {
  return OpCall("Range", start.where()).In(start).In(limit).In(delta).One();
}

std::vector<Value> split(const Operand& x, int64_t pieces, const Operand& axis) {
  return OpCall("Split", x.where()).In(axis).In(x).Attr("num_split", pieces).All();
}

Value stack(const OperandList& values, int64_t axis) {
  return OpCall("Pack", values.where()).In(values).Attr("axis", axis).One();
}

Value transpose(const Operand& x, const Operand& permutation) {
  return Binary("Transpose", x, permutation);
}

Value transpose(const Operand& x) {
  const Operand value = Operand(to_value(x), x.where());
  return transpose(value, range(rank_of(value) - 1, Operand(-1, x.where()), -1));
}

std::vector<Value> unstack(const Operand& x, int64_t count, int64_t axis) {
  return OpCall("Unpack", x.where()).In(x).Attr("num", count).Attr("axis", axis).All();
}

Value matmul(const Operand& a, const Operand& b, MatMulTranspose transpose) {
  const auto is_stack = [](const Operand& x) {
    const PartialShape shape = x.is_literal() ? x.literal().shape() : x.value().shape();
    return !shape.has_rank() || shape.rank() > 2;
  };
  if (is_stack(a) || is_stack(b)) {
    return OpCall("BatchMatMulV2", a.where())
        .In(a)
        .In(b)
        .Attr("adj_x", transpose.a)
        .Attr("adj_y", transpose.b)
        .One();
  }
  return OpCall("MatMul", a.where())
      .In(a)
      .In(b)
      .Attr("transpose_a", transpose.a)
      .Attr("transpose_b", transpose.b)
      .One();
}

Value einsum(const std::string& equation, const OperandList& values) {
  return OpCall("Einsum", values.where()).In(values).Attr("equation", equation).One();
}

Value random_uniform(const Operand& shape, DType dtype, int64_t seed) {
  return Random("RandomUniform", shape, dtype, seed);
}
Value random_normal(const Operand& shape, DType dtype, int64_t seed) {
  return Random("RandomStandardNormal", shape, dtype, seed);
}

}  // namespace gyre
