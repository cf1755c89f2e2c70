#include "onnx/tensor_data.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "base/work.h"
#include "onnx/narrow.h"
#include "onnx/types.h"
#include "tensor/io/bytes.h"
#include "tensor/io/file.h"

namespace gyre::onnx {
namespace {

using wire::TensorProto;

absl::Status WrongCount(absl::string_view what, int64_t have, int64_t want) {
  return absl::InvalidArgumentError(
      absl::StrCat("its shape wants ", want, " ", what, ", but there are ", have));
}

// Where external data lies.
struct Place {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

absl::StatusOr<Place> PlaceOf(const TensorProto& proto) {
  Place place;
  for (const auto& entry : proto.external_data()) {
    const bool is_offset = entry.key() == "offset";
    if (entry.key() == "location") place.location = entry.value();
    if (!is_offset && entry.key() != "length") continue;
    int64_t number;
    if (!absl::SimpleAtoi(entry.value(), &number) || number < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", entry.key(), " of its external data is no number"));
    }
    if (is_offset) {
      place.offset = number;
    } else {
      place.length = number;
    }
  }
  if (place.location.empty())
    return absl::InvalidArgumentError("its external data has no location");
  return place;
}

absl::Status ReadExternal(const TensorProto& proto, const std::string& folder, Tensor& tensor,
                          const Shape& shape, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(const Place place, PlaceOf(proto));
  if (folder.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("its data lies in the file ", place.location,
                                                      ", but the model was not read from a file"));
  }
  if (absl::StartsWith(place.location, "/") || absl::StrContains(place.location, '\0')) {
    return absl::PermissionDeniedError(absl::StrCat("its data is to lie at ", place.location,
                                                    ", which is not in the folder of the model"));
  }
  const std::string path = absl::StrCat(folder, "/", place.location);
  GYRE_RETURN_IF_ERROR(CheckWithin(path, folder));
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  const std::optional<int64_t> bytes = CheckedMul(shape.num_elements(), int64_t(DTypeSize(dtype)));
  if (!bytes || place.offset > file.size() || file.size() - place.offset < *bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the file ", place.location, " ends before its data of shape ", shape.ToString(), " does"));
  }
  if (place.length && *place.length != *bytes)
    return WrongCount("bytes of external data", *place.length, *bytes);
  GYRE_ASSIGN_OR_RETURN(tensor, Tensor::Make(dtype, shape));
  GYRE_RETURN_IF_ERROR(file.ReadAt(place.offset, tensor.mutable_raw_data(), *bytes));
  NormalizeBools(tensor);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> FromRaw(const std::string& raw, DType dtype, const Shape& shape) {
  const std::optional<int64_t> bytes = CheckedMul(shape.num_elements(), int64_t(DTypeSize(dtype)));
  if (!bytes || static_cast<int64_t>(raw.size()) != *bytes)
    return WrongCount("bytes", raw.size(), bytes.value_or(-1));
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  if (*bytes > 0) std::memcpy(tensor.mutable_raw_data(), raw.data(), raw.size());
  NormalizeBools(tensor);
  return tensor;
}

// Elements as numbers of a wider type, one (or `per_element`) for each.
template <typename T, typename Source>
absl::StatusOr<Tensor> FromNumbers(const Source& numbers, const Shape& shape, DType dtype) {
  if (numbers.size() != shape.num_elements())
    return WrongCount("elements", numbers.size(), shape.num_elements());
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  T* const to = static_cast<T*>(tensor.mutable_raw_data());
  for (int i = 0; i < numbers.size(); ++i) to[i] = static_cast<T>(numbers[i]);
  return tensor;
}

template <typename T, typename Source>
absl::StatusOr<Tensor> FromParts(const Source& parts, const Shape& shape, DType dtype) {
  if (parts.size() % 2 != 0 || parts.size() / 2 != shape.num_elements())
    return WrongCount("elements", parts.size() / 2, shape.num_elements());
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  T* const to = static_cast<T*>(tensor.mutable_raw_data());
  for (int i = 0; i < parts.size(); ++i) to[i] = parts[i];
  return tensor;
}

absl::StatusOr<Tensor> FromTexts(const TensorProto& proto, const Shape& shape) {
  const auto& texts = proto.string_data();
  if (texts.size() != shape.num_elements())
    return WrongCount("texts", texts.size(), shape.num_elements());
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kString, shape));
  const auto to = tensor.mutable_values<std::string>();
  for (int i = 0; i < texts.size(); ++i) to[i] = texts[i];
  return tensor;
}

absl::StatusOr<Tensor> FromFields(const TensorProto& proto, DType dtype, const Shape& shape) {
  switch (dtype) {
    case DType::kFloat:
      return FromNumbers<float>(proto.float_data(), shape, dtype);
    case DType::kDouble:
      return FromNumbers<double>(proto.double_data(), shape, dtype);
    case DType::kComplex64:
      return FromParts<float>(proto.float_data(), shape, dtype);
    case DType::kComplex128:
      return FromParts<double>(proto.double_data(), shape, dtype);
    case DType::kInt64:
      return FromNumbers<int64_t>(proto.int64_data(), shape, dtype);
    case DType::kUint64:
      return FromNumbers<uint64_t>(proto.uint64_data(), shape, dtype);
    case DType::kUint32:
      return FromNumbers<uint32_t>(proto.uint64_data(), shape, dtype);
    case DType::kInt32:
      return FromNumbers<int32_t>(proto.int32_data(), shape, dtype);
    case DType::kInt16:
      return FromNumbers<int16_t>(proto.int32_data(), shape, dtype);
    case DType::kInt8:
      return FromNumbers<int8_t>(proto.int32_data(), shape, dtype);
    case DType::kUint8:
      return FromNumbers<uint8_t>(proto.int32_data(), shape, dtype);
    case DType::kBool:
      return FromNumbers<bool>(proto.int32_data(), shape, dtype);
    case DType::kUint16:
    case DType::kHalf:  // bits
    case DType::kBfloat16:
      return FromNumbers<uint16_t>(proto.int32_data(), shape, dtype);
    case DType::kString:
      return FromTexts(proto, shape);
    default:
      return absl::UnimplementedError(absl::StrCat("values of type ", DTypeName(dtype)));
  }
}

// Of a narrow type: bytes, or two elements a byte, the lower bits first.
absl::StatusOr<Tensor> FromNarrow(const TensorProto& proto, DType dtype, const Shape& shape) {
  const int elem_type = proto.data_type(), bits = NarrowBits(elem_type);
  const int64_t count = shape.num_elements(), bytes = bits == 8 ? count : count / 2 + count % 2;
  const bool is_raw = proto.has_raw_data();
  const int64_t have =
      is_raw ? static_cast<int64_t>(proto.raw_data().size()) : int64_t{proto.int32_data_size()};
  if (have != bytes) return WrongCount("bytes", have, bytes);
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = bits == 8 ? i : i / 2;
    const int32_t byte = is_raw ? static_cast<unsigned char>(proto.raw_data()[at])
                                : proto.int32_data(static_cast<int>(at));
    const int shift = bits == 4 && i % 2 == 1 ? 4 : 0;
    const uint8_t code =
        static_cast<uint8_t>((static_cast<uint32_t>(byte) >> shift) & (bits == 4 ? 15u : 255u));
    const double value = DecodeNarrow(elem_type, code);
    if (dtype == DType::kFloat) {
      tensor.mutable_values<float>()[i] = static_cast<float>(value);
    } else {
      static_cast<int8_t*>(tensor.mutable_raw_data())[i] = static_cast<int8_t>(value);
    }
  }
  return tensor;
}

absl::StatusOr<Tensor> Read(const TensorProto& proto, const std::string& folder) {
  GYRE_ASSIGN_OR_RETURN(const DType dtype, DTypeOfElem(proto.data_type()));
  if (proto.has_segment()) return absl::UnimplementedError("tensors in segments");
  const Dims dims(proto.dims().begin(), proto.dims().end());
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (NarrowCarrier(proto.data_type())) {
    if (proto.data_location() == TensorProto::EXTERNAL)
      return absl::UnimplementedError(
          "elements of fewer than 8 bits, or of 8-bit floats, in another file");
    return FromNarrow(proto, dtype, shape);
  }
  if (proto.data_location() == TensorProto::EXTERNAL) {
    if (dtype == DType::kString)
      return absl::InvalidArgumentError("texts cannot lie in another file");
    Tensor tensor;
    GYRE_RETURN_IF_ERROR(ReadExternal(proto, folder, tensor, shape, dtype));
    return tensor;
  }
  if (proto.has_raw_data()) {
    if (dtype == DType::kString) return absl::InvalidArgumentError("texts as raw data");
    return FromRaw(proto.raw_data(), dtype, shape);
  }
  return FromFields(proto, dtype, shape);
}

// The element that row `row` of the indices names.
absl::StatusOr<int64_t> Offset(absl::Span<const int64_t> indices, const Shape& shape, int64_t row,
                               int64_t width) {
  int64_t offset = 0;
  for (int64_t d = 0; d < width; ++d) {
    const int64_t index = indices[row * width + d];
    const int64_t size = width == 1 ? shape.num_elements() : shape.dim(static_cast<int>(d));
    if (index < 0 || index >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("index ", index, " of a sparse tensor is not in [0, ", size, ")"));
    }
    offset = offset * size + index;
  }
  return offset;
}

}  // namespace

absl::StatusOr<Tensor> ReadTensor(const TensorProto& proto, const std::string& folder) {
  absl::StatusOr<Tensor> tensor = Read(proto, folder);
  if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("tensor '", proto.name(), "'"));
  SpendWorkMemory(static_cast<int64_t>(tensor->bytes()));
  return tensor;
}

absl::StatusOr<Tensor> ReadSparseTensor(const wire::SparseTensorProto& proto,
                                        const std::string& folder, int64_t max_bytes) {
  GYRE_ASSIGN_OR_RETURN(const Tensor values, ReadTensor(proto.values(), folder));
  GYRE_ASSIGN_OR_RETURN(const Tensor indices, ReadTensor(proto.indices(), folder));
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make(Dims(proto.dims().begin(), proto.dims().end())));
  const size_t size = DTypeSize(values.dtype());
  const int64_t width = indices.rank() == 2 ? indices.dim(1) : 1;
  if (size == 0 || indices.dtype() != DType::kInt64 || indices.rank() < 1 || indices.rank() > 2 ||
      indices.dim(0) != values.num_elements() || (width != 1 && width != shape.rank())) {
    return absl::InvalidArgumentError("values and indices of a sparse tensor do not agree");
  }
  const std::optional<int64_t> bytes = CheckedMul(shape.num_elements(), static_cast<int64_t>(size));
  if (!bytes || *bytes > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a sparse tensor of shape ", shape.ToString(), " takes up too much, dense"));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor dense, Tensor::Zeros(values.dtype(), shape, Tensor::Alloc()));
  SpendWorkMemory(*bytes);
  char* const to = static_cast<char*>(dense.mutable_raw_data());
  const char* const from = static_cast<const char*>(values.raw_data());
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int64_t offset, Offset(indices.values<int64_t>(), shape, i, width));
    std::memcpy(to + offset * size, from + i * size, size);
  }
  return dense;
}

}  // namespace gyre::onnx
