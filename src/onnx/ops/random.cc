// Random numbers: Gyre's own, of the node's seed. They are not those of other runtimes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

// The bits of the seed, a float but for Dropout; 0, the session's, where there is none.
AttrMap Seeds(NodeContext& c) {
  int64_t bits = 0;
  if (const wire::AttributeProto* const attribute = c.Find("seed")) {
    if (attribute->type() == wire::AttributeProto::INT) {
      bits = c.Int("seed", 0);
    } else {
      const float seed = c.Float("seed", 0);
      int32_t bits_of_float = 0;
      std::memcpy(&bits_of_float, &seed, sizeof(bits_of_float));
      bits = bits_of_float;
    }
    if (bits == 0) bits = 1;
  }
  return {{"seed", bits}, {"seed2", int64_t{0}}};
}

// Numbers of an element type (0: that of input 0, if it is a floating one), as `op` draws them.
Expr Drawn(NodeContext& c, const char* op, const Expr& shape, int elem_type) {
  const auto dtype = DTypeOfElem(elem_type);
  if (!dtype.ok()) {
    c.Fail(dtype.status());
    return shape;
  }
  AttrMap attrs = Seeds(c);
  attrs.Set("dtype", IsFloating(*dtype) ? *dtype : DType::kFloat);
  return c.op(op, {shape}, std::move(attrs));
}

int OwnType(NodeContext& c, bool is_like) {
  const int own = is_like ? c.elem(0) : wire::TensorProto::FLOAT;
  return c.Int32("dtype", own);
}

void Uniform(NodeContext& c, const Expr& shape, bool is_like) {
  const double low = c.Float("low", 0), high = c.Float("high", 1);
  c.out(0, (high - low) * Drawn(c, "RandomUniform", shape, OwnType(c, is_like)) + low);
}
void Normal(NodeContext& c, const Expr& shape, bool is_like) {
  const double mean = c.Float("mean", 0), scale = c.Float("scale", 1);
  c.out(0, scale * Drawn(c, "RandomStandardNormal", shape, OwnType(c, is_like)) + mean);
}

void RandomUniform(NodeContext& c) { Uniform(c, c.i64s(c.Ints("shape")), false); }
void RandomNormal(NodeContext& c) { Normal(c, c.i64s(c.Ints("shape")), false); }
void RandomUniformLike(NodeContext& c) {
  const Expr x = c.in(0);
  if (!c.failed()) Uniform(c, DimsOf(c, x), true);
}
void RandomNormalLike(NodeContext& c) {
  const Expr x = c.in(0);
  if (!c.failed()) Normal(c, DimsOf(c, x), true);
}

void Bernoulli(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const Expr drawn = Drawn(c, "RandomUniform", DimsOf(c, x), ElemOfDType(x.dtype()));
  const Expr is_one = c.op("Less", {drawn, Cast(x, drawn.dtype())});
  c.out(0, ToElem(c, {is_one, Type::Tensor(wire::TensorProto::BOOL)}, OwnType(c, true)));
}

// In training, elements become zero with the probability of `ratio`, and others grow; otherwise,
// and before opset 12, nothing is dropped.
void Dropout(NodeContext& c) {
  const Expr x = c.in(0);
  if (c.failed()) return;
  const Expr no = c.b().Constant(Tensor::Scalar(false));
  const Expr training = c.opset() >= 12 && c.has(2) ? AsScalar(c, c.in(2)) : no;
  if (c.failed()) return;
  if (training.dtype() != DType::kBool)
    return c.Invalid("whether it is training must be true or false");
  const Expr dims = DimsOf(c, x);
  if (c.KnownScalar<bool>(training) == false) {
    c.out(0, c.op("Identity", {x}));
    if (c.wants(1)) c.out(1, c.op("Fill", {dims, c.b().Constant(Tensor::Scalar(true))}));
    return;
  }
  const Expr zero = c.scalar(DType::kFloat, 0);
  const Expr given =
      c.has(1) ? Cast(AsScalar(c, c.in(1)), DType::kFloat) : c.scalar(DType::kFloat, 0.5);
  const Expr ratio = Where(training, given, zero);
  const Expr drawn = Drawn(c, "RandomUniform", dims, wire::TensorProto::FLOAT);
  const Expr stays = c.op("GreaterEqual", {drawn, ratio});
  const Expr grown = x * Cast(1.0 / (1.0 - ratio), x.dtype());
  c.out(0, Where(stays, grown, c.op("ZerosLike", {x})));
  c.out(1, stays);
}

void Multinomial(NodeContext& c) {
  AttrMap attrs = Seeds(c);
  const auto count =
      static_cast<int32_t>(std::clamp<int64_t>(c.Int("sample_size", 1), 0, INT32_MAX));
  attrs.Set("output_dtype", DType::kInt64);
  const Expr drawn = c.op("Multinomial", {c.in(0), c.b().Int(count)}, std::move(attrs));
  const int elem_type = c.Int32("dtype", wire::TensorProto::INT32);
  if (!c.failed()) c.out(0, ToElem(c, {drawn, Type::Tensor(wire::TensorProto::INT64)}, elem_type));
}

}  // namespace

void AddRandomOps(OpTable& t) {
  t.Add("Bernoulli", Bernoulli);
  t.Add("Dropout", Dropout);
  t.Add("Multinomial", Multinomial);
  t.Add("RandomNormal", RandomNormal);
  t.Add("RandomNormalLike", RandomNormalLike);
  t.Add("RandomUniform", RandomUniform);
  t.Add("RandomUniformLike", RandomUniformLike);
}

}  // namespace gyre::onnx
