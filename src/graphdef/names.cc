#include "graphdef/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

bool IsFirst(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
}
bool IsLater(char c) { return IsFirst(c) || c == '-' || c == '/' || c == '>'; }

// Decimal digits without a sign or leading zeros.
std::optional<int32_t> ParseIndex(absl::string_view text) {
  int32_t index = 0;
  if (text.empty() || !std::all_of(text.begin(), text.end(), absl::ascii_isdigit))
    return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  if (!absl::SimpleAtoi(text, &index)) return std::nullopt;
  return index;
}

std::optional<InputName> ParseControl(absl::string_view text) {
  InputName name{text.substr(1), {}, std::nullopt, true};
  if (name.node.empty()) return std::nullopt;
  return name;
}

}  // namespace

bool IsValidNodeName(absl::string_view name) {
  return !name.empty() && IsFirst(name[0]) && std::all_of(name.begin(), name.end(), IsLater);
}

std::optional<InputName> ParseGraphInput(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text[0] == '^') return ParseControl(text);
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos) return InputName{text, {}, std::nullopt, false};
  InputName name{text.substr(0, colon), {}, ParseIndex(text.substr(colon + 1)), false};
  if (name.node.empty() || !name.index) return std::nullopt;
  return name;
}

std::optional<InputName> ParseFunctionInput(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text[0] == '^') return ParseControl(text);
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos) return InputName{text, {}, std::nullopt, false};
  InputName name{text.substr(0, colon), text.substr(colon + 1), std::nullopt, false};
  if (name.node.empty() || name.output.empty()) return std::nullopt;
  const size_t second = name.output.find(':');
  const absl::string_view last =
      second == absl::string_view::npos ? name.output : name.output.substr(second + 1);
  name.index = ParseIndex(last);
  if (second != absl::string_view::npos) {
    if (!name.index) return std::nullopt;
    name.output = name.output.substr(0, second);
  } else if (name.index) {
    name.output = {};
  }
  return name;
}

std::string NameTable::Claim(absl::string_view wanted) {
  std::string name(wanted);
  std::replace_if(name.begin(), name.end(), [](char c) { return !IsLater(c); }, '_');
  if (name.empty()) name = "node";
  if (!IsFirst(name[0])) name.insert(0, "_");
  if (Reserve(name)) return name;
  for (int suffix = 1;; ++suffix) {
    std::string candidate = absl::StrCat(name, "_", suffix);
    if (Reserve(candidate)) return candidate;
  }
}

}  // namespace gyre
