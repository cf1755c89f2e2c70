// TextReader: walks over the text form of a program, token by token, and says where a mistake is.
//
// Blanks, line ends and comments (// to the end of the line) separate tokens and mean nothing else.
// The views it hands out point into the text, which must outlive the reader. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

class TextReader {
 public:
  explicit TextReader(absl::string_view text) : text_(text) {}

  bool AtEnd();
  // The next character that is not blank; '\0' at the end.
  char Peek();
  // Consumes `token` if it comes next. A word must end where the token does: "at" is not found in
  // "attr".
  bool Accept(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  // As Accept, without consuming.
  bool Sees(absl::string_view token);

  // The longest run of letters (of any script), digits and `_ . - /`; may be empty.
  absl::string_view Word();
  // A word, or any text in quotes: how names are written (see WriteName).
  absl::StatusOr<std::string> Name(absl::string_view what);
  // Text in quotes, unescaped.
  absl::StatusOr<std::string> Quoted(absl::string_view what);

  // Where the next token starts; Seek goes back to such a place.
  size_t Mark();
  void Seek(size_t mark) { position_ = mark; }

  // INVALID_ARGUMENT: "line 3, column 14: expected …, but found …", at the next token.
  absl::Status Expected(absl::string_view what);
  // INVALID_ARGUMENT: "line 3, column 14: …", at a place that Mark returned.
  absl::Status ErrorAt(size_t mark, absl::string_view message) const;

 private:
  void SkipBlanks();

  absl::string_view text_;
  size_t position_ = 0;
};

// `name` as it stands in the text: as it is when it is a word, in quotes otherwise.
std::string WriteName(absl::string_view name);
// `text` in quotes, with everything escaped that is no character to print: UTF-8 stays as it is.
std::string WriteQuoted(absl::string_view text);

}  // namespace gyre
