// EncodeBase64 and DecodeBase64, in the alphabet that is safe in addresses of the web (RFC 4648,
// 5).
#include <array>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/map_texts.h"

namespace gyre {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct EncodeAttrs {
  explicit EncodeAttrs(const Node& node) : pad(NodeAttr<bool>(node, "pad")) {}
  bool pad;
};

absl::Status Encode(KernelContext& ctx, const EncodeAttrs& attrs) {
  return MapTexts(ctx, [&](const std::string& text, std::string& out) {
    out.reserve((text.size() + 2) / 3 * 4);
    for (size_t i = 0; i < text.size(); i += 3) {
      const size_t n = std::min<size_t>(3, text.size() - i);
      uint32_t bits = 0;
      for (size_t j = 0; j < 3; ++j)
        bits = bits << 8 | (j < n ? static_cast<uint8_t>(text[i + j]) : 0);
      for (size_t j = 0; j <= n; ++j) out.push_back(kAlphabet[bits >> (18 - 6 * j) & 63]);
      if (attrs.pad) out.append(3 - n, '=');
    }
    return absl::OkStatus();
  });
}

// By character; -1: not of the alphabet.
constexpr std::array<int8_t, 256> MakeDigits() {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  for (int8_t i = 0; i < 64; ++i) digits[static_cast<uint8_t>(kAlphabet[i])] = i;
  return digits;
}
constexpr std::array<int8_t, 256> kDigits = MakeDigits();

absl::Status Decode(KernelContext& ctx) {
  return MapTexts(ctx, [](const std::string& text, std::string& out) {
    size_t n = text.size();
    if (n % 4 == 0) {
      for (int i = 0; i < 2 && n > 0 && text[n - 1] == '='; ++i) --n;
    }
    if (n % 4 == 1) return absl::InvalidArgumentError("a text of this length is not base64");
    out.reserve(n / 4 * 3 + 2);
    uint32_t bits = 0;
    for (size_t i = 0; i < n; ++i) {
      const int digit = kDigits[static_cast<uint8_t>(text[i])];
      if (digit < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("character ", i, " is not of the web-safe base64 alphabet"));
      }
      bits = bits << 6 | static_cast<uint32_t>(digit);
      if (i % 4 != 0) out.push_back(static_cast<char>(bits >> (6 - 2 * (i % 4)) & 0xff));
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterBase64(OpRegistry& ops) {
  ops.Add({.schema = "EncodeBase64(input: string) -> output: string {pad: bool = false}",
           .doc = "Each string in web-safe base64.",
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("strings have no derivative"),
           .failure = fails::Never,
           .kernel = Compute<&Encode>()});
  ops.Add({.schema = "DecodeBase64(input: string) -> output: string",
           .doc = "What strings in web-safe base64 say.",
           .api = {"io.decode_base64"},
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = Compute<&Decode>()});
}

}  // namespace gyre
