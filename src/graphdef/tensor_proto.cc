#include "graphdef/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "base/work.h"
#include "google/protobuf/io/coded_stream.h"

namespace gyre {
namespace {

absl::Status Invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("constant: ", what));
}

absl::StatusOr<Shape> DecodeFullShape(const wire::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return Invalid("its shape is of unknown rank");
  if (proto.dim_size() > Shape::kMaxRank) {
    return Invalid(absl::StrCat("it has ", proto.dim_size(), " dimensions, at most ",
                                Shape::kMaxRank, " are possible"));
  }
  Dims dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return Annotate(shape.status(), "constant");
  return shape;
}

// Takes `count` elements of `size` bytes, which no bytes of the file stand for, out of the limits.
absl::Status ChargeExpansion(int64_t count, int64_t size, DecodeLimits& limits) {
  const std::optional<int64_t> bytes = CheckedMul(count, size);
  if (!bytes || *bytes > limits.expanded_bytes_left) {
    return Invalid(absl::StrCat("filling ", count, " elements of ", size,
                                " bytes each with one value takes more memory than a file may "
                                "ask for (",
                                limits.expanded_bytes_left, " bytes are left)"));
  }
  SpendWorkMemory(*bytes);
  limits.expanded_bytes_left -= *bytes;
  return absl::OkStatus();
}

// A tensor that holds `get(0)`, `get(1)`, … up to `count`, then the last of them again and again.
// T is what lies in memory, which for quantised types differs from the C++ type of any dtype.
template <typename T, typename Get>
absl::StatusOr<Tensor> FromValues(DType dtype, const Shape& shape, int64_t count, Get get,
                                  DecodeLimits& limits) {
  const int64_t n = shape.num_elements();
  if (count > n) {
    return Invalid(absl::StrCat("it has ", count, " values, but its shape ", shape.ToString(),
                                " holds ", n,
                                ": give one value for each element, or fewer, of "
                                "which the last fills the rest"));
  }
  int64_t size = sizeof(T);
  if constexpr (std::is_same_v<T, std::string>) {
    if (count > 0) size += static_cast<int64_t>(get(count - 1).size());
  }
  GYRE_RETURN_IF_ERROR(ChargeExpansion(n - count, size, limits));
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  T* out = static_cast<T*>(tensor.mutable_raw_data());
  for (int64_t i = 0; i < count; ++i) out[i] = get(i);
  std::fill(out + count, out + n, count == 0 ? T() : T(out[count - 1]));
  return tensor;
}

template <typename T, typename List>
absl::StatusOr<Tensor> FromList(DType dtype, const Shape& shape, const List& list,
                                DecodeLimits& limits) {
  return FromValues<T>(
      dtype, shape, list.size(),
      [&](int64_t i) { return static_cast<T>(list[static_cast<int>(i)]); }, limits);
}

template <typename T, typename List>
absl::StatusOr<Tensor> FromPairs(DType dtype, const Shape& shape, const List& list,
                                 DecodeLimits& limits) {
  return FromValues<T>(
      dtype, shape, list.size() / 2,
      [&](int64_t i) {
        return T(list[static_cast<int>(2 * i)], list[static_cast<int>(2 * i + 1)]);
      },
      limits);
}

absl::StatusOr<Tensor> FromLists(DType dtype, const Shape& shape, const wire::TensorProto& proto,
                                 DecodeLimits& limits) {
  switch (dtype) {
    case DType::kFloat:
      return FromList<float>(dtype, shape, proto.float_val(), limits);
    case DType::kDouble:
      return FromList<double>(dtype, shape, proto.double_val(), limits);
    case DType::kInt32:
    case DType::kQint32:
      return FromList<int32_t>(dtype, shape, proto.int_val(), limits);
    case DType::kInt16:
    case DType::kQint16:
    case DType::kUint16:
    case DType::kQuint16:
      return FromList<uint16_t>(dtype, shape, proto.int_val(), limits);
    case DType::kInt8:
    case DType::kQint8:
    case DType::kUint8:
    case DType::kQuint8:
      return FromList<uint8_t>(dtype, shape, proto.int_val(), limits);
    case DType::kHalf:
    case DType::kBfloat16:
      return FromList<uint16_t>(dtype, shape, proto.half_val(), limits);
    case DType::kInt64:
      return FromList<int64_t>(dtype, shape, proto.int64_val(), limits);
    case DType::kUint32:
      return FromList<uint32_t>(dtype, shape, proto.uint32_val(), limits);
    case DType::kUint64:
      return FromList<uint64_t>(dtype, shape, proto.uint64_val(), limits);
    case DType::kBool:
      return FromList<bool>(dtype, shape, proto.bool_val(), limits);
    case DType::kComplex64:
      return FromPairs<complex64>(dtype, shape, proto.scomplex_val(), limits);
    case DType::kComplex128:
      return FromPairs<complex128>(dtype, shape, proto.dcomplex_val(), limits);
    case DType::kString:
      return FromList<std::string>(dtype, shape, proto.string_val(), limits);
    default:
      return Invalid(
          absl::StrCat("a value of type ", DTypeName(dtype),
                       " exists only in a running session and cannot be read from a file"));
  }
}

absl::StatusOr<Tensor> FromBytes(DType dtype, const Shape& shape, const std::string& content) {
  const std::optional<int64_t> bytes =
      CheckedMul(shape.num_elements(), static_cast<int64_t>(DTypeSize(dtype)));
  if (!bytes || *bytes != static_cast<int64_t>(content.size())) {
    return Invalid(absl::StrCat("its content is ", content.size(),
                                " bytes, which does not fit type ", DTypeName(dtype), " and shape ",
                                shape.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  if (dtype == DType::kBool) {  // bytes other than 0 and 1 are no value of C++'s bool
    std::transform(content.begin(), content.end(), static_cast<bool*>(tensor.mutable_raw_data()),
                   [](char c) { return c != 0; });
  } else if (!content.empty()) {
    std::memcpy(tensor.mutable_raw_data(), content.data(), content.size());
  }
  return tensor;
}

// Strings as content: the varint lengths of all, then the characters of all.
absl::StatusOr<Tensor> FromStringBytes(const Shape& shape, const std::string& content) {
  const int64_t n = shape.num_elements();
  if (n > static_cast<int64_t>(content.size())) {
    return Invalid(
        absl::StrCat("its content is ", content.size(), " bytes, too few for ", n, " strings"));
  }
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(content.data()),
                                            static_cast<int>(content.size()));
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kString, shape));
  std::vector<uint32_t> lengths(static_cast<size_t>(n));
  bool sound = true;
  for (uint32_t& length : lengths) sound = sound && in.ReadVarint32(&length);
  size_t begin = static_cast<size_t>(in.CurrentPosition());
  absl::Span<std::string> strings = tensor.mutable_values<std::string>();
  for (size_t i = 0; i < strings.size() && sound; ++i) {
    sound = lengths[i] <= content.size() - begin;
    if (sound) strings[i] = content.substr(begin, lengths[i]);
    begin += sound ? lengths[i] : 0;
  }
  if (!sound || begin != content.size()) return Invalid("its content is not a list of strings");
  return tensor;
}

bool AllAlike(const char* data, size_t size, size_t count) {
  return count > 0 && std::memcmp(data, data + size, size * (count - 1)) == 0;
}

template <typename T>
T First(const Tensor& tensor) {
  T value;
  std::memcpy(&value, tensor.raw_data(), sizeof(T));
  return value;
}

// Adds the first element to the list of its type.
void AddFirst(const Tensor& tensor, wire::TensorProto* proto) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return proto->add_float_val(First<float>(tensor));
    case DType::kDouble:
      return proto->add_double_val(First<double>(tensor));
    case DType::kInt32:
    case DType::kQint32:
      return proto->add_int_val(First<int32_t>(tensor));
    case DType::kInt16:
    case DType::kQint16:
      return proto->add_int_val(First<int16_t>(tensor));
    case DType::kUint16:
    case DType::kQuint16:
      return proto->add_int_val(First<uint16_t>(tensor));
    case DType::kInt8:
    case DType::kQint8:
      return proto->add_int_val(First<int8_t>(tensor));
    case DType::kUint8:
    case DType::kQuint8:
      return proto->add_int_val(First<uint8_t>(tensor));
    case DType::kHalf:
    case DType::kBfloat16:
      return proto->add_half_val(First<uint16_t>(tensor));
    case DType::kInt64:
      return proto->add_int64_val(First<int64_t>(tensor));
    case DType::kUint32:
      return proto->add_uint32_val(First<uint32_t>(tensor));
    case DType::kUint64:
      return proto->add_uint64_val(First<uint64_t>(tensor));
    case DType::kBool:
      return proto->add_bool_val(First<bool>(tensor));
    case DType::kComplex64: {
      const auto value = First<complex64>(tensor);
      proto->add_scomplex_val(value.real());
      return proto->add_scomplex_val(value.imag());
    }
    case DType::kComplex128: {
      const auto value = First<complex128>(tensor);
      proto->add_dcomplex_val(value.real());
      return proto->add_dcomplex_val(value.imag());
    }
    default:  // not plain bytes: EncodeTensor deals with them
      return;
  }
}

}  // namespace

absl::StatusOr<DType> DecodeDType(int wire) {
  if (!IsKnownWireDType(wire) || IsRefWireDType(wire)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "type number ", wire, " (", wire::DataType_Name(static_cast<wire::DataType>(wire)),
        ") is not a type of values"));
  }
  return DTypeFromWire(wire);
}

absl::StatusOr<PartialShape> DecodeShape(const wire::TensorShapeProto& proto) {
  if (proto.unknown_rank()) {
    if (proto.dim_size() == 0) return PartialShape::Unknown();
    return absl::InvalidArgumentError("a shape of unknown rank cannot have dimensions");
  }
  if (proto.dim_size() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("a shape has at most ", Shape::kMaxRank,
                                                   " dimensions, this one has ", proto.dim_size()));
  }
  Dims dims;
  for (const auto& dim : proto.dim()) {
    if (dim.size() < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a dimension must be >= 0, or -1 for unknown, but is ", dim.size()));
    }
    dims.push_back(dim.size());
  }
  return PartialShape(std::move(dims));
}

void EncodeShape(const PartialShape& shape, wire::TensorShapeProto* proto) {
  if (!shape.has_rank()) {
    proto->set_unknown_rank(true);
    return;
  }
  for (const int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

absl::StatusOr<Tensor> DecodeTensor(const wire::TensorProto& proto, DecodeLimits& limits) {
  absl::StatusOr<DType> dtype = DecodeDType(proto.dtype());
  if (!dtype.ok()) return Annotate(dtype.status(), "constant");
  GYRE_ASSIGN_OR_RETURN(const Shape shape, DecodeFullShape(proto.tensor_shape()));
  const bool can_be_read = IsTrivial(*dtype) || *dtype == DType::kString;
  if (shape.num_elements() == 0 && !can_be_read) return Tensor::Make(*dtype, shape);
  if (proto.tensor_content().empty()) return FromLists(*dtype, shape, proto, limits);
  if (*dtype == DType::kString) return FromStringBytes(shape, proto.tensor_content());
  return FromBytes(*dtype, shape, proto.tensor_content());
}

absl::Status EncodeTensor(const Tensor& tensor, wire::TensorProto* proto) {
  if (!tensor.has_value()) return BugError("a constant without a value");
  const DType dtype = tensor.dtype();
  proto->set_dtype(static_cast<wire::DataType>(dtype));
  EncodeShape(tensor.shape(), proto->mutable_tensor_shape());
  const size_t count = static_cast<size_t>(tensor.num_elements());
  if (count == 0) return absl::OkStatus();
  if (dtype == DType::kString) {
    for (const std::string& s : tensor.values<std::string>()) proto->add_string_val(s);
    return absl::OkStatus();
  }
  if (!IsTrivial(dtype)) {
    return Invalid(
        absl::StrCat("a value of type ", DTypeName(dtype),
                     " exists only in a running session and cannot be written to a file"));
  }
  const char* data = static_cast<const char*>(tensor.raw_data());
  if (AllAlike(data, DTypeSize(dtype), count)) {
    AddFirst(tensor, proto);
  } else {
    proto->set_tensor_content(data, tensor.bytes());
  }
  return absl::OkStatus();
}

}  // namespace gyre
