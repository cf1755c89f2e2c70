#include "tensor/format.h"

#include <algorithm>
#include <charconv>
#include <complex>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"

namespace gyre {
namespace {

// As printf's %.*g.
template <typename T>
std::string Digits(T value, int digits) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, digits);
  return std::string(buffer, end.ptr);
}

template <typename T>
std::string Shortest(T value, int longer_digits) {
  std::string text = Digits(value, std::numeric_limits<T>::digits10);
  T parsed = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (read.ec == std::errc() && parsed == value) return text;
  return Digits(value, longer_digits);  // nan and inf come out the same with any number of digits
}

// Appends element `i` of a tensor.
using ElementPrinter = void (*)(const Tensor& tensor, int64_t i, TensorFormat format,
                                std::string& out);

template <typename T>
void PrintNumber(const Tensor& tensor, int64_t i, TensorFormat, std::string& out) {
  const T value = tensor.values<T>()[i];
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    out += FormatFloat(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, float>) {
    out += FormatFloat(value);
  } else if constexpr (std::is_same_v<T, double>) {
    out += FormatDouble(value);
  } else {
    absl::StrAppend(&out, +value);  // promoted, so that bytes are numbers and not characters
  }
}

void PrintString(const Tensor& tensor, int64_t i, TensorFormat format, std::string& out) {
  const std::string escaped = absl::Utf8SafeCEscape(tensor.values<std::string>()[i]);
  if (format == TensorFormat::kNested) {
    absl::StrAppend(&out, "\"", escaped, "\"");
  } else {
    out += escaped;
  }
}

void PrintBool(const Tensor& tensor, int64_t i, TensorFormat, std::string& out) {
  out += static_cast<const char*>(tensor.raw_data())[i] != 0 ? '1' : '0';
}

template <typename T>
void PrintComplex(const Tensor& tensor, int64_t i, TensorFormat, std::string& out) {
  const std::complex<T> value = tensor.values<std::complex<T>>()[i];
  if constexpr (std::is_same_v<T, float>) {
    absl::StrAppend(&out, "(", FormatFloat(value.real()), ",", FormatFloat(value.imag()), ")");
  } else {
    absl::StrAppend(&out, "(", FormatDouble(value.real()), ",", FormatDouble(value.imag()), ")");
  }
}

// Says what kind of object it is.
void PrintObject(const Tensor& tensor, int64_t i, TensorFormat, std::string& out) {
  const Object* object =
      tensor.rank() == 0 ? tensor.object() : tensor.values<RefPtr<Object>>()[i].get();
  absl::StrAppend(&out, "<", object == nullptr ? "nothing" : object->type_name(), ">");
}

void PrintUnknown(const Tensor&, int64_t, TensorFormat, std::string& out) { out += "?"; }

ElementPrinter PrinterFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return &PrintNumber<float>;
    case DType::kDouble:
      return &PrintNumber<double>;
    case DType::kHalf:
      return &PrintNumber<Half>;
    case DType::kBfloat16:
      return &PrintNumber<BFloat16>;
    case DType::kInt8:
      return &PrintNumber<int8_t>;
    case DType::kInt16:
      return &PrintNumber<int16_t>;
    case DType::kInt32:
      return &PrintNumber<int32_t>;
    case DType::kInt64:
      return &PrintNumber<int64_t>;
    case DType::kUint8:
      return &PrintNumber<uint8_t>;
    case DType::kUint16:
      return &PrintNumber<uint16_t>;
    case DType::kUint32:
      return &PrintNumber<uint32_t>;
    case DType::kUint64:
      return &PrintNumber<uint64_t>;
    case DType::kComplex64:
      return &PrintComplex<float>;
    case DType::kComplex128:
      return &PrintComplex<double>;
    case DType::kBool:
      return &PrintBool;
    case DType::kString:
      return &PrintString;
    case DType::kResource:
    case DType::kVariant:
      return &PrintObject;
    default:
      return &PrintUnknown;
  }
}

// Prints the first `limit` elements; a dimension cut short inside shows "...".
class FlatPrinter {
 public:
  FlatPrinter(const Tensor& tensor, int64_t limit, std::string& out)
      : tensor_(tensor), print_(PrinterFor(tensor.dtype())), limit_(limit), out_(out) {}

  void Print() {
    if (tensor_.rank() == 0) {
      if (limit_ > 0) print_(tensor_, 0, TensorFormat::kFlat, out_);
    } else {
      PrintDimension(0);
    }
    if (tensor_.num_elements() > limit_) out_ += "...";
  }

 private:
  void PrintDimension(int d) {
    if (next_ >= limit_) return;
    const int64_t size = tensor_.dim(d);
    if (d == tensor_.rank() - 1) {
      for (int64_t i = 0; i < size; ++i) {
        if (next_ >= limit_) {
          if (d != 0) out_ += "...";
          return;
        }
        if (i > 0) out_ += " ";
        print_(tensor_, next_++, TensorFormat::kFlat, out_);
      }
      return;
    }
    for (int64_t i = 0; i < size && next_ < limit_; ++i) {
      out_ += "[";
      PrintDimension(d + 1);
      out_ += "]";
    }
  }

  const Tensor& tensor_;
  const ElementPrinter print_;
  const int64_t limit_;
  std::string& out_;
  int64_t next_ = 0;
};

// Prints `ends` entries at both ends of each dimension, a line per row and an empty line between
// blocks.
class NestedPrinter {
 public:
  NestedPrinter(const Tensor& tensor, int64_t ends, std::string& out)
      : tensor_(tensor), print_(PrinterFor(tensor.dtype())), ends_(ends), out_(out) {}

  void Print() { PrintDimension(0, 0, tensor_.num_elements()); }

 private:
  // `count` elements from `first` on belong to this entry.
  void PrintDimension(int d, int64_t first, int64_t count) {
    if (d == tensor_.rank()) {
      print_(tensor_, first, TensorFormat::kNested, out_);
      return;
    }
    out_ += "[";
    const int64_t size = tensor_.dim(d);
    const int64_t step = size == 0 ? 0 : count / size;
    const bool abridged = size - ends_ > ends_;
    const int64_t head = abridged ? ends_ : size;
    for (int64_t i = 0; i < head; ++i) {
      if (i > 0) Separate(d);
      PrintDimension(d + 1, first + step * i, step);
    }
    if (abridged) {
      Separate(d);
      out_ += "...";
      for (int64_t i = size - ends_; i < size; ++i) {
        Separate(d);
        PrintDimension(d + 1, first + step * i, step);
      }
    }
    out_ += "]";
  }

  void Separate(int d) {
    const int inner = tensor_.rank() - d - 1;
    if (inner == 0) {
      out_ += " ";
    } else {
      out_.append(inner, '\n');
      out_.append(d + 1, ' ');
    }
  }

  const Tensor& tensor_;
  const ElementPrinter print_;
  const int64_t ends_;
  std::string& out_;
};

}  // namespace

std::string FormatFloat(float value) { return Shortest(value, 9); }
std::string FormatDouble(double value) { return Shortest(value, 17); }

std::string FormatTensor(const Tensor& tensor, int64_t summarize, TensorFormat format) {
  std::string out;
  if (!tensor.has_value()) return out;
  const int64_t n = tensor.num_elements();
  const int64_t limit = summarize < 0 ? n : std::min(summarize, n);
  if (format == TensorFormat::kFlat) {
    FlatPrinter(tensor, limit, out).Print();
  } else {
    NestedPrinter(tensor, limit, out).Print();
  }
  return out;
}

}  // namespace gyre
