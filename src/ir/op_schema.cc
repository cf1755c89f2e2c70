// ParseOpSchema and FormatOpSchema: the one-line schema language of op registrations.
#include <algorithm>
#include <cctype>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "ir/attr_kind.h"
#include "ir/op_def.h"

namespace gyre {
namespace {

const std::map<std::string, std::vector<DType>>& NamedTypeSets() {
  using D = DType;
  static const auto* const sets = new std::map<std::string, std::vector<DType>>{
      {"numbertype",
       {D::kFloat, D::kDouble, D::kInt32, D::kUint8, D::kInt16, D::kInt8, D::kComplex64, D::kInt64,
        D::kQint8, D::kQuint8, D::kQint32, D::kBfloat16, D::kQint16, D::kQuint16, D::kUint16,
        D::kComplex128, D::kHalf, D::kUint32, D::kUint64}},
      {"realnumbertype",
       {D::kFloat, D::kDouble, D::kInt32, D::kUint8, D::kInt16, D::kInt8, D::kInt64, D::kBfloat16,
        D::kUint16, D::kHalf, D::kUint32, D::kUint64}},
      {"floattype", {D::kBfloat16, D::kHalf, D::kFloat, D::kDouble}},
      {"complextype", {D::kComplex64, D::kComplex128}},
      {"inttype",
       {D::kInt8, D::kInt16, D::kInt32, D::kInt64, D::kUint8, D::kUint16, D::kUint32, D::kUint64}},
      {"quantizedtype", {D::kQint8, D::kQuint8, D::kQint16, D::kQuint16, D::kQint32}},
      {"indextype", {D::kInt32, D::kInt64}},
  };
  return *sets;
}

std::optional<AttrKind> ParseKind(absl::string_view word) {
  for (const AttrKind kind :
       {AttrKind::kString, AttrKind::kInt, AttrKind::kFloat, AttrKind::kBool, AttrKind::kType,
        AttrKind::kShape, AttrKind::kTensor, AttrKind::kFunc}) {
    if (word == AttrKindName(kind)) return kind;
  }
  return std::nullopt;
}

// Recursive descent over one line; the first mistake is kept in `error`.
class SchemaParser {
 public:
  explicit SchemaParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<OpDef> Parse() {
    OpDef op;
    op.name = std::string(Word());
    Args(op.inputs);
    Expect("->");
    if (!Done() && Peek() != '{') ArgList(op.outputs, '{');
    if (Accept("{")) {
      while (ok() && !Accept("}")) {
        op.attrs.push_back(Attr());
        if (!Accept(";") && Peek() != '}') Fail("';' or '}'");
      }
    }
    if (ok() && !Done()) Fail("the end");
    for (ArgDef* arg : AllArgs(op)) ResolveArg(op, *arg);
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    return op;
  }

 private:
  static std::vector<ArgDef*> AllArgs(OpDef& op) {
    std::vector<ArgDef*> all;
    for (ArgDef& arg : op.inputs) all.push_back(&arg);
    for (ArgDef& arg : op.outputs) all.push_back(&arg);
    return all;
  }

  bool ok() const { return error_.empty(); }
  void Fail(absl::string_view expected) {
    if (!ok()) return;
    error_ = absl::StrCat("op schema, column ", pos_ + 1, ": expected ", expected);
    pos_ = text_.size();
  }
  void Skip() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  bool Done() {
    Skip();
    return pos_ >= text_.size();
  }
  char Peek() {
    Skip();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  bool Accept(absl::string_view token) {
    Skip();
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  void Expect(absl::string_view token) {
    if (!Accept(token)) Fail(absl::StrCat("'", token, "'"));
  }
  absl::string_view Word() {
    Skip();
    const size_t begin = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) {
      ++pos_;
    }
    if (begin == pos_) Fail("a name");
    return text_.substr(begin, pos_ - begin);
  }
  std::string Quoted() {
    Expect("'");
    const size_t end = text_.find('\'', pos_);
    if (end == absl::string_view::npos) {
      Fail("a closing quote");
      return "";
    }
    std::string s(text_.substr(pos_, end - pos_));
    pos_ = end + 1;
    return s;
  }

  void Args(std::vector<ArgDef>& args) {
    Expect("(");
    if (Accept(")")) return;
    ArgList(args, ')');
    Expect(")");
  }
  void ArgList(std::vector<ArgDef>& args, char end) {
    do {
      ArgDef arg;
      arg.name = std::string(Word());
      Expect(":");
      const size_t begin = (Skip(), pos_);
      if (Accept("Ref(")) {
        arg.is_ref = true;
        ArgType(arg);
        Expect(")");
      } else {
        pos_ = begin;
        ArgType(arg);
      }
      args.push_back(std::move(arg));
    } while (ok() && Accept(","));
    if (ok() && !Done() && Peek() != end) Fail("','");
  }
  void ArgType(ArgDef& arg) {
    arg.type_attr = std::string(Word());
    if (Accept("*")) {
      arg.number_attr = arg.type_attr;
      arg.type_attr = std::string(Word());
    }
  }
  // A word is a dtype unless an attribute of that name exists; an attribute of kind list(type)
  // makes the arg a list.
  void ResolveArg(const OpDef& op, ArgDef& arg) {
    if (!ok()) return;
    if (const AttrDef* attr = op.FindAttr(arg.type_attr); attr != nullptr) {
      if (attr->kind != AttrKind::kType)
        error_ = absl::StrCat("argument ", arg.name, ": ", attr->name, " is no type");
      if (attr->is_list) std::swap(arg.type_attr, arg.type_list_attr);
      return;
    }
    const std::optional<DType> dtype = ParseDType(arg.type_attr);
    if (!dtype) {
      error_ = absl::StrCat("argument ", arg.name, ": ", arg.type_attr,
                            " is neither a type nor an attribute");
      return;
    }
    arg.dtype = *dtype;
    arg.type_attr.clear();
  }

  AttrDef Attr() {
    AttrDef attr;
    attr.name = std::string(Word());
    Expect(":");
    if (Accept("list(")) {
      attr.is_list = true;
      AttrType(attr);
      Expect(")");
    } else {
      AttrType(attr);
    }
    if (Accept(">=")) {
      int64_t minimum = 0;
      if (!absl::SimpleAtoi(Number(), &minimum)) Fail("an integer");
      attr.minimum = minimum;
    }
    if (Accept("=")) attr.default_value = Default(attr);
    return attr;
  }
  void AttrType(AttrDef& attr) {
    if (Accept("{")) {
      attr.kind = Peek() == '\'' ? AttrKind::kString : AttrKind::kType;
      do {
        if (attr.kind == AttrKind::kString) {
          attr.allowed_strings.push_back(Quoted());
        } else {
          AddTypes(Word(), attr.allowed_types);
        }
      } while (ok() && Accept(","));
      Expect("}");
      return;
    }
    const absl::string_view word = Word();
    if (const std::optional<AttrKind> kind = ParseKind(word)) {
      attr.kind = *kind;
    } else {
      attr.kind = AttrKind::kType;
      AddTypes(word, attr.allowed_types);
    }
  }
  void AddTypes(absl::string_view word, std::vector<DType>& types) {
    if (const auto set = NamedTypeSets().find(std::string(word)); set != NamedTypeSets().end()) {
      types.insert(types.end(), set->second.begin(), set->second.end());
    } else if (const std::optional<DType> dtype = ParseDType(word)) {
      types.push_back(*dtype);
    } else {
      Fail(absl::StrCat("a type instead of '", word, "'"));
    }
  }
  absl::string_view Number() {
    Skip();
    const size_t begin = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '.' ||
            text_[pos_] == '-' || text_[pos_] == '+')) {
      ++pos_;
    }
    return text_.substr(begin, pos_ - begin);
  }
  AttrValue Default(const AttrDef& attr) {
    if (attr.is_list) return DefaultList(attr);
    switch (attr.kind) {
      case AttrKind::kString:
        return Quoted();
      case AttrKind::kInt: {
        int64_t value = 0;
        if (!absl::SimpleAtoi(Number(), &value)) Fail("an integer");
        return value;
      }
      case AttrKind::kFloat: {
        float value = 0;
        if (!absl::SimpleAtof(Number(), &value)) Fail("a number");
        return value;
      }
      case AttrKind::kBool:
        if (Accept("true")) return true;
        Expect("false");
        return false;
      case AttrKind::kType: {
        const std::optional<DType> dtype = ParseDType(Word());
        if (!dtype) Fail("a type");
        return dtype.value_or(DType::kInvalid);
      }
      case AttrKind::kShape:
        if (Accept("[]")) return PartialShape::Scalar();
        Expect("?");
        return PartialShape::Unknown();
      default:
        Fail("no default for this kind");
        return std::monostate();
    }
  }
  AttrValue DefaultList(const AttrDef& attr) {
    Expect("[");
    std::vector<int64_t> ints;
    std::vector<float> floats;
    while (ok() && !Accept("]")) {
      if (attr.kind == AttrKind::kFloat) {
        floats.push_back(0);
        if (!absl::SimpleAtof(Number(), &floats.back())) Fail("a number or ']'");
        Accept(",");
        continue;
      }
      int64_t value = 0;
      if (!absl::SimpleAtoi(Number(), &value)) Fail("an integer or ']'");
      ints.push_back(value);
      Accept(",");
    }
    if (!ints.empty() && attr.kind != AttrKind::kInt) Fail("a list of integers");
    switch (attr.kind) {
      case AttrKind::kInt:
        return ints;
      case AttrKind::kString:
        return std::vector<std::string>();
      case AttrKind::kFloat:
        return floats;
      case AttrKind::kBool:
        return std::vector<bool>();
      case AttrKind::kType:
        return std::vector<DType>();
      case AttrKind::kShape:
        return std::vector<PartialShape>();
      case AttrKind::kTensor:
        return std::vector<Tensor>();
      case AttrKind::kFunc:
        return std::vector<FunctionRef>();
    }
    return std::monostate();
  }

  absl::string_view text_;
  size_t pos_ = 0;
  std::string error_;
};

std::string FormatArg(const ArgDef& arg) {
  std::string type = !arg.type_list_attr.empty() ? arg.type_list_attr
                     : !arg.type_attr.empty()    ? arg.type_attr
                                                 : std::string(DTypeName(arg.dtype));
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, " * ", type);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  return absl::StrCat(arg.name, ": ", type);
}

std::string FormatAttr(const AttrDef& attr) {
  std::string kind(AttrKindName(attr.kind));
  if (!attr.allowed_types.empty()) {
    kind = absl::StrCat(
        "{",
        absl::StrJoin(attr.allowed_types, ", ",
                      [](std::string* out, DType d) { out->append(std::string(DTypeName(d))); }),
        "}");
    for (const auto& [name, types] : NamedTypeSets()) {
      if (types == attr.allowed_types) kind = name;
    }
  } else if (!attr.allowed_strings.empty()) {
    kind = absl::StrCat("{'", absl::StrJoin(attr.allowed_strings, "', '"), "'}");
  }
  if (attr.is_list) kind = absl::StrCat("list(", kind, ")");
  if (attr.minimum) absl::StrAppend(&kind, " >= ", *attr.minimum);
  if (attr.default_value) {
    const std::string* text = std::get_if<std::string>(&*attr.default_value);
    absl::StrAppend(
        &kind, " = ",
        text != nullptr ? absl::StrCat("'", *text, "'") : AttrToString(*attr.default_value));
  }
  return absl::StrCat(attr.name, ": ", kind);
}

template <typename T, typename F>
std::string JoinMapped(const std::vector<T>& items, absl::string_view separator, F format) {
  return absl::StrJoin(items, separator,
                       [&](std::string* out, const T& item) { out->append(format(item)); });
}

}  // namespace

absl::string_view AttrKindName(AttrKind kind) {
  static constexpr absl::string_view kNames[] = {"string", "int",   "float",  "bool",
                                                 "type",   "shape", "tensor", "func"};
  return kNames[static_cast<int>(kind)];
}

absl::StatusOr<OpDef> ParseOpSchema(absl::string_view schema) {
  return SchemaParser(schema).Parse();
}

std::string FormatOpSchema(const OpDef& op) {
  std::string text = absl::StrCat(op.name, "(", JoinMapped(op.inputs, ", ", FormatArg), ") ->");
  if (!op.outputs.empty()) absl::StrAppend(&text, " ", JoinMapped(op.outputs, ", ", FormatArg));
  if (!op.attrs.empty()) absl::StrAppend(&text, " {", JoinMapped(op.attrs, "; ", FormatAttr), "}");
  return text;
}

}  // namespace gyre
