#include "ir/text/literal.h"

#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace gyre {
namespace {

// A function's attributes may hold functions, and so on.
constexpr int kMaxNesting = 64;

constexpr absl::string_view kKindNames[] = {"string", "int",   "float",  "bool",
                                            "type",   "shape", "tensor", "func"};

// A float attribute must not look like an integer.
std::string WriteFloatAttr(float value) {
  std::string text = WriteFloat(value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

struct AttrWriter {
  const LiteralOptions& options;

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const std::string& text) const {
    const size_t limit =
        options.max_elements < 0 ? text.size() : static_cast<size_t>(options.max_elements) * 8;
    if (text.size() <= limit) return WriteQuoted(text);
    return absl::StrCat(WriteQuoted(absl::string_view(text).substr(0, limit)), "<",
                        text.size() - limit, " more>");
  }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(float value) const { return WriteFloatAttr(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(DType dtype) const { return std::string(DTypeName(dtype)); }
  std::string operator()(const PartialShape& shape) const {
    return shape.has_rank() ? absl::StrCat("(", WriteDims(shape), ")") : "?";
  }
  std::string operator()(const Tensor& tensor) const { return WriteTensor(tensor, options); }
  std::string operator()(const FunctionRef& ref) const {
    std::string out = absl::StrCat("@", WriteName(ref.name));
    if (ref.attrs != nullptr && !ref.attrs->empty())
      absl::StrAppend(&out, "{", WriteAttrs(*ref.attrs, options), "}");
    return out;
  }
  std::string operator()(const AttrPlaceholder& placeholder) const {
    return absl::StrCat("$", WriteName(placeholder.name));
  }
  std::string operator()(EmptyList) const { return "[]"; }
  template <typename T>
  std::string operator()(const std::vector<T>& list) const {
    if (list.empty()) return absl::StrCat("[:", kKindNames[KindOf<T>()], "]");
    std::vector<std::string> parts;
    parts.reserve(list.size());
    for (const auto& element : list) parts.push_back((*this)(static_cast<const T&>(element)));
    return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
  }

  // Index into kKindNames.
  template <typename T>
  static constexpr int KindOf() {
    if constexpr (std::is_same_v<T, std::string>) return 0;
    if constexpr (std::is_same_v<T, int64_t>) return 1;
    if constexpr (std::is_same_v<T, float>) return 2;
    if constexpr (std::is_same_v<T, bool>) return 3;
    if constexpr (std::is_same_v<T, DType>) return 4;
    if constexpr (std::is_same_v<T, PartialShape>) return 5;
    if constexpr (std::is_same_v<T, Tensor>) return 6;
    return 7;
  }
};

absl::StatusOr<AttrValue> ReadValue(TextReader& reader, int depth);

absl::StatusOr<AttrMap> ReadMap(TextReader& reader, int depth) {
  AttrTexts attrs;
  while (!reader.Accept("}")) {
    if (!attrs.empty()) GYRE_RETURN_IF_ERROR(reader.Expect(","));
    const size_t mark = reader.Mark();
    GYRE_ASSIGN_OR_RETURN(std::string name, reader.Name("the name of an attribute"));
    GYRE_RETURN_IF_ERROR(reader.Expect("="));
    GYRE_RETURN_IF_ERROR(attrs.ReadValueOf(std::move(name), mark, reader, depth));
  }
  return attrs.Take();
}

absl::StatusOr<AttrValue> EmptyListOfKind(TextReader& reader) {
  const size_t mark = reader.Mark();
  const absl::string_view kind = reader.Word();
  GYRE_RETURN_IF_ERROR(reader.Expect("]"));
  if (kind == kKindNames[0]) return AttrValue(std::vector<std::string>());
  if (kind == kKindNames[1]) return AttrValue(std::vector<int64_t>());
  if (kind == kKindNames[2]) return AttrValue(std::vector<float>());
  if (kind == kKindNames[3]) return AttrValue(std::vector<bool>());
  if (kind == kKindNames[4]) return AttrValue(std::vector<DType>());
  if (kind == kKindNames[5]) return AttrValue(std::vector<PartialShape>());
  if (kind == kKindNames[6]) return AttrValue(std::vector<Tensor>());
  if (kind == kKindNames[7]) return AttrValue(std::vector<FunctionRef>());
  return reader.ErrorAt(mark, absl::StrCat("there is no kind of attribute called '", kind, "'"));
}

// The elements of a list of at least one, all of the type that the first has.
template <typename T>
absl::StatusOr<AttrValue> ListOf(TextReader& reader, size_t mark, std::vector<AttrValue> values) {
  std::vector<T> list;
  list.reserve(values.size());
  for (AttrValue& value : values) {
    T* element = std::get_if<T>(&value);
    if (element == nullptr)
      return reader.ErrorAt(mark, "the elements of a list must be of one kind");
    list.push_back(std::move(*element));
  }
  return AttrValue(std::move(list));
}

absl::StatusOr<AttrValue> ReadList(TextReader& reader, int depth) {
  const size_t mark = reader.Mark();
  if (reader.Accept("]")) return AttrValue(EmptyList());
  if (reader.Accept(":")) return EmptyListOfKind(reader);
  std::vector<AttrValue> values;
  do {
    GYRE_ASSIGN_OR_RETURN(AttrValue value, ReadValue(reader, depth));
    values.push_back(std::move(value));
  } while (reader.Accept(","));
  GYRE_RETURN_IF_ERROR(reader.Expect("]"));
  return std::visit(
      [&]<typename T>(const T&) -> absl::StatusOr<AttrValue> {
        if constexpr (requires { AttrValue(std::vector<T>()); }) {
          return ListOf<T>(reader, mark, std::move(values));
        } else {
          return reader.ErrorAt(mark, "there are no lists of such values");
        }
      },
      AttrValue(values.front()));
}

absl::StatusOr<AttrValue> ReadFunctionRef(TextReader& reader, int depth) {
  FunctionRef ref;
  GYRE_ASSIGN_OR_RETURN(ref.name, reader.Name("the name of a function"));
  if (reader.Accept("{")) {
    GYRE_ASSIGN_OR_RETURN(AttrMap attrs, ReadMap(reader, depth));
    ref.attrs = std::make_shared<const AttrMap>(std::move(attrs));
  }
  return AttrValue(std::move(ref));
}

// What starts with a letter, a digit or a sign.
absl::StatusOr<AttrValue> ReadWordValue(TextReader& reader) {
  static constexpr absl::string_view kWhat = "a value";
  const size_t mark = reader.Mark();
  const std::string word = ReadNumberWord(reader);
  if (word == "true") return AttrValue(true);
  if (word == "false") return AttrValue(false);
  if (word == "none") return AttrValue();
  if (word == "invalid") return AttrValue(DType::kInvalid);
  if (word == "tensor") {
    GYRE_RETURN_IF_ERROR(reader.Expect("{"));
    GYRE_RETURN_IF_ERROR(reader.Expect("}"));
    return AttrValue(Tensor());
  }
  if (const auto dtype = ParseDType(word)) {
    if (reader.Peek() != '[' && reader.Peek() != '{') return AttrValue(*dtype);
    GYRE_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(reader, *dtype));
    return AttrValue(std::move(tensor));
  }
  if (word.empty()) return reader.Expected(kWhat);
  const bool is_float = word.find_first_of(".enif") != std::string::npos;
  reader.Seek(mark);
  if (is_float) {
    GYRE_ASSIGN_OR_RETURN(const float value, ReadFloat(reader));
    return AttrValue(value);
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t value, ReadInt(reader));
  return AttrValue(value);
}

absl::StatusOr<AttrValue> ReadValue(TextReader& reader, int depth) {
  const size_t mark = reader.Mark();
  if (depth > kMaxNesting) return reader.ErrorAt(mark, "attributes are nested too deeply");
  switch (reader.Peek()) {
    case '"': {
      GYRE_ASSIGN_OR_RETURN(std::string text, reader.Quoted("a text in quotes"));
      if (reader.Peek() == '<') {
        return reader.ErrorAt(
            mark, "this text was cut short when it was written: it cannot be read back");
      }
      return AttrValue(std::move(text));
    }
    case '?':
      reader.Accept("?");
      return AttrValue(PartialShape::Unknown());
    case '(': {
      reader.Accept("(");
      GYRE_ASSIGN_OR_RETURN(PartialShape shape, ReadDims(reader, ")"));
      return AttrValue(std::move(shape));
    }
    case '[':
      reader.Accept("[");
      return ReadList(reader, depth + 1);
    case '@':
      reader.Accept("@");
      return ReadFunctionRef(reader, depth + 1);
    case '$': {
      reader.Accept("$");
      GYRE_ASSIGN_OR_RETURN(std::string name, reader.Name("the name of an attribute"));
      return AttrValue(AttrPlaceholder{std::move(name)});
    }
    default:
      return ReadWordValue(reader);
  }
}

}  // namespace

std::string WriteAttrValue(const AttrValue& value, const LiteralOptions& options) {
  return std::visit(AttrWriter{options}, value);
}

absl::StatusOr<AttrValue> ReadAttrValue(TextReader& reader) { return ReadValue(reader, 0); }

std::string WriteAttrs(const AttrMap& attrs, const LiteralOptions& options) {
  return absl::StrJoin(attrs, ", ", [&](std::string* out, const AttrMap::Entry& entry) {
    absl::StrAppend(out, WriteName(entry.first), "=", WriteAttrValue(entry.second, options));
  });
}

absl::Status AttrTexts::ReadValueOf(std::string name, size_t mark, TextReader& reader, int depth) {
  if (!names_.insert(name).second)
    return reader.ErrorAt(mark, absl::StrCat("attribute ", name, " is given twice"));
  GYRE_ASSIGN_OR_RETURN(AttrValue value, ReadValue(reader, depth));
  entries_.emplace_back(std::move(name), std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<AttrMap> ReadAttrsInBraces(TextReader& reader) { return ReadMap(reader, 0); }

std::string WriteDType(DType dtype) {
  return dtype == DType::kInvalid ? "?" : std::string(DTypeName(dtype));
}

}  // namespace gyre
