// StringUpper and StringLower: letters in the other case.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/mover.h"
#include "ops/registry.h"
#include "ops/text/letter_case.h"

namespace gyre {
namespace {

struct StringCaseAttrs {
  explicit StringCaseAttrs(const Node& node) : encoding(NodeAttr<std::string>(node, "encoding")) {}
  std::string encoding;
};

bool IsAscii(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); });
}

// Of bytes, the letters of ASCII; of other texts, all.
using ChangeBytes = void (*)(std::string*);
using AppendLetters = absl::Status (*)(const KernelContext&, absl::string_view, std::string&);

template <ChangeBytes kChange, AppendLetters kAppend>
absl::Status ChangeCase(KernelContext& ctx, const StringCaseAttrs& attrs) {
  if (!attrs.encoding.empty() && attrs.encoding != "utf-8") {
    return absl::InvalidArgumentError(
        absl::StrCat("encoding is '', for bytes, or 'utf-8', not '", attrs.encoding, "'"));
  }
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, input.shape()));
  const absl::Span<const std::string> texts = input.values<std::string>();
  const absl::Span<std::string> changed = out.mutable_values<std::string>();
  Mover<std::string> mover(ctx, out);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i % 4096 == 4095) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (!attrs.encoding.empty() && !IsAscii(texts[i])) {
      std::string text;
      GYRE_RETURN_IF_ERROR(kAppend(ctx, texts[i], text));
      if (!mover.Admit(text)) return mover.status();
      changed[i] = std::move(text);
      continue;
    }
    mover.Set(changed[i], texts[i]);
    kChange(&changed[i]);
  }
  GYRE_RETURN_IF_ERROR(mover.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

void ToUpper(std::string* text) { absl::AsciiStrToUpper(text); }
void ToLower(std::string* text) { absl::AsciiStrToLower(text); }

template <ChangeBytes kChange, AppendLetters kAppend>
void Add(OpRegistry& ops, absl::string_view name, absl::string_view doc) {
  ops.Add({
      .schema = absl::StrCat(name, "(input: string) -> output: string {encoding: string = ''}"),
      .doc = std::string(doc),
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("strings have no derivative"),
      .kernel = Compute<&ChangeCase<kChange, kAppend>>(),
  });
}

}  // namespace

void RegisterStringCase(OpRegistry& ops) {
  Add<&ToUpper, &AppendUpper>(ops, "StringUpper",
                              "Each string with its letters (of ASCII, or all) in upper case.");
  Add<&ToLower, &AppendLower>(ops, "StringLower",
                              "Each string with its letters (of ASCII, or all) in lower case.");
}

}  // namespace gyre
