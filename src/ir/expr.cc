#include "ir/expr.h"

#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

// The integral part, or the nearest that the type has.
template <typename T>
Tensor WholeNumber(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return Tensor::Scalar(T{0});
  if (value <= static_cast<double>(Limits::lowest())) return Tensor::Scalar(Limits::lowest());
  if (value >= static_cast<double>(Limits::max())) return Tensor::Scalar(Limits::max());
  return Tensor::Scalar(static_cast<T>(value));
}

// No value for types that are not numbers.
Tensor NumberOf(DType dtype, double value) {
  switch (dtype) {
    case DType::kHalf:
      return Tensor::Scalar(Half(static_cast<float>(value)));
    case DType::kBfloat16:
      return Tensor::Scalar(BFloat16(static_cast<float>(value)));
    case DType::kFloat:
      return Tensor::Scalar(static_cast<float>(value));
    case DType::kDouble:
      return Tensor::Scalar(value);
    case DType::kComplex64:
      return Tensor::Scalar(complex64(static_cast<float>(value)));
    case DType::kComplex128:
      return Tensor::Scalar(complex128(value));
    case DType::kInt8:
      return WholeNumber<int8_t>(value);
    case DType::kInt16:
      return WholeNumber<int16_t>(value);
    case DType::kInt32:
      return WholeNumber<int32_t>(value);
    case DType::kInt64:
      return WholeNumber<int64_t>(value);
    case DType::kUint8:
      return WholeNumber<uint8_t>(value);
    case DType::kUint16:
      return WholeNumber<uint16_t>(value);
    case DType::kUint32:
      return WholeNumber<uint32_t>(value);
    case DType::kUint64:
      return WholeNumber<uint64_t>(value);
    default:
      return {};
  }
}

// Of the parts of a complex number.
DType PartType(DType complex) {
  return complex == DType::kComplex128 ? DType::kDouble : DType::kFloat;
}

Expr WithNumber(absl::string_view op, Expr x, double y) {
  if (!x.ok()) return x;
  return x.builder().Op(op, {x, x.builder().Scalar(x.dtype(), y)});
}

Expr NumberWith(absl::string_view op, double x, Expr y) {
  if (!y.ok()) return y;
  return y.builder().Op(op, {y.builder().Scalar(y.dtype(), x), y});
}

Expr Op1(absl::string_view op, Expr x, AttrMap attrs = {}) {
  return x.ok() ? x.builder().Op(op, {x}, std::move(attrs)) : x;
}

Expr Op2(absl::string_view op, Expr x, Expr y, AttrMap attrs = {}) {
  if (!x.ok()) return x;
  return y.ok() ? x.builder().Op(op, {x, y}, std::move(attrs)) : y;
}

}  // namespace

DType Expr::dtype() const { return ok() ? builder_->function().dtype(endpoint_) : DType::kInvalid; }

Expr ExprBuilder::Op(absl::string_view op, const std::vector<Expr>& inputs, AttrMap attrs) {
  return Ops(op, inputs, std::move(attrs))[0];
}

std::vector<Expr> ExprBuilder::Ops(absl::string_view op, const std::vector<Expr>& inputs,
                                   AttrMap attrs, int if_invalid) {
  std::vector<Expr> invalid(if_invalid, Expr(this, Endpoint()));
  if (!status_.ok()) return invalid;
  std::vector<Endpoint> endpoints;
  for (const Expr& input : inputs) {
    if (!input.ok()) {
      Fail(absl::InternalError(absl::StrCat(op, " was given an input that does not exist")));
      return invalid;
    }
    endpoints.push_back(input.endpoint());
  }
  absl::StatusOr<NodeId> id =
      function_.Add(op, endpoints, std::move(attrs),
                    {absl::StrCat(style_.prefix, op), {}, style_.device, style_.source});
  if (!id.ok()) {
    Fail(id.status());
    return invalid;
  }
  const int num_outputs = function_.node(*id).num_outputs();
  std::vector<Expr> outputs;
  outputs.reserve(num_outputs);
  for (int i = 0; i < num_outputs; ++i) outputs.push_back(At({*id, i}));
  if (outputs.empty()) outputs.push_back(Expr(this, Endpoint()));
  return outputs;
}

Expr ExprBuilder::Constant(const Tensor& value) {
  return At(function_.Constant(
      value, {absl::StrCat(style_.prefix, "Const"), {}, style_.device, style_.source}));
}

Expr ExprBuilder::Scalar(DType dtype, double value) {
  const Tensor number = NumberOf(dtype, value);
  if (number.has_value()) return Constant(number);
  Fail(absl::InvalidArgumentError(absl::StrCat("there is no number of type ", DTypeName(dtype))));
  return Expr(this, Endpoint());
}

Expr ExprBuilder::Int(int32_t value) { return Constant(Tensor::Scalar(value)); }

Expr ExprBuilder::Ints(absl::Span<const int32_t> values) {
  return Constant(Tensor::FromValues(values, Shape::Vector(static_cast<int64_t>(values.size()))));
}

void ExprBuilder::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

Expr operator+(Expr x, Expr y) { return Op2("AddV2", x, y); }
Expr operator-(Expr x, Expr y) { return Op2("Sub", x, y); }
Expr operator*(Expr x, Expr y) { return Op2("Mul", x, y); }
Expr operator/(Expr x, Expr y) { return Op2("RealDiv", x, y); }
Expr operator-(Expr x) { return Op1("Neg", x); }
Expr operator+(Expr x, double y) { return WithNumber("AddV2", x, y); }
Expr operator-(Expr x, double y) { return WithNumber("Sub", x, y); }
Expr operator-(double x, Expr y) { return NumberWith("Sub", x, y); }
Expr operator*(double x, Expr y) { return NumberWith("Mul", x, y); }
Expr operator/(Expr x, double y) { return WithNumber("RealDiv", x, y); }
Expr operator/(double x, Expr y) { return NumberWith("RealDiv", x, y); }

Expr Conj(Expr x) { return IsComplex(x.dtype()) ? Op1("Conj", x) : x; }

Expr RealPart(Expr x) { return Op1("Real", x, {{"Tout", PartType(x.dtype())}}); }
Expr ImagPart(Expr x) { return Op1("Imag", x, {{"Tout", PartType(x.dtype())}}); }

Expr MakeComplex(Expr real, Expr imag) {
  const DType made = real.dtype() == DType::kDouble ? DType::kComplex128 : DType::kComplex64;
  return Op2("Complex", real, imag, {{"Tout", made}});
}

Expr Cast(Expr x, DType dtype) {
  if (!x.ok() || x.dtype() == dtype) return x;
  return Op1("Cast", x, {{"DstT", dtype}});
}

Expr Sum(Expr x, Expr axes, bool keep_dims) {
  return Op2("Sum", x, axes, {{"keep_dims", keep_dims}});
}

Expr Reshape(Expr x, Expr shape) { return Op2("Reshape", x, shape); }
Expr ZerosLike(Expr x) { return Op1("ZerosLike", x); }
Expr OnesLike(Expr x) { return Op1("OnesLike", x); }
Expr ShapeOf(Expr x) { return Op1("Shape", x); }
Expr Fill(Expr shape, Expr value) { return Op2("Fill", shape, value); }

Expr Where(Expr condition, Expr then, Expr otherwise) {
  if (!condition.ok()) return condition;
  return condition.builder().Op("SelectV2", {condition, then, otherwise});
}

}  // namespace gyre
