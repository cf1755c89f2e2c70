// A transformation of a program as text: one file says what goes in and what must come out.
//
//   // hoist feed=n,w fetch=loop:1           which transformation, with which options
//   //
//   // What every iteration computes alike is computed once.
//   graph {
//     …
//   }
//   ----
//   graph {
//     …
//   }
//
// A plain value. README.md has the transformations and their options.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::testing {

struct TextCase {
  std::string transform;                       // the first word of the first line
  std::map<std::string, std::string> options;  // its other words: KEY=VALUE
  std::string program;                         // all above the line of dashes
  std::string expected;                        // all below it

  // The value of an option; empty without it.
  std::string option(const std::string& key) const;
};

// INVALID_ARGUMENT: the first line says no transformation, or there is no line of dashes.
absl::StatusOr<TextCase> ParseTextCase(absl::string_view text);

// The file of a case with `comes_out` in place of what was expected.
std::string TextOf(const TextCase& text_case, absl::string_view comes_out);

}  // namespace gyre::testing
