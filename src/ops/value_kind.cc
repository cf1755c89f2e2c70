#include "ops/value_kind.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gyre {
namespace {

using Type = ValueKind::Type;

// Deeper kinds are not told apart.
constexpr int kMaxDepth = 8;

ValueKind Cut(ValueKind kind, int depth) {
  if (depth == kMaxDepth) kind.parts.clear();
  for (ValueKind& part : kind.parts) part = Cut(std::move(part), depth + 1);
  return kind;
}

}  // namespace

bool operator<(const ValueKind& a, const ValueKind& b) {
  return std::tie(a.type, a.dtype, a.parts) < std::tie(b.type, b.dtype, b.parts);
}

ValueKind CutToDepth(ValueKind kind) { return Cut(std::move(kind), 0); }

ValueKind Join(const ValueKind& a, const ValueKind& b) {
  if (a.type == Type::kOther) return b;
  if (a.type != b.type) return a;
  ValueKind joined = a.parts.size() >= b.parts.size() ? a : b;
  const ValueKind& other = a.parts.size() >= b.parts.size() ? b : a;
  if (joined.dtype == DType::kInvalid) joined.dtype = other.dtype;
  for (size_t i = 0; i < other.parts.size(); ++i)
    joined.parts[i] = Join(joined.parts[i], other.parts[i]);
  return joined;
}

void JoinRow(KindRow& a, const KindRow& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) a[i] = Join(a[i], b[i]);
}

std::string KindText(const ValueKind& kind) {
  switch (kind.type) {
    case Type::kOther:
      return "";
    case Type::kOptional:
      return "optional";
    case Type::kGradientArray:
      return "gradients";
    case Type::kFlow:
      return absl::StrCat("flow ", DTypeName(kind.dtype));
    case Type::kList: {
      const std::string element = kind.parts.empty() ? "" : KindText(kind.parts[0]);
      return absl::StrCat("list ", DTypeName(kind.dtype), element.empty() ? "" : " ", element);
    }
  }
  return "";
}

ValueKind ParseKind(absl::string_view text) {
  if (text == "gradients") return {Type::kGradientArray, DType::kInvalid, {}};
  if (text == "optional") return {Type::kOptional, DType::kInvalid, {}};
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  const DType dtype =
      words.size() < 2 ? DType::kInvalid : ParseDType(words[1]).value_or(DType::kInvalid);
  if (words[0] == "flow") return {Type::kFlow, dtype, {}};
  if (words[0] != "list") return {};
  return {Type::kList, dtype, {words.size() < 3 ? ValueKind() : ParseKind(words[2])}};
}

std::vector<std::string> KindTexts(const KindRow& kinds) {
  std::vector<std::string> texts;
  for (const ValueKind& kind : kinds) texts.push_back(KindText(kind));
  return texts;
}

}  // namespace gyre
