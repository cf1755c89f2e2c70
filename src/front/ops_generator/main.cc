// Writes gyre/ops.h, gyre/functions.h and their implementation: a C++ function for each op of the
// registry, one for each that says its public name, and one for each of ops/functions. Run by the
// build.
//
//   gyre_ops_generator ops.h functions.h ops.cc
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ops/functions/registry.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr size_t kColumns = 100;

constexpr char kHeaderTop[] =
    R"(// Functions of ops, generated from the registry. In gyre::op one for each op: attributes that have
// defaults are members of an options struct, those that the operands tell are left out. Below, in
// gyre, those of them that have a public name: attributes have their defaults. What goes wrong is
// thrown as an Error. Thread rules are those of the graph.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/value.h"

namespace gyre::op {
)";
constexpr char kFunctionsTop[] =
    R"(// Functions that are several ops, or an op with parameters of their own, generated from the
// registry of functions. Python has them, too. What goes wrong is thrown as an Error. Thread rules
// are those of the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/math.h"
#include "gyre/value.h"

namespace gyre {
)";
constexpr char kSourceTop[] = R"(#include "gyre/ops.h"

#include "front/functions/function_call.h"
#include "front/op_call.h"
#include "gyre/functions.h"

namespace gyre::op {

using internal::OpCall;
)";
constexpr char kPublic[] = R"(
}  // namespace gyre::op

namespace gyre {
)";
constexpr char kFunctions[] = R"(
using internal::FunctionCall;
)";
constexpr char kBottom[] = "\n}  // namespace gyre\n";

bool HasFunctionAttr(const OpDef& op) {
  for (const AttrDef& attr : op.attrs) {
    if (attr.kind == AttrKind::kFunc) return true;
  }
  return false;
}

bool HasReference(const OpDef& op) {
  for (const auto* args : {&op.inputs, &op.outputs}) {
    for (const ArgDef& arg : *args) {
      if (arg.is_ref) return true;
    }
  }
  return false;
}

// Control flow, constants and placeholders have an API of their own; references are for imported
// graphs.
bool IsWanted(const OpDef& op) {
  return IsPlain(op.kind) && op.kind != OpKind::kConst && !absl::StartsWith(op.name, "_") &&
         !HasFunctionAttr(op) && !HasReference(op);
}

// An identifier that is no word of the language and no parameter that functions have anyway.
std::string Identifier(const std::string& name) {
  static const std::set<std::string>* const taken = new std::set<std::string>{
      "bool",  "case",   "char",   "default", "delete", "double", "else",     "end",
      "enum",  "float",  "if",     "int",     "long",   "new",    "op",       "or",
      "short", "signed", "static", "switch",  "this",   "throw",  "template", "union",
      "using", "void",   "while",  "where",   "options"};
  return taken->contains(name) ? name + "_" : name;
}

// The inputs determine it.
bool IsDeduced(const OpDef& op, const AttrDef& attr) {
  for (const ArgDef& input : op.inputs) {
    if (input.type_attr == attr.name || input.number_attr == attr.name ||
        input.type_list_attr == attr.name) {
      return true;
    }
  }
  return false;
}

bool IsList(const ArgDef& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

std::string ElementType(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt:
      return "int64_t";
    case AttrKind::kFloat:
      return "float";
    case AttrKind::kBool:
      return "bool";
    case AttrKind::kType:
      return "DType";
    case AttrKind::kShape:
      return "PartialShape";
    case AttrKind::kTensor:
      return "Tensor";
    default:
      return "std::string";
  }
}

std::string CppType(const AttrDef& attr) {
  const std::string element = ElementType(attr.kind);
  return attr.is_list ? absl::StrCat("std::vector<", element, ">") : element;
}

std::string ParameterType(const AttrDef& attr) {
  const bool is_small =
      !attr.is_list && (attr.kind == AttrKind::kInt || attr.kind == AttrKind::kFloat ||
                        attr.kind == AttrKind::kBool || attr.kind == AttrKind::kType);
  return is_small ? CppType(attr) : absl::StrCat("const ", CppType(attr), "&");
}

std::string CppDType(DType dtype) {
  std::string name(DTypeName(dtype));
  static const auto* const renamed = new std::map<std::string, std::string>{
      {"float32", "float"}, {"float64", "double"}, {"float16", "half"}};
  if (const auto it = renamed->find(name); it != renamed->end()) name = it->second;
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return absl::StrCat("DType::k", name);
}

// A default value as a C++ initialiser, with its `=`.
std::string Initializer(const AttrValue& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return absl::StrCat(" = \"", absl::CEscape(*text), "\"");
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(" = ", *number);
  if (const auto* number = std::get_if<float>(&value))
    return absl::StrCat(" = static_cast<float>(", *number, ")");
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? " = true" : " = false";
  if (const auto* dtype = std::get_if<DType>(&value)) return absl::StrCat(" = ", CppDType(*dtype));
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value))
    return absl::StrCat(" = {", absl::StrJoin(*numbers, ", "), "}");
  return "";  // empty lists, shapes of unknown rank: what the type starts with
}

// A comment of as many lines as it takes; lines of the text begin lines.
std::string Wrapped(const std::string& text) {
  std::string result;
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    std::string line = "//";
    for (const absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (line.size() + 1 + word.size() > kColumns) {
        absl::StrAppend(&result, line, "\n");
        line = "//";
      }
      absl::StrAppend(&line, " ", word);
    }
    absl::StrAppend(&result, line, "\n");
  }
  return result;
}

// One op in the words of C++.
class Binding {
 public:
  explicit Binding(const OpDef& op) : op_(op) {
    for (const AttrDef& attr : op.attrs) {
      if (!IsDeduced(op, attr)) (attr.default_value ? options_ : required_).push_back(&attr);
    }
  }

  std::string Declaration() const {
    return absl::StrCat("\n", OptionsStruct(), ResultStruct(), Comment(), "GYRE_EXPORT ",
                        ResultType(), " ", op_.name, "(", Parameters(/*with_defaults=*/true),
                        ");\n");
  }

  std::string Definition() const {
    return absl::StrCat("\n", ResultType(), " ", op_.name, "(", Parameters(false), ") {\n", Body(),
                        "}\n");
  }

  std::string PublicDeclaration() const {
    return absl::StrCat("\n", Wrapped(op_.doc), "GYRE_EXPORT ", PublicHead(), ";\n");
  }

  std::string PublicDefinition() const {
    std::vector<std::string> names;
    for (const ArgDef& input : op_.inputs) names.push_back(Identifier(input.name));
    return absl::StrCat("\n", PublicHead(), " {\n  return op::", op_.name, "(",
                        absl::StrJoin(names, ", "), ");\n}\n");
  }

 private:
  // Of the function that takes the inputs, under the last part of the op's first public name.
  std::string PublicHead() const {
    const absl::string_view full = Ops().PublicNames(op_.name)[0];
    return absl::StrCat(ResultType(), " ", full.substr(full.rfind('.') + 1), "(",
                        absl::StrJoin(Inputs(), ", "), ")");
  }

  std::vector<std::string> Inputs() const {
    std::vector<std::string> parameters;
    for (const ArgDef& input : op_.inputs) {
      parameters.push_back(absl::StrCat("const ", IsList(input) ? "OperandList" : "Operand", "& ",
                                        Identifier(input.name)));
    }
    return parameters;
  }

  std::string OptionsStruct() const {
    if (options_.empty()) return "";
    std::string text = absl::StrCat("struct ", op_.name, "Options {\n");
    for (const AttrDef* attr : options_) {
      absl::StrAppend(&text, "  ", CppType(*attr), " ", Identifier(attr->name),
                      Initializer(*attr->default_value), ";");
      if (!attr->allowed_strings.empty())
        absl::StrAppend(&text, "  // ", absl::StrJoin(attr->allowed_strings, ", "));
      absl::StrAppend(&text, "\n");
    }
    return text + "};\n";
  }

  std::string ResultStruct() const {
    if (op_.outputs.size() < 2) return "";
    std::string text = absl::StrCat("struct ", op_.name, "Result {\n");
    for (const ArgDef& output : op_.outputs) {
      absl::StrAppend(&text, "  ", IsList(output) ? "std::vector<Value>" : "Value", " ",
                      Identifier(output.name), ";\n");
    }
    return text + "};\n";
  }

  std::string ResultType() const {
    if (op_.outputs.empty()) return "Operation";
    if (op_.outputs.size() > 1) return absl::StrCat(op_.name, "Result");
    return IsList(op_.outputs[0]) ? "std::vector<Value>" : "Value";
  }

  std::string Comment() const {
    return Wrapped(op_.doc) + Wrapped(absl::StrReplaceAll(FormatOpSchema(op_), {{"\n", "\\n"}}));
  }

  std::string Parameters(bool with_defaults) const {
    std::vector<std::string> parameters = Inputs();
    for (const AttrDef* attr : required_)
      parameters.push_back(absl::StrCat(ParameterType(*attr), " ", Identifier(attr->name)));
    if (!options_.empty()) {
      parameters.push_back(
          absl::StrCat("const ", op_.name, "Options& options", with_defaults ? " = {}" : ""));
    }
    if (op_.inputs.empty()) {
      parameters.push_back(absl::StrCat("std::source_location where",
                                        with_defaults ? " = std::source_location::current()" : ""));
    }
    const std::string on_one_line = absl::StrJoin(parameters, ", ");
    const size_t length = ResultType().size() + op_.name.size() + on_one_line.size();
    return length + 5 <= kColumns ? on_one_line : "\n    " + absl::StrJoin(parameters, ",\n    ");
  }

  std::string Body() const {
    const std::string where =
        op_.inputs.empty() ? "where" : absl::StrCat(Identifier(op_.inputs[0].name), ".where()");
    std::string text = absl::StrCat("  OpCall call(\"", op_.name, "\", ", where, ");\n");
    for (const ArgDef& input : op_.inputs)
      absl::StrAppend(&text, "  call.In(", Identifier(input.name), ");\n");
    for (const AttrDef* attr : required_) AppendAttr(text, *attr, "");
    for (const AttrDef* attr : options_) AppendAttr(text, *attr, "options.");
    if (op_.outputs.empty()) return text + "  return call.Add();\n";
    if (op_.outputs.size() == 1)
      return text + (IsList(op_.outputs[0]) ? "  return call.All();\n" : "  return call.One();\n");
    std::vector<std::string> members;
    for (size_t i = 0; i < op_.outputs.size(); ++i) {
      members.push_back(
          absl::StrCat("OpCall::Outputs(node, ", i, ")", IsList(op_.outputs[i]) ? "" : "[0]"));
    }
    return absl::StrCat(text, "  const Operation node = call.Add();\n  return {",
                        absl::StrJoin(members, ", "), "};\n");
  }

  static void AppendAttr(std::string& text, const AttrDef& attr, absl::string_view owner) {
    absl::StrAppend(&text, "  call.Attr(\"", attr.name, "\", ", owner, Identifier(attr.name),
                    ");\n");
  }

  const OpDef& op_;
  std::vector<const AttrDef*> required_, options_;
};

// One public function in the words of C++.
class FunctionBinding {
 public:
  explicit FunctionBinding(const PublicFunction& function) : function_(function) {}

  std::string Declaration() const {
    return absl::StrCat("\n", ResultStruct(), Wrapped(function_.doc), "GYRE_EXPORT ", Head(true),
                        ";\n");
  }

  std::string Definition() const {
    std::vector<std::string> names;
    for (const Parameter& parameter : function_.parameters) names.push_back(Name(parameter));
    const std::string head = absl::StrCat("\n", Head(false), " {\n");
    const std::string call = absl::StrCat("FunctionCall(\"", function_.name(), "\", ", names[0],
                                          ".where()).In(", absl::StrJoin(names, ").In("), ")");
    if (function_.results.empty()) return absl::StrCat(head, "  return ", call, ".One();\n}\n");
    std::vector<std::string> results;
    for (size_t i = 0; i < function_.results.size(); ++i)
      results.push_back(absl::StrCat("results[", i, "]"));
    return absl::StrCat(head, "  const std::vector<Value> results = ", call, ".All();\n  return {",
                        absl::StrJoin(results, ", "), "};\n}\n");
  }

 private:
  static std::string Name(const Parameter& parameter) { return Identifier(parameter.name); }

  static std::string Type(const Parameter& parameter) {
    const bool may_be_none = parameter.default_value && parameter.default_value->index() == 0;
    switch (parameter.kind) {
      case Parameter::Kind::kTensor:
      case Parameter::Kind::kShape:
        return parameter.is_optional ? "const std::optional<Operand>&" : "const Operand&";
      case Parameter::Kind::kAxes:
        return "const Axes&";
      case Parameter::Kind::kBool:
        return "bool";
      case Parameter::Kind::kInt:
        return may_be_none ? "std::optional<int64_t>" : "int64_t";
      case Parameter::Kind::kInts:
        return "const std::vector<int64_t>&";
      case Parameter::Kind::kFloat:
        return "double";
      case Parameter::Kind::kType:
        return may_be_none ? "std::optional<DType>" : "DType";
      case Parameter::Kind::kString:
        return "const std::string&";
    }
    return "";
  }

  static std::string Default(const PlainValue& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? " = true" : " = false";
    if (const auto* integer = std::get_if<int64_t>(&value)) return absl::StrCat(" = ", *integer);
    if (const auto* number = std::get_if<double>(&value))
      return absl::StrCat(" = ", Number(*number));
    if (const auto* dtype = std::get_if<DType>(&value))
      return absl::StrCat(" = ", CppDType(*dtype));
    if (const auto* text = std::get_if<std::string>(&value))
      return absl::StrCat(" = \"", absl::CEscape(*text), "\"");
    return " = {}";
  }

  // With a point, or an exponent, so that it is a double.
  static std::string Number(double number) {
    std::string text = absl::StrCat(number);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
  }

  std::string Head(bool with_defaults) const {
    std::vector<std::string> parameters;
    for (const Parameter& parameter : function_.parameters) {
      parameters.push_back(absl::StrCat(
          Type(parameter), " ", Name(parameter),
          with_defaults && parameter.default_value ? Default(*parameter.default_value) : ""));
    }
    const std::string start = absl::StrCat(ResultType(), " ", function_.name(), "(");
    const std::string on_one_line = absl::StrJoin(parameters, ", ");
    if (start.size() + on_one_line.size() + 4 <= kColumns) return start + on_one_line + ")";
    return absl::StrCat(start, "\n    ", absl::StrJoin(parameters, ",\n    "), ")");
  }

  // "moments": MomentsResult.
  std::string ResultType() const {
    if (function_.results.empty()) return "Value";
    std::string name;
    for (const absl::string_view word : absl::StrSplit(function_.name(), '_'))
      absl::StrAppend(&name, std::string(1, absl::ascii_toupper(word[0])), word.substr(1));
    return name + "Result";
  }

  std::string ResultStruct() const {
    if (function_.results.empty()) return "";
    return absl::StrCat("struct ", ResultType(), " {\n  Value ",
                        absl::StrJoin(function_.results, ";\n  Value "), ";\n};\n");
  }

  const PublicFunction& function_;
};

bool Write(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "cannot write %s\n", path);
  return static_cast<bool>(file);
}

}  // namespace
}  // namespace gyre

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: gyre_ops_generator OPS_HEADER FUNCTIONS_HEADER SOURCE\n");
    return 2;
  }
  std::string header = gyre::kHeaderTop, source = gyre::kSourceTop;
  std::string public_header = gyre::kPublic, public_source = gyre::kPublic;
  for (const gyre::OpDef* op : gyre::Ops().All()) {
    if (!gyre::IsWanted(*op)) continue;
    const gyre::Binding binding(*op);
    header += binding.Declaration();
    source += binding.Definition();
    if (gyre::Ops().PublicNames(op->name).empty()) continue;
    public_header += binding.PublicDeclaration();
    public_source += binding.PublicDefinition();
  }
  std::string functions_header = gyre::kFunctionsTop;
  public_source += gyre::kFunctions;
  for (const gyre::PublicFunction* function : gyre::Functions().All()) {
    const gyre::FunctionBinding binding(*function);
    functions_header += binding.Declaration();
    public_source += binding.Definition();
  }
  const bool ok = gyre::Write(argv[1], header + public_header + gyre::kBottom) &&
                  gyre::Write(argv[2], functions_header + gyre::kBottom) &&
                  gyre::Write(argv[3], source + public_source + gyre::kBottom);
  return ok ? 0 : 1;
}
