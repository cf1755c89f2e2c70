// Regular expressions: RE2 (https://github.com/google/re2/wiki/Syntax), whose time is linear in the
// text, with bounds on the size of a pattern and on the memory that matching takes.
#pragma once

#include <re2/re2.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

// What a pattern says; any thread may match with it. INVALID_ARGUMENT: malformed, or too large,
// which is some 10,000 characters with repetitions written out.
absl::StatusOr<std::unique_ptr<const re2::RE2>> ParseRegex(absl::string_view pattern);

// INVALID_ARGUMENT unless `rewrite` can replace what `regex` matches: \0 in it is the whole match,
// \1 to \9 are the groups of the pattern, and \\ is a backslash.
absl::Status CheckRewrite(const re2::RE2& regex, absl::string_view rewrite);

inline re2::StringPiece AsPiece(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace gyre
