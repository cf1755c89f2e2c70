#include "golden/value.h"

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "golden/json.h"

namespace gyre::golden {
namespace {

// Read(json, value): false when `json` is not a value of that type.
bool Read(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}

template <std::integral T>
bool Read(const Json& json, T& value) {
  if (const uint64_t* whole = json.get_ptr<const Json::number_unsigned_t*>()) {
    value = static_cast<T>(*whole);
    return std::in_range<T>(*whole);
  }
  if (const int64_t* whole = json.get_ptr<const Json::number_integer_t*>()) {
    value = static_cast<T>(*whole);
    return std::in_range<T>(*whole);
  }
  return false;
}

bool Read(const Json& json, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
    return true;
  }
  const std::string* name = json.get_ptr<const std::string*>();
  if (name == nullptr) return false;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (*name == "nan") value = std::numeric_limits<double>::quiet_NaN();
  if (*name == "inf") value = kInfinity;
  if (*name == "-inf") value = -kInfinity;
  return *name == "nan" || *name == "inf" || *name == "-inf";
}

// Narrower floats are written as the number they stand for, so the conversion is exact.
template <typename T>
  requires std::same_as<T, float> || std::same_as<T, Half> || std::same_as<T, BFloat16>
bool Read(const Json& json, T& value) {
  double wide;
  if (!Read(json, wide)) return false;
  if (std::isfinite(wide) && std::abs(wide) > std::numeric_limits<float>::max()) return false;
  value = T(static_cast<float>(wide));
  return true;
}

template <typename T>
bool Read(const Json& json, std::complex<T>& value) {
  T real, imaginary;
  if (!json.is_array() || json.size() != 2) return false;
  if (!Read(json[0], real) || !Read(json[1], imaginary)) return false;
  value = {real, imaginary};
  return true;
}

bool Read(const Json& json, std::string& value) {
  const std::string* text = json.get_ptr<const std::string*>();
  if (text != nullptr) value = *text;
  return text != nullptr;
}

template <typename T>
absl::StatusOr<Tensor> ReadElements(const Json& data, const Shape& shape,
                                    const std::string& where) {
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DTypeOf<T>, shape));
  const absl::Span<T> values = tensor.mutable_values<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!Read(data[i], values[i])) {
      return Mistake(absl::StrCat(where, ".data[", i, "]"),
                     absl::StrCat("not a ", DTypeName(DTypeOf<T>)));
    }
  }
  return tensor;
}

absl::StatusOr<Tensor> ReadElements(DType dtype, const Json& data, const Shape& shape,
                                    const std::string& where) {
  switch (dtype) {
    case DType::kFloat:
      return ReadElements<float>(data, shape, where);
    case DType::kDouble:
      return ReadElements<double>(data, shape, where);
    case DType::kHalf:
      return ReadElements<Half>(data, shape, where);
    case DType::kBfloat16:
      return ReadElements<BFloat16>(data, shape, where);
    case DType::kInt8:
      return ReadElements<int8_t>(data, shape, where);
    case DType::kInt16:
      return ReadElements<int16_t>(data, shape, where);
    case DType::kInt32:
      return ReadElements<int32_t>(data, shape, where);
    case DType::kInt64:
      return ReadElements<int64_t>(data, shape, where);
    case DType::kUint8:
      return ReadElements<uint8_t>(data, shape, where);
    case DType::kUint16:
      return ReadElements<uint16_t>(data, shape, where);
    case DType::kUint32:
      return ReadElements<uint32_t>(data, shape, where);
    case DType::kUint64:
      return ReadElements<uint64_t>(data, shape, where);
    case DType::kBool:
      return ReadElements<bool>(data, shape, where);
    case DType::kComplex64:
      return ReadElements<complex64>(data, shape, where);
    case DType::kComplex128:
      return ReadElements<complex128>(data, shape, where);
    case DType::kString:
      return ReadElements<std::string>(data, shape, where);
    default:
      return Mistake(where,
                     absl::StrCat("values of type ", DTypeName(dtype), " cannot be written"));
  }
}

absl::StatusOr<Shape> ReadShape(const Json& json, const std::string& where) {
  Dims dims;
  for (const Json& item : json) {
    int64_t dim;
    if (!Read(item, dim)) return Mistake(where, "a shape is a list of whole numbers");
    dims.push_back(dim);
  }
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return Annotate(shape.status(), where);
  return shape;
}

absl::Status DecodeBase64(Tensor& tensor, const std::string& where) {
  for (std::string& text : tensor.mutable_values<std::string>()) {
    std::string bytes;
    if (!absl::Base64Unescape(text, &bytes)) return Mistake(where, "a string is not base64");
    text = std::move(bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckRef(const Tensor& tensor, DType dtype, const Shape& shape,
                      const std::string& where) {
  if (tensor.dtype() == dtype && tensor.shape() == shape) return absl::OkStatus();
  return Mistake(where, absl::StrCat("the tensor referred to is ", DTypeName(tensor.dtype()),
                                     tensor.shape().ToString()));
}

}  // namespace

absl::StatusOr<Tensor> ReadValue(const Json& json, const std::string& where,
                                 const RefLookup& find_ref) {
  if (!json.is_object()) return Mistake(where, "a value is an object with dtype, shape and data");
  std::string dtype_name;
  const bool has_dtype = Read(Member(json, "dtype"), dtype_name);
  const std::optional<DType> dtype = has_dtype ? ParseDType(dtype_name) : std::nullopt;
  if (!dtype) return Mistake(where, absl::StrCat("dtype '", dtype_name, "' is unknown"));
  if (!Member(json, "shape").is_array())
    return Mistake(where, "a shape is a list of whole numbers");
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ReadShape(Member(json, "shape"), where));

  if (std::string key; Read(Member(json, "ref"), key)) {
    absl::StatusOr<Tensor> tensor = find_ref(key);
    if (!tensor.ok()) return Annotate(tensor.status(), where);
    GYRE_RETURN_IF_ERROR(CheckRef(*tensor, *dtype, shape, where));
    return tensor;
  }
  const Json& data = Member(json, "data");
  if (!data.is_array()) return Mistake(where, "neither data nor ref is given");
  if (static_cast<int64_t>(data.size()) != shape.num_elements()) {
    return Mistake(where, absl::StrCat("shape ", shape.ToString(), " wants ", shape.num_elements(),
                                       " elements, data has ", data.size()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, ReadElements(*dtype, data, shape, where));
  if (Member(json, "b64") == true && *dtype == DType::kString) {
    GYRE_RETURN_IF_ERROR(DecodeBase64(tensor, where));
  }
  return tensor;
}

}  // namespace gyre::golden
