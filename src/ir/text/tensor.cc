#include "ir/text/tensor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "base/work.h"

namespace gyre {
namespace {

// `{0 ...}` lets a few characters ask for any amount of memory; real programs stay below this.
constexpr int64_t kMaxRepeatedBytes = int64_t{1} << 30;

// The usual NaN, as compilers make it: quiet, positive, no payload.
template <typename T>
constexpr T kQuietNan = std::numeric_limits<T>::quiet_NaN();

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
std::string WriteFloatOf(T value) {
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<BitsOf<T>>(value);
    return bits == std::bit_cast<BitsOf<T>>(kQuietNan<T>)
               ? "nan"
               : absl::StrCat("nan(", absl::Hex(bits), ")");
  }
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

template <typename T>
absl::StatusOr<T> ParseNumber(TextReader& reader, size_t mark, absl::string_view word) {
  const absl::string_view digits = absl::StartsWith(word, "+") ? word.substr(1) : word;
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    return reader.ErrorAt(mark, absl::StrCat("the number ", word, " is out of range"));
  }
  if (word.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    reader.Seek(mark);
    return reader.Expected("a number");
  }
  return value;
}

// What stands after "nan": the bits, if they are not the usual ones.
template <typename Bits>
absl::StatusOr<Bits> ReadNanBits(TextReader& reader, Bits usual) {
  if (!reader.Accept("(")) return usual;
  const size_t mark = reader.Mark();
  Bits bits = 0;
  const absl::string_view hex = reader.Word();
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
  if (hex.empty() || error != std::errc() || end != hex.data() + hex.size()) {
    return reader.ErrorAt(mark, "nan(...) must hold the bits in hexadecimal");
  }
  GYRE_RETURN_IF_ERROR(reader.Expect(")"));
  return bits;
}

template <typename T>
absl::StatusOr<T> ReadFloatOf(TextReader& reader) {
  const size_t mark = reader.Mark();
  if (reader.Accept("nan")) {
    GYRE_ASSIGN_OR_RETURN(const auto bits,
                          ReadNanBits(reader, std::bit_cast<BitsOf<T>>(kQuietNan<T>)));
    return std::bit_cast<T>(bits);
  }
  return ParseNumber<T>(reader, mark, ReadNumberWord(reader));
}

// How elements of C++ type T are written and read; here integers.
template <typename T>
struct Element {
  static std::string Write(T value) { return absl::StrCat(+value); }
  static absl::StatusOr<T> Read(TextReader& reader) {
    const size_t mark = reader.Mark();
    return ParseNumber<T>(reader, mark, reader.Word());
  }
};

template <>
struct Element<float> {
  static std::string Write(float value) { return WriteFloatOf(value); }
  static absl::StatusOr<float> Read(TextReader& reader) { return ReadFloatOf<float>(reader); }
};

template <>
struct Element<double> {
  static std::string Write(double value) { return WriteFloatOf(value); }
  static absl::StatusOr<double> Read(TextReader& reader) { return ReadFloatOf<double>(reader); }
};

// Half and BFloat16: every value but a NaN survives the way through float.
template <typename T>
struct NarrowFloatElement {
  static std::string Write(T value) {
    const float wide = static_cast<float>(value);
    if (!std::isnan(wide)) return WriteFloatOf(wide);
    return value.bits == T(kQuietNan<float>).bits
               ? "nan"
               : absl::StrCat("nan(", absl::Hex(value.bits), ")");
  }
  static absl::StatusOr<T> Read(TextReader& reader) {
    T value;
    if (reader.Accept("nan")) {
      GYRE_ASSIGN_OR_RETURN(value.bits, ReadNanBits(reader, T(kQuietNan<float>).bits));
    } else {
      GYRE_ASSIGN_OR_RETURN(const float wide, ReadFloatOf<float>(reader));
      value = T(wide);
    }
    return value;
  }
};
template <>
struct Element<Half> : NarrowFloatElement<Half> {};
template <>
struct Element<BFloat16> : NarrowFloatElement<BFloat16> {};

template <typename T>
struct Element<std::complex<T>> {
  static std::string Write(const std::complex<T>& value) {
    return absl::StrCat("(", WriteFloatOf(value.real()), ",", WriteFloatOf(value.imag()), ")");
  }
  static absl::StatusOr<std::complex<T>> Read(TextReader& reader) {
    GYRE_RETURN_IF_ERROR(reader.Expect("("));
    GYRE_ASSIGN_OR_RETURN(const T real, ReadFloatOf<T>(reader));
    GYRE_RETURN_IF_ERROR(reader.Expect(","));
    GYRE_ASSIGN_OR_RETURN(const T imag, ReadFloatOf<T>(reader));
    GYRE_RETURN_IF_ERROR(reader.Expect(")"));
    return std::complex<T>(real, imag);
  }
};

template <>
struct Element<bool> {
  static std::string Write(bool value) { return value ? "true" : "false"; }
  static absl::StatusOr<bool> Read(TextReader& reader) {
    if (reader.Accept("true")) return true;
    if (reader.Accept("false")) return false;
    return reader.Expected("true or false");
  }
};

template <>
struct Element<std::string> {
  static std::string Write(const std::string& value) { return WriteQuoted(value); }
  static absl::StatusOr<std::string> Read(TextReader& reader) {
    return reader.Quoted("a text in quotes");
  }
};

// Handles live in a running session; only "none yet" can stand in a program.
template <>
struct Element<RefPtr<Object>> {
  static std::string Write(const RefPtr<Object>& value) {
    return value ? absl::StrCat("<", value->type_name(), ">") : "null";
  }
  static absl::StatusOr<RefPtr<Object>> Read(TextReader& reader) {
    if (reader.Accept("null")) return RefPtr<Object>();
    return reader.Expected("null (a handle has no meaning outside of the session it comes from)");
  }
};

// Calls `f(T())` with the C++ type of `dtype`'s elements. Quantised types are integers here.
template <typename F>
auto VisitElementType(DType dtype, F f) {
  switch (dtype) {
    case DType::kFloat:
      return f(float());
    case DType::kDouble:
      return f(double());
    case DType::kHalf:
      return f(Half());
    case DType::kBfloat16:
      return f(BFloat16());
    case DType::kInt8:
    case DType::kQint8:
      return f(int8_t());
    case DType::kInt16:
    case DType::kQint16:
      return f(int16_t());
    case DType::kInt32:
    case DType::kQint32:
      return f(int32_t());
    case DType::kInt64:
      return f(int64_t());
    case DType::kUint8:
    case DType::kQuint8:
      return f(uint8_t());
    case DType::kUint16:
    case DType::kQuint16:
      return f(uint16_t());
    case DType::kUint32:
      return f(uint32_t());
    case DType::kUint64:
      return f(uint64_t());
    case DType::kComplex64:
      return f(complex64());
    case DType::kComplex128:
      return f(complex128());
    case DType::kBool:
      return f(bool());
    case DType::kString:
      return f(std::string());
    case DType::kResource:
    case DType::kVariant:
    case DType::kInvalid:
      break;
  }
  return f(RefPtr<Object>());
}

template <typename T>
bool SameElement(const T& a, const T& b) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  } else if constexpr (std::is_same_v<T, RefPtr<Object>>) {
    return a.get() == b.get();
  } else {
    return a == b;
  }
}

template <typename T>
void WriteElements(const Tensor& tensor, const LiteralOptions& options, std::string& out) {
  const absl::Span<const T> values = tensor.values<T>();
  const bool all_alike =
      values.size() > 1 && std::all_of(values.begin(), values.end(), [&](const T& value) {
        return SameElement(value, values.front());
      });
  if (all_alike) {
    absl::StrAppend(&out, Element<T>::Write(values.front()), " ...");
    return;
  }
  size_t n = values.size();
  if (options.max_elements >= 0) n = std::min(n, static_cast<size_t>(options.max_elements));
  constexpr size_t kElementsPerStep = 8;
  for (size_t i = 0; i < n; ++i) {
    if (i % kElementsPerStep == 0) SpendWork();
    absl::StrAppend(&out, i > 0 ? ", " : "", Element<T>::Write(values[i]));
  }
  if (n < values.size()) absl::StrAppend(&out, n > 0 ? ", " : "", "<", values.size() - n, " more>");
}

template <typename T>
absl::StatusOr<Tensor> ReadElements(TextReader& reader, DType dtype, const Shape& shape) {
  const size_t mark = reader.Mark();
  const size_t n = static_cast<size_t>(shape.num_elements());
  std::vector<T> values;  // grows with the text, so a shape alone cannot ask for memory
  bool repeated = false;
  while (!reader.Accept("}")) {
    if (!values.empty() && reader.Accept("...")) {
      GYRE_RETURN_IF_ERROR(reader.Expect("}"));
      repeated = true;
      break;
    }
    if (!values.empty()) GYRE_RETURN_IF_ERROR(reader.Expect(","));
    if (reader.Peek() == '<') {
      return reader.ErrorAt(reader.Mark(),
                            "this value was cut short when it was written: it cannot be read back");
    }
    GYRE_ASSIGN_OR_RETURN(T value, Element<T>::Read(reader));
    values.push_back(std::move(value));
  }
  if (repeated) {
    const auto bytes = CheckedMul(shape.num_elements(), sizeof(T));
    if (values.size() != 1 || !bytes || *bytes > kMaxRepeatedBytes) {
      return reader.ErrorAt(
          mark, absl::StrCat("'...' must follow the only element, of a tensor of at most ",
                             kMaxRepeatedBytes, " bytes"));
    }
  } else if (values.size() != n) {
    return reader.ErrorAt(mark, absl::StrCat("a tensor of shape ", shape.ToString(), " has ", n,
                                             " elements, but here are ", values.size()));
  }
  if (dtype == DType::kResource || dtype == DType::kVariant) {
    if (shape.IsScalar()) return Tensor::FromObject(dtype, nullptr);
  }
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  const absl::Span<T> elements = tensor.mutable_values<T>();
  for (size_t i = 0; i < n; ++i) elements[i] = repeated ? values.front() : std::move(values[i]);
  return tensor;
}

}  // namespace

std::string WriteFloat(float value) { return WriteFloatOf(value); }

absl::StatusOr<float> ReadFloat(TextReader& reader) { return ReadFloatOf<float>(reader); }

absl::StatusOr<int64_t> ReadInt(TextReader& reader) { return Element<int64_t>::Read(reader); }

std::string ReadNumberWord(TextReader& reader) {
  std::string word(reader.Word());
  if (!word.empty() && word.back() == 'e' && reader.Accept("+"))
    absl::StrAppend(&word, "+", reader.Word());
  return word;
}

std::string WriteDims(const PartialShape& shape) {
  return absl::StrJoin(shape.dims(), ",", [](std::string* out, int64_t d) {
    if (d < 0) {
      out->push_back('?');
    } else {
      absl::StrAppend(out, d);
    }
  });
}

absl::StatusOr<PartialShape> ReadDims(TextReader& reader, absl::string_view close) {
  const size_t mark = reader.Mark();
  Dims dims;
  while (!reader.Accept(close)) {
    if (!dims.empty()) GYRE_RETURN_IF_ERROR(reader.Expect(","));
    if (reader.Accept("?")) {
      dims.push_back(-1);
      continue;
    }
    const size_t number = reader.Mark();
    GYRE_ASSIGN_OR_RETURN(const int64_t d, ParseNumber<int64_t>(reader, number, reader.Word()));
    if (d < 0)
      return reader.ErrorAt(number, "a dimension cannot be negative: write ? for an unknown one");
    dims.push_back(d);
  }
  if (dims.size() > Shape::kMaxRank) {
    return reader.ErrorAt(mark,
                          absl::StrCat("a shape has at most ", Shape::kMaxRank, " dimensions"));
  }
  return PartialShape(std::move(dims));
}

std::string WriteTensor(const Tensor& tensor, const LiteralOptions& options) {
  if (!tensor.has_value()) return "tensor{}";
  std::string out(DTypeName(tensor.dtype()));
  if (tensor.rank() > 0) absl::StrAppend(&out, "[", WriteDims(tensor.shape()), "]");
  out += "{";
  if (!IsTrivial(tensor.dtype()) && tensor.dtype() != DType::kString && tensor.rank() == 0) {
    out += Element<RefPtr<Object>>::Write(RefPtr<Object>::Share(tensor.object()));
  } else {
    VisitElementType(tensor.dtype(),
                     [&]<typename T>(T) { WriteElements<T>(tensor, options, out); });
  }
  return absl::StrCat(out, "}");
}

absl::StatusOr<Tensor> ReadTensor(TextReader& reader, DType dtype) {
  const size_t mark = reader.Mark();
  Shape shape;
  if (reader.Accept("[")) {
    GYRE_ASSIGN_OR_RETURN(const PartialShape dims, ReadDims(reader, "]"));
    const absl::StatusOr<Shape> known = Shape::Make(dims.dims());
    if (!known.ok()) return reader.ErrorAt(mark, known.status().message());
    shape = *known;
  }
  GYRE_RETURN_IF_ERROR(reader.Expect("{"));
  return VisitElementType(dtype, [&]<typename T>(T) -> absl::StatusOr<Tensor> {
    return ReadElements<T>(reader, dtype, shape);
  });
}

}  // namespace gyre
