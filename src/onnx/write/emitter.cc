#include "onnx/write/emitter.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "onnx/ops/pairs.h"
#include "onnx/write/tensor_proto.h"

namespace gyre::onnx {
namespace {

bool IsComparison(absl::string_view onnx) {
  return onnx == "Equal" || onnx == "Less" || onnx == "LessOrEqual" || onnx == "Greater" ||
         onnx == "GreaterOrEqual" || onnx == "IsNaN" || onnx == "Not" || onnx == "And" ||
         onnx == "Or";
}

// In which type the elements of `dtype` go through an op for `types`; kInvalid: in none.
DType ComputedIn(DType dtype, PairTypes types, bool compares) {
  const bool is_narrow = dtype == DType::kInt8 || dtype == DType::kUint8 ||
                         dtype == DType::kInt16 || dtype == DType::kUint16;
  const bool is_wide = dtype == DType::kUint32 || dtype == DType::kUint64;
  switch (types) {
    case PairTypes::kFloats:
      return IsFloating(dtype) ? dtype : DType::kInvalid;
    case PairTypes::kBool:
      return dtype == DType::kBool ? dtype : DType::kInvalid;
    case PairTypes::kIntegers:
      return IsInteger(dtype) ? dtype : DType::kInvalid;
    case PairTypes::kAny:
      if (IsComplex(dtype) || dtype == DType::kInvalid) return DType::kInvalid;
      return is_narrow ? DType::kInt32 : dtype;
    case PairTypes::kNumbers:
    case PairTypes::kOrdered:
      if (is_narrow) return DType::kInt32;
      if (is_wide && compares) return dtype;
      // Sums and products have the same bits.
      if (is_wide) return types == PairTypes::kOrdered ? dtype : DType::kInt64;
      return IsFloating(dtype) || IsInteger(dtype) ? dtype : DType::kInvalid;
  }
  return DType::kInvalid;
}

}  // namespace

ModelValue Emitter::Op(absl::string_view op, const std::vector<ModelValue>& inputs, Attrs attrs,
                       DType dtype, PartialShape shape) {
  if (dtype == DType::kInvalid && !inputs.empty()) dtype = inputs[0].dtype;
  ModelValue result = Ops(op, inputs, std::move(attrs), {dtype})[0];
  result.shape = std::move(shape);
  if (result.has_rank()) model_.Describe(result);
  return result;
}

std::vector<ModelValue> Emitter::Ops(absl::string_view op, const std::vector<ModelValue>& inputs,
                                     Attrs attrs, const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const ModelValue& input : inputs) {
    const bool is_none = input.dtype == DType::kInvalid && input.name.empty();
    names.push_back(is_none || failed() ? "" : model_.NameOf(input));
  }
  std::vector<ModelValue> results(dtypes.size());
  for (size_t i = 0; i < dtypes.size(); ++i) results[i].dtype = dtypes[i];
  if (failed()) return results;
  const std::vector<std::string> outputs =
      model_.AddNode(op, names, std::move(attrs), static_cast<int>(dtypes.size()));
  for (size_t i = 0; i < dtypes.size(); ++i) results[i].name = outputs[i];
  return results;
}

ModelValue Emitter::Known(Tensor value) {
  ModelValue result;
  result.dtype = value.dtype();
  result.shape = PartialShape(value.shape());
  result.constant = std::move(value);
  return result;
}

ModelValue Emitter::I64s(const std::vector<int64_t>& values) {
  return Known(
      Tensor::FromValues<int64_t>(values, Shape::Vector(static_cast<int64_t>(values.size()))));
}

ModelValue Emitter::Number(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat:
      return Known(Tensor::Scalar(static_cast<float>(value)));
    case DType::kDouble:
      return Known(Tensor::Scalar(value));
    case DType::kHalf:
      return Known(Tensor::Scalar(Half(static_cast<float>(value))));
    case DType::kBfloat16:
      return Known(Tensor::Scalar(BFloat16(static_cast<float>(value))));
    case DType::kInt64:
      return I64(static_cast<int64_t>(value));
    case DType::kInt32:
      return Known(Tensor::Scalar(static_cast<int32_t>(value)));
    case DType::kInt16:
      return Known(Tensor::Scalar(static_cast<int16_t>(value)));
    case DType::kInt8:
      return Known(Tensor::Scalar(static_cast<int8_t>(value)));
    case DType::kUint8:
      return Known(Tensor::Scalar(static_cast<uint8_t>(value)));
    case DType::kUint16:
      return Known(Tensor::Scalar(static_cast<uint16_t>(value)));
    case DType::kUint32:
      return Known(Tensor::Scalar(static_cast<uint32_t>(value)));
    case DType::kUint64:
      return Known(Tensor::Scalar(static_cast<uint64_t>(value)));
    case DType::kBool:
      return Known(Tensor::Scalar(value != 0));
    case DType::kString:
      return Known(Tensor::Scalar(std::string()));
    default:
      Unsupported(absl::StrCat("numbers of type ", DTypeName(dtype)));
      return I64(0);
  }
}

std::optional<std::vector<int64_t>> Emitter::IntsOf(const ModelValue& x) {
  if (!x.is_known()) return std::nullopt;
  const auto read = [&](const auto values) {
    return std::vector<int64_t>(values.begin(), values.end());
  };
  switch (x.constant.dtype()) {
    case DType::kInt32:
      return read(x.constant.values<int32_t>());
    case DType::kInt64:
      return read(x.constant.values<int64_t>());
    case DType::kInt16:
      return read(x.constant.values<int16_t>());
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Emitter::IntOf(const ModelValue& x) {
  const auto ints = IntsOf(x);
  if (!ints || ints->size() != 1) return std::nullopt;
  return (*ints)[0];
}

std::vector<int64_t> Emitter::Ints(const ModelValue& x, absl::string_view what) {
  if (failed()) return {};
  auto ints = IntsOf(x);
  if (ints) return *std::move(ints);
  Unsupported(absl::StrCat(what, " must be known when the model is written"));
  return {};
}

int64_t Emitter::Int(const ModelValue& x, absl::string_view what) {
  const std::vector<int64_t> ints = Ints(x, what);
  if (ints.size() == 1) return ints[0];
  Invalid(absl::StrCat(what, " must be one number"));
  return 0;
}

int Emitter::Rank(const ModelValue& x, absl::string_view what) {
  if (failed()) return 0;
  if (x.has_rank()) return x.rank();
  Unsupported(absl::StrCat("the rank of ", what.empty() ? "its input" : what,
                           " must be known when the model is written"));
  return 0;
}

int Emitter::Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    Invalid(absl::StrCat("there is no axis ", axis, " of ", rank));
    return 0;
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

ModelValue Emitter::Cast(const ModelValue& x, DType dtype) {
  if (failed() || x.dtype == dtype) return x;
  if (x.dtype == DType::kString || dtype == DType::kString || IsComplex(x.dtype) ||
      IsComplex(dtype) || ElemOfDType(dtype) == 0 || ElemOfDType(x.dtype) == 0) {
    Unsupported(absl::StrCat("casts from ", DTypeName(x.dtype), " to ", DTypeName(dtype)));
    return x;
  }
  const auto ints = IntsOf(x);
  if (ints && (dtype == DType::kInt64 || dtype == DType::kInt32)) {
    ModelValue result;
    if (dtype == DType::kInt64) {
      result = Known(Tensor::FromValues<int64_t>(*ints, x.constant.shape()));
    } else {
      std::vector<int32_t> narrow;
      for (const int64_t value : *ints) narrow.push_back(static_cast<int32_t>(value));
      result = Known(Tensor::FromValues<int32_t>(narrow, x.constant.shape()));
    }
    return result;
  }
  if (dtype == DType::kInt64) {
    const auto it = model_.widened.find(x.name);
    if (!x.name.empty() && it != model_.widened.end()) {
      ModelValue result = x;
      result.name = it->second;
      result.dtype = dtype;
      return result;
    }
  }
  return Op("Cast", {x}, {IntAttr("to", ElemOfDType(dtype))}, dtype, x.shape);
}

ModelValue Emitter::Index(const ModelValue& x, DType dtype) {
  const ModelValue result = Cast(x, dtype);
  if (dtype == DType::kInt32 && !result.name.empty() && !x.name.empty())
    model_.widened[result.name] = x.name;
  return result;
}

ModelValue Emitter::ComputedAs(const ModelValue& x, absl::string_view onnx) {
  const Pair* const pair = PairOfOnnx(onnx);
  if (failed() || pair == nullptr) return x;
  const DType dtype = ComputedIn(x.dtype, pair->types, IsComparison(onnx));
  if (dtype == DType::kInvalid) {
    Unsupported(absl::StrCat("ONNX has no ", onnx, " of ", DTypeName(x.dtype)));
    return x;
  }
  if (onnx == "Equal" && dtype == DType::kString) model_.NeedOpset(19);
  return Cast(x, dtype);
}

ModelValue Emitter::Unary(absl::string_view onnx, const ModelValue& x) {
  const DType dtype = IsComparison(onnx) ? DType::kBool : x.dtype;
  const ModelValue in = ComputedAs(x, onnx);
  const ModelValue result =
      Op(onnx, {in}, {}, IsComparison(onnx) ? DType::kBool : in.dtype, x.shape);
  return Cast(result, dtype);
}

std::optional<ModelValue> Emitter::Folded(absl::string_view onnx, const ModelValue& x,
                                          const ModelValue& y) {
  const std::optional<int64_t> a = IntOf(x), b = IntOf(y);
  if (!a || !b || x.dtype != DType::kInt64 || y.dtype != DType::kInt64) return std::nullopt;
  int64_t result;
  if (onnx == "Add" && !__builtin_add_overflow(*a, *b, &result)) {
  } else if (onnx == "Sub" && !__builtin_sub_overflow(*a, *b, &result)) {
  } else if (onnx == "Mul" && !__builtin_mul_overflow(*a, *b, &result)) {
  } else if (onnx == "Max") {
    result = std::max(*a, *b);
  } else {
    return std::nullopt;
  }
  const bool is_vector = x.rank() == 1 || y.rank() == 1;
  if (x.rank() > 1 || y.rank() > 1) return std::nullopt;
  return is_vector ? I64s({result}) : I64(result);
}

ModelValue Emitter::Binary(absl::string_view onnx, const ModelValue& x, const ModelValue& y) {
  if (failed()) return x;
  if (auto known = Folded(onnx, x, y)) return *known;
  const bool compares = IsComparison(onnx);
  const ModelValue a = ComputedAs(x, onnx), b = ComputedAs(y, onnx);
  if (!failed() && a.dtype != b.dtype) {
    Invalid(absl::StrCat(onnx, " of ", DTypeName(x.dtype), " and ", DTypeName(y.dtype)));
    return x;
  }
  const PartialShape shape = x.rank() == 0 ? y.shape : y.rank() == 0 ? x.shape : PartialShape();
  const ModelValue result = Op(onnx, {a, b}, {}, compares ? DType::kBool : a.dtype, shape);
  return compares ? result : Cast(result, x.dtype);
}

ModelValue Emitter::Div(const ModelValue& x, const ModelValue& y) {
  if (failed()) return x;
  const bool is_narrow = IsInteger(x.dtype) && DTypeSize(x.dtype) < 4;
  if (IsComplex(x.dtype) || x.dtype == DType::kBool || x.dtype == DType::kString)
    Unsupported(absl::StrCat("ONNX has no Div of ", DTypeName(x.dtype)));
  const DType dtype = is_narrow ? DType::kInt32 : x.dtype;
  return Cast(Op("Div", {Cast(x, dtype), Cast(y, dtype)}, {}, dtype), x.dtype);
}

ModelValue Emitter::FloorDiv(const ModelValue& x, const ModelValue& y) {
  if (failed()) return x;
  if (IsFloating(x.dtype)) return Unary("Floor", Div(x, y));
  const auto a = IntOf(x), b = IntOf(y);
  if (a && b && *b > 0 && *a >= 0 && x.dtype == DType::kInt64 && x.rank() == 0) return I64(*a / *b);
  const ModelValue quotient = Div(x, y);
  if (x.dtype == DType::kUint8 || x.dtype == DType::kUint16 || x.dtype == DType::kUint32 ||
      x.dtype == DType::kUint64) {
    return quotient;
  }
  const ModelValue zero = Number(x.dtype, 0), one = Number(x.dtype, 1);
  const ModelValue rest = Sub(x, Mul(quotient, y));
  const ModelValue is_uneven = Not(Binary("Equal", rest, zero));
  const ModelValue differs =
      Op("Xor", {Binary("Less", rest, zero), Binary("Less", y, zero)}, {}, DType::kBool);
  return Where(Binary("And", is_uneven, differs), Sub(quotient, one), quotient);
}

ModelValue Emitter::Max(const ModelValue& x, const ModelValue& y) {
  if (failed()) return x;
  if (auto known = Folded("Max", x, y)) return *known;
  const bool is_narrow = IsInteger(x.dtype) && DTypeSize(x.dtype) < 4;
  const DType dtype = is_narrow ? DType::kInt32 : x.dtype;
  return Cast(Op("Max", {Cast(x, dtype), Cast(y, dtype)}, {}, dtype), x.dtype);
}

ModelValue Emitter::Min(const ModelValue& x, const ModelValue& y) {
  if (failed()) return x;
  const bool is_narrow = IsInteger(x.dtype) && DTypeSize(x.dtype) < 4;
  const DType dtype = is_narrow ? DType::kInt32 : x.dtype;
  return Cast(Op("Min", {Cast(x, dtype), Cast(y, dtype)}, {}, dtype), x.dtype);
}

ModelValue Emitter::Where(const ModelValue& condition, const ModelValue& x, const ModelValue& y) {
  const bool is_narrow = x.dtype == DType::kBool || (IsInteger(x.dtype) && DTypeSize(x.dtype) < 4);
  if (!is_narrow || x.dtype == DType::kUint8) return Op("Where", {condition, x, y}, {}, x.dtype);
  const DType wide = DType::kInt32;
  return Cast(Op("Where", {condition, Cast(x, wide), Cast(y, wide)}, {}, wide), x.dtype);
}

ModelValue Emitter::ShapeOf(const ModelValue& x) {
  const auto shape = x.shape.ToShape();
  if (shape) return I64s({shape->dims().begin(), shape->dims().end()});
  const PartialShape vector(Dims{x.has_rank() ? x.rank() : -1});
  return Op("Shape", {x}, {}, DType::kInt64, vector);
}

ModelValue Emitter::DimOf(const ModelValue& x, int axis) {
  if (x.has_rank() && axis < x.rank() && axis >= 0 && x.shape.dim(axis) >= 0)
    return I64(x.shape.dim(axis));
  return Gather(ShapeOf(x), I64(axis), 0);
}

ModelValue Emitter::SizeOf(const ModelValue& x) {
  if (const auto shape = x.shape.ToShape()) return I64(shape->num_elements());
  return Op("Size", {x}, {}, DType::kInt64, PartialShape::Scalar());
}

ModelValue Emitter::AsVector(const ModelValue& x) { return x.rank() == 0 ? Unsqueeze(x, {0}) : x; }

ModelValue Emitter::Reshape(const ModelValue& x, const ModelValue& given) {
  if (failed()) return x;
  const ModelValue dims = AsVector(given);
  const auto known = IntsOf(dims);
  const bool has_zero = !known || std::count(known->begin(), known->end(), 0) > 0;
  const bool has_open = !known || std::count(known->begin(), known->end(), -1) > 0;
  PartialShape shape;
  if (known && known->size() <= Shape::kMaxRank) {
    shape = PartialShape(Dims(known->begin(), known->end()));
  } else if (dims.rank() == 1 && dims.shape.dim(0) >= 0 && dims.shape.dim(0) <= Shape::kMaxRank) {
    shape = PartialShape::UnknownOfRank(static_cast<int>(dims.shape.dim(0)));
  }
  if (known && x.is_known() && !has_open && IsTrivial(x.dtype)) {
    const auto whole = Shape::Make(*known);
    if (whole.ok() && whole->num_elements() == x.constant.num_elements())
      return Known(x.constant.Reshaped(*whole));
  }
  // ONNX allows no -1 beside a 0 that means itself; where both may be, there is none.
  Attrs attrs;
  if (has_zero && !(known && has_open)) attrs.push_back(IntAttr("allowzero", 1));
  return Op("Reshape", {x, AsInt64(dims)}, std::move(attrs), x.dtype, shape);
}

ModelValue Emitter::Unsqueeze(const ModelValue& x, std::vector<int64_t> axes) {
  if (failed() || axes.empty()) return x;
  std::sort(axes.begin(), axes.end());
  PartialShape shape;
  if (x.has_rank() && axes[0] >= 0) {
    Dims dims(x.shape.dims().begin(), x.shape.dims().end());
    for (const int64_t axis : axes)
      dims.insert(dims.begin() + std::min<int64_t>(axis, static_cast<int64_t>(dims.size())), 1);
    shape = PartialShape(dims);
  }
  if (x.is_known() && shape.ToShape() && IsTrivial(x.dtype))
    return Known(x.constant.Reshaped(*shape.ToShape()));
  return Op("Unsqueeze", {x, I64s(axes)}, {}, x.dtype, shape);
}

ModelValue Emitter::Squeeze(const ModelValue& x, const std::vector<int64_t>& axes) {
  if (failed() || axes.empty()) return x;
  PartialShape shape;
  if (x.has_rank()) {
    Dims dims;
    for (int d = 0; d < x.rank(); ++d) {
      const bool goes = std::count_if(axes.begin(), axes.end(), [&](int64_t axis) {
                          return (axis < 0 ? axis + x.rank() : axis) == d;
                        }) > 0;
      if (!goes) dims.push_back(x.shape.dim(d));
    }
    shape = PartialShape(dims);
  }
  return Op("Squeeze", {x, I64s(axes)}, {}, x.dtype, shape);
}

ModelValue Emitter::Transpose(const ModelValue& x, const std::vector<int64_t>& permutation) {
  if (failed() || std::is_sorted(permutation.begin(), permutation.end())) return x;
  std::vector<int64_t> whole = permutation;
  std::string source = model_.NameOf(x);
  if (const auto it = model_.transposed.find(source); it != model_.transposed.end()) {
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = it->second.permutation[permutation[i]];
    source = it->second.of;
  }
  ModelValue result = x;
  result.constant = Tensor();
  result.name = source;
  if (x.has_rank() && x.rank() == static_cast<int>(permutation.size())) {
    Dims dims;
    for (const int64_t axis : permutation) dims.push_back(x.shape.dim(static_cast<int>(axis)));
    result.shape = PartialShape(dims);
  }
  if (failed() || std::is_sorted(whole.begin(), whole.end())) return result;
  result.name = model_.AddNode("Transpose", {source}, {IntsAttr("perm", whole)}, 1)[0];
  model_.transposed[result.name] = {source, whole};
  return result;
}

ModelValue Emitter::Concat(const std::vector<ModelValue>& parts, int64_t axis) {
  if (parts.size() == 1 || failed()) return parts[0];
  if (axis == 0) {  // of known integers: shapes
    std::vector<int64_t> all;
    bool is_known = true;
    for (const ModelValue& part : parts) {
      const auto ints = IntsOf(part);
      is_known = is_known && ints && part.dtype == DType::kInt64 && part.rank() == 1;
      if (is_known) all.insert(all.end(), ints->begin(), ints->end());
    }
    if (is_known) return I64s(all);
  }
  PartialShape shape;
  if (parts[0].rank() == 1) {
    int64_t size = 0;
    for (const ModelValue& part : parts)
      size = size < 0 || part.rank() != 1 || part.shape.dim(0) < 0 ? -1 : size + part.shape.dim(0);
    shape = PartialShape(Dims{size});
  }
  return Op("Concat", parts, {IntAttr("axis", axis)}, parts[0].dtype, shape);
}

ModelValue Emitter::Pack(const std::vector<ModelValue>& scalars) {
  std::vector<ModelValue> parts;
  for (const ModelValue& scalar : scalars) parts.push_back(Unsqueeze(scalar, {0}));
  if (parts.empty()) return I64s({});
  return Concat(parts, 0);
}

ModelValue Emitter::Gather(const ModelValue& x, const ModelValue& index, int64_t axis) {
  if (failed()) return x;
  const auto ints = IntsOf(x);
  const auto at = IntOf(index);
  if (ints && at && x.rank() == 1 && index.rank() == 0 && x.dtype == DType::kInt64) {
    const auto size = static_cast<int64_t>(ints->size());
    const int64_t place = *at < 0 ? *at + size : *at;
    if (place >= 0 && place < size) return I64((*ints)[place]);
  }
  PartialShape shape;
  if (x.rank() == 1 && axis == 0) shape = index.shape;
  const DType dtype = index.dtype;
  const ModelValue position =
      dtype == DType::kInt32 || dtype == DType::kInt64 ? index : AsInt64(index);
  return Op("Gather", {x, position}, {IntAttr("axis", axis)}, x.dtype, shape);
}

ModelValue Emitter::Slice(const ModelValue& x, const ModelValue& starts, const ModelValue& ends,
                          const std::vector<int64_t>& axes, const ModelValue& steps) {
  if (failed()) return x;
  std::vector<ModelValue> inputs = {x, AsInt64(starts), AsInt64(ends), I64s(axes)};
  if (steps.dtype != DType::kInvalid) inputs.push_back(AsInt64(steps));
  const PartialShape shape = x.has_rank() ? PartialShape::UnknownOfRank(x.rank()) : PartialShape();
  return Op("Slice", inputs, {}, x.dtype, shape);
}

ModelValue Emitter::Expand(const ModelValue& x, const ModelValue& dims) {
  return Op("Expand", {x, AsInt64(AsVector(dims))}, {}, x.dtype);
}

ModelValue Emitter::Fill(const ModelValue& given, const ModelValue& value) {
  if (failed()) return value;
  const ModelValue dims = AsVector(given);
  const auto known = IntsOf(dims);
  PartialShape shape;
  if (known) shape = PartialShape(Dims(known->begin(), known->end()));
  if (value.is_known() && IsTrivial(value.dtype)) {
    Attrs attrs(1);
    attrs[0].set_name("value");
    attrs[0].set_type(wire::AttributeProto::TENSOR);
    const absl::Status status =
        WriteTensor(value.constant.Reshaped(Shape::Vector(1)), attrs[0].mutable_t());
    if (!status.ok()) model_.Fail(status);
    return Op("ConstantOfShape", {AsInt64(dims)}, std::move(attrs), value.dtype, shape);
  }
  ModelValue result = Expand(value, dims);
  result.shape = shape;
  return result;
}

ModelValue Emitter::Iota(const ModelValue& count) {
  return Op("Range", {I64(0), AsInt64(count), I64(1)}, {}, DType::kInt64, PartialShape(Dims{-1}));
}

ModelValue Emitter::Reduce(absl::string_view onnx, const ModelValue& x, const ModelValue& axes,
                           bool keep_dims) {
  if (failed()) return x;
  const bool is_narrow = IsInteger(x.dtype) && DTypeSize(x.dtype) < 4;
  const bool is_wide = x.dtype == DType::kUint32 || x.dtype == DType::kUint64;
  const bool adds = onnx == "ReduceSum" || onnx == "ReduceProd";
  if (IsComplex(x.dtype) || x.dtype == DType::kString || x.dtype == DType::kBool)
    Unsupported(absl::StrCat("ONNX has no ", onnx, " of ", DTypeName(x.dtype)));
  const DType dtype = is_narrow ? DType::kInt32 : is_wide && adds ? DType::kInt64 : x.dtype;
  std::vector<ModelValue> inputs = {Cast(x, dtype)};
  if (axes.dtype != DType::kInvalid)
    inputs.push_back(axes.rank() == 1 ? AsInt64(axes) : Flat(AsInt64(axes)));
  // No axes are none, not all.
  Attrs attrs = {IntAttr("keepdims", keep_dims ? 1 : 0)};
  if (inputs.size() > 1) attrs.push_back(IntAttr("noop_with_empty_axes", 1));
  return Cast(Op(onnx, inputs, std::move(attrs), dtype), x.dtype);
}

ModelValue Emitter::Truth(const ModelValue& x) {
  if (failed()) return x;
  if (x.rank() == 0) {
    if (x.dtype == DType::kBool) return x;
    if (x.dtype == DType::kString) {
      Unsupported("a text as a condition");
      return x;
    }
    return Cast(x, DType::kBool);
  }
  if (!x.has_rank()) {
    const ModelValue is_scalar = Binary("Equal", SizeOf(ShapeOf(x)), I64(0));
    Attrs attrs;
    for (const bool scalar : {true, false}) {
      model_.Open(scalar ? "scalar" : "elements");
      ModelValue given = x;
      if (scalar) given.shape = PartialShape::Scalar();
      const ModelValue truth = scalar ? Truth(given) : Binary("Greater", SizeOf(x), I64(0));
      if (!failed()) model_.AddOutput(truth, false);
      attrs.push_back(GraphAttr(scalar ? "then_branch" : "else_branch", model_.Close()));
    }
    const ModelValue either = Op("If", {is_scalar}, std::move(attrs), DType::kBool);
    return Reshape(either, I64s({}));
  }
  return Binary("Greater", SizeOf(x), I64(0));
}

}  // namespace gyre::onnx
