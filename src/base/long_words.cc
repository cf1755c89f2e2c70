#include "base/long_words.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

constexpr size_t kLongest = 1000;
constexpr size_t kKept = 200;

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string CutLongWords(absl::string_view message) {
  if (message.size() <= kLongest) return std::string(message);
  std::string text;
  while (!message.empty()) {
    const size_t end = static_cast<size_t>(std::find_if(message.begin(), message.end(), IsSpace) -
                                           message.begin());
    size_t kept = end;
    if (end > kLongest) {
      kept = kKept;
      while (kept > 0 && ContinuesCharacter(message[kept])) --kept;
    }
    absl::StrAppend(&text, message.substr(0, kept), kept < end ? "…" : "");
    message.remove_prefix(end);
    const size_t spaces = static_cast<size_t>(
        std::find_if_not(message.begin(), message.end(), IsSpace) - message.begin());
    absl::StrAppend(&text, message.substr(0, spaces));
    message.remove_prefix(spaces);
  }
  return text;
}

}  // namespace gyre
