#include "ops/text/regex.h"

#include <new>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace gyre {
namespace {

using re2::RE2;

// RE2 has one bound, on program and automata together, and lets the program have most of it:
// patterns within 8 MiB may take seconds to compile and a millisecond for each byte of a text. So a
// program must fit into less.
constexpr int64_t kMaxProgramBytes = 128 << 10;
constexpr int64_t kMaxBytes = 8 << 20;

// Throws std::bad_alloc unless the memory that RE2 may take is there: an allocation that fails
// within RE2 leaks what it holds, and can crash it.
void RequireMemory() { ::operator delete(::operator new(2 * kMaxBytes)); }

std::unique_ptr<const RE2> Compile(absl::string_view pattern, int64_t max_bytes) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(max_bytes);
  return std::make_unique<const RE2>(AsPiece(pattern), options);
}

// Patterns come from files: what an error shows of one is short, and in ASCII.
std::string Shown(absl::string_view text) {
  constexpr size_t kLongest = 60;
  std::string shown = absl::CHexEscape(text.substr(0, kLongest));
  absl::StrReplaceAll({{R"(\\)", R"(\)"}}, &shown);  // a pattern's own backslashes stay single
  return absl::StrCat("'", shown, text.size() > kLongest ? "...'" : "'");
}

absl::Status Malformed(const RE2& regex) {
  if (regex.error_code() == RE2::ErrorPatternTooLarge) {
    return absl::InvalidArgumentError(
        "the pattern is too large: with its repetitions written out, it may have some 10000 "
        "characters");
  }
  const absl::string_view what = absl::StripSuffix(regex.error(), regex.error_arg());
  return absl::InvalidArgumentError(
      absl::StrCat("the pattern is malformed: ", absl::StripSuffix(what, ": "),
                   regex.error_arg().empty() ? "" : ", at ",
                   regex.error_arg().empty() ? "" : Shown(regex.error_arg())));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const RE2>> ParseRegex(absl::string_view pattern) {
  RequireMemory();
  std::unique_ptr<const RE2> regex = Compile(pattern, kMaxProgramBytes);
  if (!regex->ok()) return Malformed(*regex);
  regex = Compile(pattern, kMaxBytes);
  if (!regex->ok()) return Malformed(*regex);
  return regex;
}

absl::Status CheckRewrite(const RE2& regex, absl::string_view rewrite) {
  std::string error;
  if (regex.CheckRewriteString(AsPiece(rewrite), &error)) return absl::OkStatus();
  const int groups = regex.NumberOfCapturingGroups();
  if (RE2::MaxSubmatch(AsPiece(rewrite)) > groups) {
    return absl::InvalidArgumentError(
        absl::StrCat("the rewrite ", Shown(rewrite), " asks for group ",
                     RE2::MaxSubmatch(AsPiece(rewrite)), ", and the pattern has ", groups));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the rewrite ", Shown(rewrite),
                   " is malformed: behind a backslash stands a digit or another backslash"));
}

}  // namespace gyre
