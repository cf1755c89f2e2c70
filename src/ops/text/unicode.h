// Characters of texts in various encodings.
//
// UTF-8, UTF-16, UTF-32, ASCII and Latin-1 are read by code of this folder, all others by the C
// library's iconv. Stateless; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/kernel.h"

namespace gyre {

// Reads one text after another.
class CharacterReader {
 public:
  struct Character {
    int32_t code;
    bool is_malformed;  // bytes that are no character: `code` is U+FFFD
    size_t size;        // in bytes; not 0
  };
  virtual ~CharacterReader() = default;
  // Before the first character of a text, which stays as it is until the next Begin.
  virtual void Begin(absl::string_view text) { rest_ = text; }
  bool AtEnd() const { return rest_.empty(); }
  // Requirement: !AtEnd().
  virtual Character Next() = 0;

 protected:
  absl::string_view rest_;
};

// INVALID_ARGUMENT for an encoding that is not known. Names as in ICU: case and '-', '_' are of no
// account. UTF-16 and UTF-32 are big-endian unless they say LE; a mark is a character.
absl::StatusOr<std::unique_ptr<CharacterReader>> MakeReader(absl::string_view encoding);

enum class Encoding : uint8_t { kUtf8, kUtf16, kUtf32 };  // the latter two big-endian
// Of an attribute that the schema restricts to these.
Encoding OutputEncoding(absl::string_view name);
// Requirement: `code` is one that a text may have (IsScalarValue).
void AppendCharacter(int32_t code, Encoding encoding, std::string& text);

// Neither half of a surrogate pair nor out of range.
inline bool IsScalarValue(int32_t code) {
  return code >= 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

// What becomes of characters that are malformed, as attributes of nodes say.
struct ErrorRules {
  enum class What : uint8_t { kStrict, kReplace, kIgnore };
  static absl::StatusOr<ErrorRules> Make(const Node& node);

  // The code that takes the character's place, or -1: none does.
  absl::StatusOr<int32_t> Apply(int32_t code, bool is_malformed) const;

  What what;
  int32_t replacement;
  bool replaces_controls;
};

}  // namespace gyre
