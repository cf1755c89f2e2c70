#include "session/ahead/c_header.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/hash_map.h"

namespace gyre::ahead {
namespace {

// Words of C and C++ that name nothing else; what the header itself uses; macros that compilers
// define.
constexpr absl::string_view kKeywords =
    " "
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if inline int long mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try "
    "typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while "
    "xor xor_eq int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t linux unix "
    "NULL ";

bool IsKeyword(absl::string_view word) {
  return absl::StrContains(kKeywords, absl::StrCat(" ", word, " "));
}

// A name of C for each member, in their order: letters, digits and _, each once.
std::vector<std::string> NamesInC(const std::vector<Member>& members) {
  std::vector<std::string> names;
  HashSet<std::string> taken;
  for (const Member& member : members) {
    std::string name;
    for (const char c : member.name) name += absl::ascii_isalnum(c) ? c : '_';
    if (!IsIdentifier(name)) name = absl::StrCat("v_", name);
    while (!taken.insert(name).second) name += "_";
    names.push_back(std::move(name));
  }
  return names;
}

// What stands in a comment must not end it.
std::string InComment(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"*/", "* /"}, {"/*", "/ *"}, {"\n", " "}});
}
std::string InQuotes(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", " "}, {"?", "\\?"}});
}

void AppendStructure(const Structure& structure, absl::string_view name, std::string& text) {
  absl::StrAppend(&text, "struct ", name, " {\n");
  const std::vector<std::string> names = NamesInC(structure.members);
  for (size_t i = 0; i < names.size(); ++i) {
    const Member& member = structure.members[i];
    absl::StrAppend(&text, "  ", TypeInC(member.dtype), " ", names[i]);
    for (const int64_t dim : member.shape.dims()) absl::StrAppend(&text, "[", dim, "]");
    absl::StrAppend(&text, ";");
    if (member.name != names[i] || TypeInC(member.dtype) == "uint16_t")
      absl::StrAppend(&text, "  /* ", InComment(member.name), ", ", to_string(member.dtype), " */");
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "};\n\n");
}

}  // namespace

bool IsIdentifier(absl::string_view name) {
  const auto allowed = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(), allowed) && !IsKeyword(name);
}

absl::string_view TypeInC(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "float";
    case DType::kDouble:
      return "double";
    case DType::kInt8:
      return "int8_t";
    case DType::kInt16:
      return "int16_t";
    case DType::kInt32:
      return "int32_t";
    case DType::kInt64:
      return "int64_t";
    case DType::kUint8:
      return "uint8_t";
    case DType::kUint32:
      return "uint32_t";
    case DType::kUint64:
      return "uint64_t";
    case DType::kUint16:
    case DType::kHalf:
    case DType::kBfloat16:
      return "uint16_t";
    case DType::kBool:
      return "bool";
    default:
      return "";
  }
}

std::string TextOf(const Header& header) {
  const std::string inputs = absl::StrCat(header.name, "_inputs");
  const std::string outputs = absl::StrCat(header.name, "_outputs");
  const std::string guard = absl::StrCat(absl::AsciiStrToUpper(header.name), "_H_");
  std::string text = absl::StrCat(
      "/* Made by `gyre compile`. Link it with the object file that was made with it, and with "
      "-lm. "
      "*/\n#ifndef ",
      guard, "\n#define ", guard,
      "\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
      "{\n#endif\n\n");
  const bool is_fed = !header.inputs.members.empty();
  if (is_fed) AppendStructure(header.inputs, inputs, text);
  AppendStructure(header.outputs, outputs, text);
  absl::StrAppend(
      &text, "/* Computes *outputs", is_fed ? " of *inputs" : "",
      ". Returns 0, or which op had no result: see ", header.name,
      "_what.\n   Then *outputs is what it was. It keeps nothing, allocates nothing, and "
      "any thread may call it. */\n");
  absl::StrAppend(&text, "int32_t ", header.name, "(const ",
                  is_fed ? absl::StrCat("struct ", inputs) : "void", " *inputs, struct ", outputs,
                  " *outputs);\n\n");
  absl::StrAppend(
      &text, "/* What a result of ", header.name,
      " that is not 0 means. */\nstatic inline const char *", header.name,
      "_what(int32_t result) {\n  switch (result) {\n    case 0:\n      return \"OK\";\n");
  if (header.may_be_too_deep)
    absl::StrAppend(&text, "    case -1:\n      return \"its calls are nested too deeply\";\n");
  for (const auto& [result, op] : header.failures)
    absl::StrAppend(&text, "    case ", result, ":\n      return \"", InQuotes(op),
                    " has no result for these values\";\n");
  absl::StrAppend(&text, "    default:\n      return \"no result of this function\";\n  }\n}\n\n");
  const auto check = [&](const Structure& structure, absl::string_view name) {
    absl::StrAppend(&text, "typedef char ", name, "_is_laid_out[sizeof(struct ", name,
                    ") == ", structure.bytes, " ? 1 : -1];\n");
  };
  if (is_fed) check(header.inputs, inputs);
  check(header.outputs, outputs);
  absl::StrAppend(&text, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return text;
}

}  // namespace gyre::ahead
