// StaticRegexReplace, whose pattern and rewrite are attributes, and RegexReplace, where they are
// inputs.
#include <array>

#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/regex.h"
#include "ops/text/string_bytes.h"

namespace gyre {
namespace {

// What a rewrite may name: the whole match, and nine groups.
using Groups = std::array<re2::StringPiece, 10>;

struct Replacement {
  static absl::StatusOr<Replacement> Make(absl::string_view pattern, std::string rewrite,
                                          bool replaces_all) {
    GYRE_ASSIGN_OR_RETURN(auto regex, ParseRegex(pattern));
    GYRE_RETURN_IF_ERROR(CheckRewrite(*regex, rewrite));
    const int named = 1 + re2::RE2::MaxSubmatch(rewrite);
    return Replacement{std::move(regex), std::move(rewrite), named, replaces_all};
  }
  std::unique_ptr<const re2::RE2> regex;
  std::string rewrite;
  int named = 1;  // groups, the whole match among them
  bool replaces_all = true;
};

struct StaticReplaceAttrs {
  static absl::StatusOr<StaticReplaceAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(Replacement replacement,
                          Replacement::Make(NodeAttr<std::string>(node, "pattern"),
                                            NodeAttr<std::string>(node, "rewrite"),
                                            NodeAttr<bool>(node, "replace_global")));
    return StaticReplaceAttrs{std::move(replacement)};
  }
  Replacement replacement;
};

struct ReplaceAttrs {
  explicit ReplaceAttrs(const Node& node) : replaces_all(NodeAttr<bool>(node, "replace_global")) {}
  bool replaces_all;
};

// The size of the character at `at`. Of bytes that are no UTF-8, any number of them.
size_t CharSize(absl::string_view text, size_t at) {
  size_t size = at < text.size() ? 1 : 0;
  while (at + size < text.size() && (static_cast<unsigned char>(text[at + size]) & 0xc0) == 0x80)
    ++size;
  return size;
}

// As RE2::GlobalReplace, which neither polls nor knows of a budget: matches from left to right,
// none of them empty right behind another one.
absl::StatusOr<std::string> Replaced(const KernelContext& ctx, const Replacement& replacement,
                                     const std::string& text) {
  std::string out;
  Groups groups;
  size_t at = 0;
  size_t last_end = std::string::npos;
  while (at <= text.size()) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (!replacement.regex->Match(text, at, text.size(), re2::RE2::UNANCHORED, groups.data(),
                                  replacement.named))
      break;
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    out.append(text, at, begin - at);
    at = begin + groups[0].size();
    if (at == begin && begin == last_end) {
      const size_t size = CharSize(text, at);
      out.append(text, at, size);
      at += std::max<size_t>(size, 1);
      continue;
    }
    replacement.regex->Rewrite(&out, replacement.rewrite, groups.data(), replacement.named);
    GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, static_cast<int64_t>(out.size())));
    last_end = at;
    if (!replacement.replaces_all) break;
  }
  if (at < text.size()) out.append(text, at);
  return out;
}

absl::Status Replace(KernelContext& ctx, const Replacement& replacement) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, ctx.input(0).shape()));
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  const absl::Span<std::string> replaced = out.mutable_values<std::string>();
  Mover<std::string> mover(ctx, out);
  for (size_t i = 0; i < texts.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(replaced[i], Replaced(ctx, replacement, texts[i]));
    if (!mover.Admit(replaced[i])) return mover.status();
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StaticReplace(KernelContext& ctx, const StaticReplaceAttrs& attrs) {
  return Replace(ctx, attrs.replacement);
}

absl::Status ReplaceByInputs(KernelContext& ctx, const ReplaceAttrs& attrs) {
  for (const int i : {1, 2}) {
    if (ctx.input(i).rank() == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(i == 1 ? "pattern" : "rewrite",
                                                   " must be a scalar, but has shape ",
                                                   ctx.input(i).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Replacement replacement,
                        Replacement::Make(ctx.input(1).scalar<std::string>(),
                                          ctx.input(2).scalar<std::string>(), attrs.replaces_all));
  return Replace(ctx, replacement);
}

}  // namespace

void RegisterRegexReplace(OpRegistry& ops) {
  ops.Add({
      .schema = "StaticRegexReplace(input: string) -> output: string {pattern: string; "
                "rewrite: string; replace_global: bool = true}",
      .doc = "Each string with what a regular expression matches in it replaced by the rewrite.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("strings have no derivative"),
      .kernel = Compute<&StaticReplace>(),
  });
  ops.Add({
      .schema = "RegexReplace(input: string, pattern: string, rewrite: string) -> output: string "
                "{replace_global: bool = true}",
      .doc =
          "Each string with what a regular expression, which is an input, matches in it replaced.",
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("strings have no derivative"),
      .batch = {batch::FirstStacked},
      .kernel = Compute<&ReplaceByInputs>(),
  });
}

}  // namespace gyre
