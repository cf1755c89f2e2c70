#include "cli/literal.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/status.h"
#include "base/work.h"

namespace gyre::cli {
namespace {

struct Item {
  std::string text;
  bool quoted = false;
};

// The nested lists of a literal, flattened. Ragged lists are refused.
struct Literal {
  std::vector<int64_t> dims;
  std::vector<Item> items;
};

class LiteralParser {
 public:
  explicit LiteralParser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<Literal> Parse() {
    GYRE_RETURN_IF_ERROR(Value(0));
    SkipSpace();
    if (!rest_.empty())
      return absl::InvalidArgumentError(absl::StrCat("'", rest_, "' is left over"));
    literal_.dims = std::move(dims_);
    return std::move(literal_);
  }

 private:
  // `depth` lists are open. Recursion ends at the largest rank that there is.
  absl::Status Value(size_t depth) {
    SkipSpace();
    if (Accept('[')) return List(depth);
    if (leaf_depth_ < 0) leaf_depth_ = static_cast<int>(depth);
    if (static_cast<size_t>(leaf_depth_) != depth || dims_.size() > depth) {
      return absl::InvalidArgumentError("lists and single values are mixed at one level");
    }
    return Leaf();
  }

  absl::Status List(size_t depth) {
    if (depth >= Shape::kMaxRank ||
        (leaf_depth_ >= 0 && static_cast<size_t>(leaf_depth_) <= depth)) {
      return absl::InvalidArgumentError(depth >= Shape::kMaxRank
                                            ? "lists are nested too deep"
                                            : "lists and single values are mixed at one level");
    }
    if (dims_.size() == depth) dims_.push_back(-1);
    int64_t length = 0;
    SkipSpace();
    while (!Accept(']')) {
      if (length > 0 && !Accept(',')) return absl::InvalidArgumentError("',' or ']' is missing");
      GYRE_RETURN_IF_ERROR(Value(depth + 1));
      ++length;
      SkipSpace();
    }
    if (dims_[depth] >= 0 && dims_[depth] != length) {
      return absl::InvalidArgumentError(absl::StrCat("lists side by side differ in length (",
                                                     dims_[depth], " and ", length, ")"));
    }
    dims_[depth] = length;
    return absl::OkStatus();
  }

  absl::Status Leaf() {
    if (Accept('"')) {
      size_t end = 0;
      while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
      std::string text, problem;
      if (end >= rest_.size()) return absl::InvalidArgumentError("a closing '\"' is missing");
      if (!absl::CUnescape(rest_.substr(0, end), &text, &problem)) {
        return absl::InvalidArgumentError(absl::StrCat("a string is not sound: ", problem));
      }
      rest_.remove_prefix(end + 1);
      literal_.items.push_back({std::move(text), true});
      return absl::OkStatus();
    }
    const size_t end = std::min(rest_.find_first_of("[],\""), rest_.size());
    const absl::string_view word = absl::StripAsciiWhitespace(rest_.substr(0, end));
    if (word.empty()) return absl::InvalidArgumentError("a value is missing");
    literal_.items.push_back({std::string(word), false});
    rest_.remove_prefix(end);
    return absl::OkStatus();
  }

  bool Accept(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  absl::string_view rest_;
  Literal literal_;
  std::vector<int64_t> dims_;  // length per level; -1 while the first list of a level is open
  int leaf_depth_ = -1;
};

// Convert(text, value): false when `text` is not a value of that type. A number too large for a
// floating type is a mistake; infinity by name is not.
bool IsNamedInfinity(absl::string_view text) {
  return absl::StrContains(absl::AsciiStrToLower(text), "inf");
}

bool Convert(absl::string_view text, bool& value) {
  value = text == "true" || text == "True" || text == "1";
  return value || text == "false" || text == "False" || text == "0";
}

bool Convert(absl::string_view text, float& value) {
  return absl::SimpleAtof(text, &value) && (!std::isinf(value) || IsNamedInfinity(text));
}

bool Convert(absl::string_view text, double& value) {
  return absl::SimpleAtod(text, &value) && (!std::isinf(value) || IsNamedInfinity(text));
}

template <typename T>
  requires std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>
bool Convert(absl::string_view text, T& value) {
  float wide;
  if (!Convert(text, wide)) return false;
  value = T(wide);
  return std::isinf(static_cast<float>(value)) == std::isinf(wide);
}

template <std::integral T>
bool Convert(absl::string_view text, T& value) {
  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> wide;
  if (!absl::SimpleAtoi(text, &wide) || !std::in_range<T>(wide)) return false;
  value = static_cast<T>(wide);
  return true;
}

// a, bj, a+bj or a-bj: the split is at the last sign that is not an exponent's.
template <typename T>
bool Convert(absl::string_view text, std::complex<T>& value) {
  T real = 0, imaginary = 0;
  if (!absl::EndsWith(text, "j") && !absl::EndsWith(text, "i")) {
    if (!Convert(text, real)) return false;
  } else {
    text.remove_suffix(1);
    const auto is_split = [&](size_t i) {
      return (text[i] == '+' || text[i] == '-') && absl::ascii_tolower(text[i - 1]) != 'e';
    };
    size_t split = text.empty() ? 0 : text.size() - 1;
    while (split > 0 && !is_split(split)) --split;
    if (split > 0 && !Convert(text.substr(0, split), real)) return false;
    if (!Convert(text.substr(split), imaginary)) return false;
  }
  value = {real, imaginary};
  return true;
}

// Writes the items, or the only item everywhere, into the elements of `tensor`.
template <typename T>
absl::Status Fill(const std::vector<Item>& items, Tensor& tensor) {
  const absl::Span<T> values = tensor.mutable_values<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    SpendWork();
    const bool is_first = i == 0 || items.size() > 1;
    const Item& item = items[is_first ? i : 0];
    if (!is_first) {
      values[i] = values[0];
    } else if (item.quoted || !Convert(item.text, values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", item.text, "' is not ", DTypeName(tensor.dtype())));
    }
  }
  return absl::OkStatus();
}

template <>
absl::Status Fill<std::string>(const std::vector<Item>& items, Tensor& tensor) {
  const absl::Span<std::string> values = tensor.mutable_values<std::string>();
  for (size_t i = 0; i < values.size(); ++i) {
    const Item& item = items[items.size() == 1 ? 0 : i];
    SpendWork();
    SpendWorkMemory(static_cast<int64_t>(item.text.size()));
    values[i] = item.text;
  }
  return absl::OkStatus();
}

absl::Status FillItems(const std::vector<Item>& items, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return Fill<float>(items, tensor);
    case DType::kDouble:
      return Fill<double>(items, tensor);
    case DType::kHalf:
      return Fill<Half>(items, tensor);
    case DType::kBfloat16:
      return Fill<BFloat16>(items, tensor);
    case DType::kInt8:
      return Fill<int8_t>(items, tensor);
    case DType::kInt16:
      return Fill<int16_t>(items, tensor);
    case DType::kInt32:
      return Fill<int32_t>(items, tensor);
    case DType::kInt64:
      return Fill<int64_t>(items, tensor);
    case DType::kUint8:
      return Fill<uint8_t>(items, tensor);
    case DType::kUint16:
      return Fill<uint16_t>(items, tensor);
    case DType::kUint32:
      return Fill<uint32_t>(items, tensor);
    case DType::kUint64:
      return Fill<uint64_t>(items, tensor);
    case DType::kBool:
      return Fill<bool>(items, tensor);
    case DType::kComplex64:
      return Fill<complex64>(items, tensor);
    case DType::kComplex128:
      return Fill<complex128>(items, tensor);
    case DType::kString:
      return Fill<std::string>(items, tensor);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("values of type ", DTypeName(tensor.dtype()), " cannot be typed in"));
  }
}

// The type of items whose type nobody said.
DType GuessDType(const std::vector<Item>& items) {
  const auto all = [&](auto fits) {
    return !items.empty() && std::all_of(items.begin(), items.end(), fits);
  };
  if (all([](const Item& item) { return item.quoted; })) return DType::kString;
  if (all([](const Item& item) {
        bool value;
        return item.text != "0" && item.text != "1" && Convert(item.text, value);
      })) {
    return DType::kBool;
  }
  const auto converts = [](auto value) {
    return [value](const Item& item) mutable { return Convert(item.text, value); };
  };
  if (all(converts(int32_t{}))) return DType::kInt32;
  if (all(converts(int64_t{}))) return DType::kInt64;
  if (items.empty() || all(converts(float{}))) return DType::kFloat;
  return all(converts(complex64{})) ? DType::kComplex64 : DType::kFloat;
}

// The dimensions that a literal takes where `shape` is wanted.
absl::StatusOr<Shape> FitShape(const Literal& literal, const PartialShape& shape) {
  GYRE_ASSIGN_OR_RETURN(Shape own, Shape::Make(literal.dims));
  if (shape.Allows(own)) return own;
  if (const std::optional<Shape> wanted = shape.ToShape()) {
    const bool is_folded = own.rank() == 1 && own.num_elements() == wanted->num_elements();
    if (own.IsScalar() || is_folded) return *wanted;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("shape ", shape.ToString(), " is wanted, the value has ", own.ToString()));
}

// Takes ":float32" off the end of `text`; kInvalid when there is none.
DType TakeSuffix(absl::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return DType::kInvalid;
  const std::optional<DType> dtype = ParseDType(absl::StripAsciiWhitespace(text.substr(colon + 1)));
  if (!dtype) return DType::kInvalid;
  text = text.substr(0, colon);
  return *dtype;
}

}  // namespace

absl::StatusOr<Tensor> ParseLiteral(absl::string_view text, DType dtype,
                                    const PartialShape& shape) {
  text = absl::StripAsciiWhitespace(text);
  Literal literal;
  const bool is_bare = !absl::StartsWith(text, "[") && !absl::StartsWith(text, "\"");
  if (dtype == DType::kString && is_bare) {
    literal.items.push_back({std::string(text), true});
  } else {
    const DType suffix = TakeSuffix(text);
    if (suffix != DType::kInvalid && dtype != DType::kInvalid && suffix != dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat(DTypeName(dtype), " is wanted, the value says ", DTypeName(suffix)));
    }
    GYRE_ASSIGN_OR_RETURN(literal, LiteralParser(text).Parse());
    if (suffix != DType::kInvalid) dtype = suffix;
    if (dtype == DType::kInvalid) dtype = GuessDType(literal.items);
  }
  GYRE_ASSIGN_OR_RETURN(const Shape fitted, FitShape(literal, shape));
  // One number may be asked to fill any shape.
  return RunStage("reading what is fed to", [&]() -> absl::StatusOr<Tensor> {
    const size_t element = IsTrivial(dtype) ? DTypeSize(dtype) : sizeof(std::string);
    const double bytes = static_cast<double>(fitted.num_elements()) * static_cast<double>(element);
    SpendWorkMemory(static_cast<int64_t>(std::min(bytes, 1e18)));
    GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, fitted));
    GYRE_RETURN_IF_ERROR(FillItems(literal.items, tensor));
    return tensor;
  });
}

}  // namespace gyre::cli
