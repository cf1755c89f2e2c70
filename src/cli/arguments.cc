#include "cli/arguments.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "base/suggest.h"

namespace gyre::cli {
namespace {

const Option* FindOption(absl::Span<const Option> options, absl::string_view name) {
  for (const Option& option : options) {
    const bool is_letter = name.size() == 2 && option.letter != '\0' && name[1] == option.letter;
    if (option.name == name || is_letter) return &option;
  }
  return nullptr;
}

absl::Status UnknownOption(absl::Span<const Option> options, absl::string_view name) {
  std::vector<std::string> names;
  for (const Option& option : options) names.emplace_back(option.name);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no option ", name, DidYouMean(name, names)));
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(absl::Span<const Option> options,
                                         absl::Span<const std::string> words) {
  Arguments result;
  bool options_ended = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    if (options_ended || word.size() < 2 || word[0] != '-') {
      result.positional_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const size_t equals = word.find('=');
    const absl::string_view name = word.substr(0, equals);
    const Option* option = FindOption(options, name);
    if (option == nullptr) return UnknownOption(options, name);
    std::vector<std::string>& values = result.options_[std::string(option->name)];
    if (!values.empty() && !option->repeated) {
      return absl::InvalidArgumentError(absl::StrCat(option->name, " is given twice"));
    }
    const bool has_value = equals != absl::string_view::npos;
    if (option->value.empty()) {
      if (has_value) return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      values.emplace_back();
    } else if (has_value) {
      values.emplace_back(word.substr(equals + 1));
    } else if (i + 1 < words.size() && !absl::StartsWith(words[i + 1], "--")) {
      values.push_back(words[++i]);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " needs a value: ", name, " ", option->value));
    }
    if (!option->value.empty() && values.back().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " needs a value, not an empty one: ", name, " ", option->value));
    }
  }
  return result;
}

bool Arguments::Has(absl::string_view option) const {
  return options_.count(std::string(option)) > 0;
}

std::optional<std::string> Arguments::Get(absl::string_view option) const {
  const auto found = options_.find(std::string(option));
  if (found == options_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::All(absl::string_view option) const {
  const auto found = options_.find(std::string(option));
  return found == options_.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> Arguments::List(absl::string_view option) const {
  std::vector<std::string> result;
  for (const std::string& value : All(option)) {
    for (absl::string_view item : absl::StrSplit(value, ',', absl::SkipEmpty())) {
      result.emplace_back(item);
    }
  }
  return result;
}

absl::StatusOr<int64_t> Arguments::Int(absl::string_view option, int64_t minimum, int64_t maximum,
                                       int64_t fallback, absl::string_view unit) const {
  const std::optional<std::string> text = Get(option);
  if (!text) return fallback;
  int64_t value;
  if (!absl::SimpleAtoi(*text, &value) || value < minimum || value > maximum) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " wants a whole number", unit.empty() ? "" : " of ", unit, " from ",
                     minimum, " to ", maximum, ", not '", *text, "'"));
  }
  return value;
}

absl::StatusOr<int64_t> Arguments::Bytes(absl::string_view option, int64_t fallback) const {
  const std::optional<std::string> text = Get(option);
  if (!text) return fallback;
  absl::string_view digits = *text;
  int64_t unit = 1;
  for (const auto& [letters, bytes] :
       {std::pair<absl::string_view, int64_t>("kK", int64_t{1} << 10),
        std::pair<absl::string_view, int64_t>("mM", int64_t{1} << 20),
        std::pair<absl::string_view, int64_t>("gG", int64_t{1} << 30)}) {
    if (!digits.empty() && absl::StrContains(letters, digits.back())) {
      digits.remove_suffix(1);
      unit = bytes;
      break;
    }
  }
  int64_t count;
  const bool is_number = absl::SimpleAtoi(digits, &count) && count > 0;
  const std::optional<int64_t> bytes = is_number ? CheckedMul(count, unit) : std::nullopt;
  if (!bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " wants a size such as 1500, 64K, 10M or 2G, not '", *text, "'"));
  }
  return *bytes;
}

}  // namespace gyre::cli
