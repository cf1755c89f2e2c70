#include "ops/text/unicode.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

using Character = CharacterReader::Character;

constexpr int32_t kUnknown = 0xfffd;

uint8_t ByteOf(absl::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

// What is malformed ends before the first byte that cannot follow (Unicode 15, table 3-7).
class Utf8Reader final : public CharacterReader {
 public:
  Character Next() override {
    const Character character = Read();
    rest_.remove_prefix(character.size);
    return character;
  }

 private:
  Character Read() const {
    const uint8_t lead = ByteOf(rest_, 0);
    if (lead < 0x80) return {lead, false, 1};
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) return {kUnknown, true, 1};
    int32_t code = lead & (0xff >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
      uint8_t low = 0x80, high = 0xbf;
      if (i == 1) {
        if (lead == 0xe0) low = 0xa0;
        if (lead == 0xed) high = 0x9f;
        if (lead == 0xf0) low = 0x90;
        if (lead == 0xf4) high = 0x8f;
      }
      if (i >= rest_.size() || ByteOf(rest_, i) < low || ByteOf(rest_, i) > high)
        return {kUnknown, true, i};
      code = code << 6 | (ByteOf(rest_, i) & 0x3f);
    }
    return {code, false, size};
  }
};

// One byte, one character, as far as there are any.
class ByteReader final : public CharacterReader {
 public:
  explicit ByteReader(int32_t limit) : limit_(limit) {}
  Character Next() override {
    const int32_t code = ByteOf(rest_, 0);
    rest_.remove_prefix(1);
    if (code >= limit_) return {kUnknown, true, 1};
    return {code, false, 1};
  }

 private:
  const int32_t limit_;
};

class Utf16Reader final : public CharacterReader {
 public:
  explicit Utf16Reader(bool is_little) : is_little_(is_little) {}
  Character Next() override {
    const Character character = Read();
    rest_.remove_prefix(character.size);
    return character;
  }

 private:
  int32_t Unit(size_t i) const {
    const int32_t a = ByteOf(rest_, i), b = ByteOf(rest_, i + 1);
    return is_little_ ? b << 8 | a : a << 8 | b;
  }
  Character Read() const {
    if (rest_.size() < 2) return {kUnknown, true, rest_.size()};
    const int32_t first = Unit(0);
    if (first < 0xd800 || first > 0xdfff) return {first, false, 2};
    if (first >= 0xdc00) return {kUnknown, true, 2};
    if (rest_.size() < 4) return {kUnknown, true, rest_.size()};
    const int32_t second = Unit(2);
    if (second < 0xdc00 || second > 0xdfff) return {kUnknown, true, 2};
    return {0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff), false, 4};
  }

  const bool is_little_;
};

class Utf32Reader final : public CharacterReader {
 public:
  explicit Utf32Reader(bool is_little) : is_little_(is_little) {}
  Character Next() override {
    const size_t size = std::min<size_t>(4, rest_.size());
    uint32_t code = size < 4 ? 0xffffffff : 0;
    for (size_t i = 0; i < 4 && size == 4; ++i)
      code = code << 8 | ByteOf(rest_, is_little_ ? 3 - i : i);
    rest_.remove_prefix(size);
    if (code > 0x10ffff || !IsScalarValue(static_cast<int32_t>(code)))
      return {kUnknown, true, size};
    return {static_cast<int32_t>(code), false, size};
  }

 private:
  const bool is_little_;
};

// By iconv, a character at a time.
class IconvReader final : public CharacterReader {
 public:
  explicit IconvReader(iconv_t handle) : handle_(handle) {}
  ~IconvReader() override { iconv_close(handle_); }
  void Begin(absl::string_view text) override {
    rest_ = text;
    iconv(handle_, nullptr, nullptr, nullptr, nullptr);
  }
  Character Next() override {
    const size_t before = rest_.size();
    // As few bytes as make a character: iconv reads ahead where it can.
    for (size_t n = 1; n <= before && n <= 16; ++n) {
      char* from = const_cast<char*>(rest_.data());
      size_t left = n;
      uint32_t code = 0;
      char* to = reinterpret_cast<char*>(&code);
      size_t room = sizeof(code);
      const size_t result = iconv(handle_, &from, &left, &to, &room);
      if (room == 0) {
        const size_t used = n - left;
        rest_.remove_prefix(used);
        return {static_cast<int32_t>(code), false, used};
      }
      if (result == static_cast<size_t>(-1) && errno == EILSEQ) break;
      if (left < n) {  // it took bytes that change its state alone
        rest_.remove_prefix(n - left);
        n = 0;
        if (rest_.empty()) return {kUnknown, true, before};
      }
    }
    const size_t gone = before - rest_.size();
    rest_.remove_prefix(1);
    return {kUnknown, true, gone + 1};
  }

 private:
  const iconv_t handle_;
};

// Without what is of no account in it.
std::string Plain(absl::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)))
      plain.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CharacterReader>> MakeReader(absl::string_view encoding) {
  const std::string name = Plain(encoding);
  std::unique_ptr<CharacterReader> reader;
  if (name == "utf8") {
    reader = std::make_unique<Utf8Reader>();
  } else if (name == "utf16be" || name == "utf16" || name == "utf16le") {
    reader = std::make_unique<Utf16Reader>(name == "utf16le");
  } else if (name == "utf32be" || name == "utf32" || name == "utf32le") {
    reader = std::make_unique<Utf32Reader>(name == "utf32le");
  } else if (name == "usascii" || name == "ascii") {
    reader = std::make_unique<ByteReader>(0x80);
  } else if (name == "iso88591" || name == "latin1") {
    reader = std::make_unique<ByteReader>(0x100);
  } else {
    // iconv knows other names for its ways ("//TRANSLIT"), which are no names of encodings.
    const std::string given(encoding);
    const bool is_name = !given.empty() && given.find('/') == std::string::npos &&
                         given.find('\0') == std::string::npos;
    const iconv_t handle = is_name ? iconv_open("UCS-4LE", given.c_str()) : iconv_t(-1);
    if (handle == iconv_t(-1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("could not create a converter for the input encoding '", encoding, "'"));
    }
    reader = std::make_unique<IconvReader>(handle);
  }
  return reader;
}

Encoding OutputEncoding(absl::string_view name) {
  return name == "UTF-8"       ? Encoding::kUtf8
         : name == "UTF-16-BE" ? Encoding::kUtf16
                               : Encoding::kUtf32;
}

void AppendCharacter(int32_t code, Encoding encoding, std::string& text) {
  const auto put = [&](int32_t byte) { text.push_back(static_cast<char>(byte & 0xff)); };
  const auto put_unit = [&](int32_t unit) {
    put(unit >> 8);
    put(unit);
  };
  switch (encoding) {
    case Encoding::kUtf8:
      if (code < 0x80) {
        put(code);
      } else if (code < 0x800) {
        put(0xc0 | code >> 6);
        put(0x80 | (code & 0x3f));
      } else if (code < 0x10000) {
        put(0xe0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
      } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
      }
      return;
    case Encoding::kUtf16:
      if (code >= 0x10000) {
        put_unit(0xd800 | (code - 0x10000) >> 10);
        put_unit(0xdc00 | (code & 0x3ff));
      } else {
        put_unit(code);
      }
      return;
    case Encoding::kUtf32:
      put_unit(code >> 16);
      put_unit(code & 0xffff);
      return;
  }
}

absl::StatusOr<ErrorRules> ErrorRules::Make(const Node& node) {
  const std::string& errors = NodeAttr<std::string>(node, "errors");
  const int64_t replacement = NodeAttr<int64_t>(node, "replacement_char");
  if (replacement < 0 || replacement > 0x10ffff ||
      !IsScalarValue(static_cast<int32_t>(replacement))) {
    return absl::InvalidArgumentError(
        absl::StrCat("replacement_char must be a character of Unicode, but is ", replacement));
  }
  return ErrorRules{errors == "strict"    ? What::kStrict
                    : errors == "replace" ? What::kReplace
                                          : What::kIgnore,
                    static_cast<int32_t>(replacement),
                    node.attrs.GetOr<bool>("replace_control_characters", false)};
}

absl::StatusOr<int32_t> ErrorRules::Apply(int32_t code, bool is_malformed) const {
  if (!is_malformed && !(replaces_controls && code <= 0x1f)) return code;
  switch (what) {
    case What::kStrict:
      return absl::InvalidArgumentError("invalid formatting on input string");
    case What::kReplace:
      return replacement;
    case What::kIgnore:
      return -1;
  }
  return -1;
}

}  // namespace gyre
