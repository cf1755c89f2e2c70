#include "onnx/types.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/work.h"
#include "onnx/narrow.h"

namespace gyre::onnx {
namespace {

using wire::TensorProto;

constexpr std::pair<int, DType> kTypes[] = {
    {TensorProto::FLOAT, DType::kFloat},
    {TensorProto::UINT8, DType::kUint8},
    {TensorProto::INT8, DType::kInt8},
    {TensorProto::UINT16, DType::kUint16},
    {TensorProto::INT16, DType::kInt16},
    {TensorProto::INT32, DType::kInt32},
    {TensorProto::INT64, DType::kInt64},
    {TensorProto::STRING, DType::kString},
    {TensorProto::BOOL, DType::kBool},
    {TensorProto::FLOAT16, DType::kHalf},
    {TensorProto::DOUBLE, DType::kDouble},
    {TensorProto::UINT32, DType::kUint32},
    {TensorProto::UINT64, DType::kUint64},
    {TensorProto::COMPLEX64, DType::kComplex64},
    {TensorProto::COMPLEX128, DType::kComplex128},
    {TensorProto::BFLOAT16, DType::kBfloat16},
};

constexpr std::pair<int, absl::string_view> kOtherTypes[] = {
    {TensorProto::FLOAT8E4M3FN, "FLOAT8E4M3FN"},
    {TensorProto::FLOAT8E4M3FNUZ, "FLOAT8E4M3FNUZ"},
    {TensorProto::FLOAT8E5M2, "FLOAT8E5M2"},
    {TensorProto::FLOAT8E5M2FNUZ, "FLOAT8E5M2FNUZ"},
    {TensorProto::UINT4, "UINT4"},
    {TensorProto::INT4, "INT4"},
    {TensorProto::FLOAT4E2M1, "FLOAT4E2M1"},
    {TensorProto::FLOAT8E8M0, "FLOAT8E8M0"},
};

}  // namespace

absl::StatusOr<DType> DTypeOfElem(int elem_type) {
  for (const auto& [number, dtype] : kTypes) {
    if (number == elem_type) return dtype;
  }
  if (const auto carrier = NarrowCarrier(elem_type)) return *carrier;
  return absl::InvalidArgumentError(absl::StrCat(elem_type, " is the number of no element type"));
}

int ElemOfDType(DType wanted) {
  for (const auto& [number, dtype] : kTypes) {
    if (dtype == wanted) return number;
  }
  return 0;
}

std::string ElemName(int elem_type) {
  for (const auto& [number, name] : kOtherTypes) {
    if (number == elem_type) return std::string(name);
  }
  const auto dtype = DTypeOfElem(elem_type);
  return dtype.ok() ? std::string(DTypeName(*dtype)) : absl::StrCat("type ", elem_type);
}

absl::StatusOr<DType> CarrierOf(const Type& type) {
  if (!type.is_tensor()) return DType::kVariant;
  return DTypeOfElem(type.elem_type);
}

absl::StatusOr<Type> ReadType(const wire::TypeProto& type) {
  CheckStack();
  if (type.has_tensor_type()) return Type::Tensor(type.tensor_type().elem_type());
  if (type.has_sequence_type()) {
    GYRE_ASSIGN_OR_RETURN(Type element, ReadType(type.sequence_type().elem_type()));
    return Type::SequenceOf(std::move(element));
  }
  if (type.has_optional_type()) {
    GYRE_ASSIGN_OR_RETURN(Type element, ReadType(type.optional_type().elem_type()));
    return Type::OptionalOf(std::move(element));
  }
  if (type.has_map_type()) return absl::UnimplementedError("maps are not supported");
  if (type.has_sparse_tensor_type())
    return absl::UnimplementedError("sparse tensors are not supported");
  return absl::InvalidArgumentError("there is no type");
}

PartialShape ReadShape(const wire::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return PartialShape::Unknown();
  const auto& dims = type.tensor_type().shape().dim();
  if (dims.size() > Shape::kMaxRank) return PartialShape::Unknown();
  PartialShape shape = PartialShape::UnknownOfRank(dims.size());
  for (int i = 0; i < dims.size(); ++i) {
    if (dims[i].has_dim_value() && dims[i].dim_value() >= 0) shape.set_dim(i, dims[i].dim_value());
  }
  return shape;
}

std::string ToString(const Type& type) {
  const std::string element = type.element == nullptr ? "?" : ToString(*type.element);
  if (type.kind == Kind::kSequence) return absl::StrCat("sequence(", element, ")");
  if (type.kind == Kind::kOptional) return absl::StrCat("optional(", element, ")");
  return ElemName(type.elem_type);
}

}  // namespace gyre::onnx
