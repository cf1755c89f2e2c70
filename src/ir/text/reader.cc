#include "ir/text/reader.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

// Letters beyond ASCII are words, too: the bytes of UTF-8, of which none is a blank or a sign that
// the text form uses.
bool IsWordChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '/' || !absl::ascii_isascii(static_cast<unsigned char>(c));
}

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The length of the UTF-8 sequence at the start of `text`, which is not empty; 0: it is none.
size_t SequenceLength(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  const absl::string_view rest = text.substr(1, length - 1);
  if (!std::all_of(rest.begin(), rest.end(), ContinuesCharacter)) return 0;
  // No longer than it must be, no half of a pair of UTF-16, no more than Unicode has.
  const auto second = static_cast<unsigned char>(rest[0]);
  const bool is_none = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_none ? 0 : length;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

void TextReader::SkipBlanks() {
  while (position_ < text_.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    } else if (absl::StartsWith(text_.substr(position_), "//")) {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

bool TextReader::AtEnd() {
  SkipBlanks();
  return position_ == text_.size();
}

char TextReader::Peek() { return AtEnd() ? '\0' : text_[position_]; }

bool TextReader::Sees(absl::string_view token) {
  SkipBlanks();
  const absl::string_view rest = text_.substr(position_);
  if (!absl::StartsWith(rest, token)) return false;
  const bool is_word = std::all_of(token.begin(), token.end(), IsWordChar);
  return !is_word || rest.size() == token.size() || !IsWordChar(rest[token.size()]);
}

bool TextReader::Accept(absl::string_view token) {
  if (!Sees(token)) return false;
  position_ += token.size();
  return true;
}

absl::Status TextReader::Expect(absl::string_view token) {
  if (Accept(token)) return absl::OkStatus();
  return Expected(absl::StrCat("'", token, "'"));
}

absl::string_view TextReader::Word() {
  SkipBlanks();
  size_t end = position_;
  while (end < text_.size() && IsWordChar(text_[end])) ++end;
  const absl::string_view word = text_.substr(position_, end - position_);
  position_ = end;
  return word;
}

absl::StatusOr<std::string> TextReader::Name(absl::string_view what) {
  if (Peek() == '"') return Quoted(what);
  const absl::string_view word = Word();
  if (word.empty()) return Expected(what);
  return std::string(word);
}

absl::StatusOr<std::string> TextReader::Quoted(absl::string_view what) {
  const size_t start = Mark();
  if (!Accept("\"")) return Expected(what);
  size_t end = position_;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return ErrorAt(start, "this text in quotes has no end");
  std::string unescaped;
  std::string error;
  if (!absl::CUnescape(text_.substr(position_, end - position_), &unescaped, &error)) {
    return ErrorAt(start, absl::StrCat("bad escape in quotes: ", error));
  }
  position_ = end + 1;
  return unescaped;
}

size_t TextReader::Mark() {
  SkipBlanks();
  return position_;
}

absl::Status TextReader::Expected(absl::string_view what) {
  const size_t mark = Mark();
  std::string found = "the end of the text";
  if (mark < text_.size()) {
    size_t end = mark;
    while (end < text_.size() && IsWordChar(text_[end]) &&
           (end < mark + 40 || ContinuesCharacter(text_[end]))) {
      ++end;
    }
    found = absl::StrCat("'", text_.substr(mark, std::max<size_t>(end - mark, 1)), "'");
  }
  return ErrorAt(mark, absl::StrCat("expected ", what, ", but found ", found));
}

absl::Status TextReader::ErrorAt(size_t mark, absl::string_view message) const {
  const absl::string_view before = text_.substr(0, mark);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const absl::string_view in_line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto column =
      std::count_if(in_line.begin(), in_line.end(), [](char c) { return !ContinuesCharacter(c); });
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line, ", column ", column + 1, ": ", message));
}

std::string WriteName(absl::string_view name) {
  // "//" would start a comment.
  if (!name.empty() && std::all_of(name.begin(), name.end(), IsWordChar) &&
      !absl::StrContains(name, "//") && IsUtf8(name)) {
    return std::string(name);
  }
  return WriteQuoted(name);
}

std::string WriteQuoted(absl::string_view text) {
  return absl::StrCat("\"", IsUtf8(text) ? absl::Utf8SafeCHexEscape(text) : absl::CHexEscape(text),
                      "\"");
}

}  // namespace gyre
