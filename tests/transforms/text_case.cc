#include "transforms/text_case.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gyre::testing {
namespace {

constexpr absl::string_view kComment = "// ";
constexpr absl::string_view kDashes = "\n----\n";

}  // namespace

std::string TextCase::option(const std::string& key) const {
  const auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

absl::StatusOr<TextCase> ParseTextCase(absl::string_view text) {
  TextCase result;
  absl::string_view first = text.substr(0, text.find('\n'));
  if (!absl::ConsumePrefix(&first, kComment)) {
    return absl::InvalidArgumentError(
        "the first line must say what is done: // TRANSFORMATION [KEY=VALUE]...");
  }
  const std::vector<std::string> words = absl::StrSplit(first, ' ', absl::SkipEmpty());
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat("'", words[i], "' is not KEY=VALUE"));
    std::string key = words[i].substr(0, equals);
    if (!result.options.emplace(std::move(key), words[i].substr(equals + 1)).second)
      return absl::InvalidArgumentError(absl::StrCat("'", words[i], "' is there twice"));
  }
  result.transform = words.empty() ? "" : words[0];
  const size_t dashes = text.find(kDashes);
  if (dashes == absl::string_view::npos)
    return absl::InvalidArgumentError("there is no line ---- above what must come out");
  result.program = std::string(text.substr(0, dashes + 1));
  result.expected = std::string(text.substr(dashes + kDashes.size()));
  return result;
}

std::string TextOf(const TextCase& text_case, absl::string_view comes_out) {
  return absl::StrCat(text_case.program, kDashes.substr(1), comes_out);
}

}  // namespace gyre::testing
