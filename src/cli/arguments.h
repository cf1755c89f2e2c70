// The command line of one command: options declared in a table, parsed into Arguments.
//
// Options are written `--name VALUE`, `--name=VALUE` or, for flags, `--name`; `-x` where a letter
// is declared. "--" ends them. Arguments are plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gyre::cli {

struct Option {
  absl::string_view name;   // with its dashes: "--feed"
  absl::string_view value;  // what it wants, for the help: "NAME=VALUE"; empty: a flag
  absl::string_view help;   // lines of at most 70 characters
  char letter = '\0';
  bool repeated = false;
};

class Arguments {
 public:
  // What stands outside of options, in order.
  const std::vector<std::string>& positional() const { return positional_; }
  bool Has(absl::string_view option) const;
  // The option's value; nullopt when it was not given.
  std::optional<std::string> Get(absl::string_view option) const;
  // All values of a repeated option, in order.
  std::vector<std::string> All(absl::string_view option) const;
  // As All, with "a,b" counting as two values.
  std::vector<std::string> List(absl::string_view option) const;
  // The option's value as a whole number within [minimum, maximum] (of `unit`, which the message
  // names), or `fallback` when it was not given.
  absl::StatusOr<int64_t> Int(absl::string_view option, int64_t minimum, int64_t maximum,
                              int64_t fallback, absl::string_view unit = "") const;
  // As Int, for sizes: "1500", "64K", "10M", "2G" (powers of 1024).
  absl::StatusOr<int64_t> Bytes(absl::string_view option, int64_t fallback) const;

 private:
  friend absl::StatusOr<Arguments> ParseArguments(absl::Span<const Option> options,
                                                  absl::Span<const std::string> words);
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>> options_;
};

// INVALID_ARGUMENT, in words for whoever typed it, for an unknown option, a missing or superfluous
// value, or an option given twice that may be given once.
absl::StatusOr<Arguments> ParseArguments(absl::Span<const Option> options,
                                         absl::Span<const std::string> words);

}  // namespace gyre::cli
