// Regular expressions, matched without backtracking: time grows with the pattern times the text,
// whatever they say (https://swtch.com/~rsc/regexp/regexp1.html).
//
// The syntax is RE2's (https://github.com/google/re2/wiki/Syntax) as far as patterns of file names
// and words need it: . [...] [^...] x* x+ x? x{n,m} xy x|y (x) (?:x) ^ $ \A \z \d \w \s and their
// opposites, and escaped punctuation; characters are UTF-8. Other escapes, flags and named classes
// are refused. Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

class Regex {
 public:
  // INVALID_ARGUMENT: malformed, or too large. UNIMPLEMENTED: sound, but not of the syntax above.
  static absl::StatusOr<Regex> Parse(absl::string_view pattern);

  // Whether the whole text matches. Calls `poll` now and then and ends with its error.
  absl::StatusOr<bool> FullMatch(absl::string_view text,
                                 const std::function<absl::Status()>& poll) const;

  // Characters: any of these ranges, or none of them.
  struct CharSet {
    std::vector<std::pair<uint32_t, uint32_t>> ranges;
    bool negated = false;
    bool Has(uint32_t c) const;
  };
  // One step of the automaton that a pattern turns into.
  struct Step {
    enum class Kind : uint8_t { kChar, kSplit, kBegin, kEnd, kMatch };
    Kind kind = Kind::kMatch;
    CharSet set = {};  // kChar
    int next = -1;     // of all but kMatch
    int other = -1;    // kSplit: the other way to go
  };

 private:
  explicit Regex(std::vector<Step> steps) : steps_(std::move(steps)) {}
  std::vector<Step> steps_;  // the first is where it begins
};

}  // namespace gyre
