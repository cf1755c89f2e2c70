// UnicodeEncode: texts of characters. UnicodeTranscode: texts in another encoding.
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/text/map_texts.h"
#include "ops/text/unicode.h"

namespace gyre {
namespace {

struct EncodeAttrs {
  static absl::StatusOr<EncodeAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const ErrorRules rules, ErrorRules::Make(node));
    return EncodeAttrs{OutputEncoding(NodeAttr<std::string>(node, "output_encoding")), rules};
  }
  Encoding encoding;
  ErrorRules rules;
};

template <typename Split>
struct EncodeKernel {
  static absl::Status Run(KernelContext& ctx, const EncodeAttrs& attrs) {
    for (const int i : {0, 1}) {
      if (ctx.input(i).rank() == 1) continue;
      return absl::InvalidArgumentError(absl::StrCat(i == 0 ? "input_values" : "input_splits",
                                                     " must be a vector, but its shape is ",
                                                     ctx.input(i).shape().ToString()));
    }
    const absl::Span<const int32_t> codes = ctx.input(0).values<int32_t>();
    const absl::Span<const Split> splits = ctx.input(1).values<Split>();
    if (splits.empty() || splits[0] != 0 || splits.back() != static_cast<Split>(codes.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("input_splits must begin with 0 and end with the number of input_values, ",
                       codes.size()));
    }
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1] || splits[i] > splits.back()) {
        return absl::InvalidArgumentError(
            absl::StrCat("input_splits[", i, "] = ", splits[i], " follows ", splits[i - 1]));
      }
    }
    GYRE_ASSIGN_OR_RETURN(
        Tensor out,
        ctx.Allocate(DType::kString, Shape::Vector(static_cast<int64_t>(splits.size()) - 1)));
    std::string* to = out.mutable_values<std::string>().data();
    Mover<std::string> mover(ctx, out);
    for (size_t i = 0; i + 1 < splits.size(); ++i) {
      if (i % kTextsPerPoll == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      std::string text;
      for (int64_t at = splits[i]; at < splits[i + 1]; ++at) {
        if (at % 65536 == 65535) GYRE_RETURN_IF_ERROR(ctx.Poll());
        const absl::StatusOr<int32_t> code =
            attrs.rules.Apply(codes[at], !IsScalarValue(codes[at]));
        if (!code.ok()) {
          return absl::InvalidArgumentError(
              absl::StrCat("input_values[", at, "] = ", codes[at], " is no character of Unicode"));
        }
        if (*code >= 0) AppendCharacter(*code, attrs.encoding, text);
      }
      if (!mover.Admit(text)) return mover.status();
      to[i] = std::move(text);
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

struct TranscodeAttrs {
  static absl::StatusOr<TranscodeAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(EncodeAttrs to, EncodeAttrs::Make(node));
    return TranscodeAttrs{NodeAttr<std::string>(node, "input_encoding"), to};
  }
  std::string from;
  EncodeAttrs to;
};

absl::Status Transcode(KernelContext& ctx, const TranscodeAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<CharacterReader> reader, MakeReader(attrs.from));
  return MapTexts(ctx, [&](const std::string& text, std::string& out) -> absl::Status {
    reader->Begin(text);
    for (int64_t n = 1; !reader->AtEnd(); ++n) {
      if (n % 65536 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const CharacterReader::Character character = reader->Next();
      GYRE_ASSIGN_OR_RETURN(const int32_t code,
                            attrs.to.rules.Apply(character.code, character.is_malformed));
      if (code >= 0) AppendCharacter(code, attrs.to.encoding, out);
    }
    return absl::OkStatus();
  });
}

absl::Status EncodeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  const int64_t n = c.input(1).has_rank() ? c.input(1).dim(0) : -1;
  c.set_output(0, PartialShape(Dims{n < 1 ? -1 : n - 1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterUnicodeEncode(OpRegistry& ops) {
  ops.Add({.schema = "UnicodeEncode(input_values: int32, input_splits: Tsplits) -> output: string "
                     "{errors: {'ignore', 'replace', 'strict'} = 'replace'; output_encoding: "
                     "{'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; replacement_char: int = 65533; Tsplits: "
                     "{int32, int64} = int64}",
           .doc = "Strings of code points, which are ragged rows.",
           .shape = EncodeShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = ForTypes<EncodeKernel, IndexTypes>("Tsplits")});
  ops.Add({.schema = "UnicodeTranscode(input: string) -> output: string {input_encoding: string; "
                     "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; errors: {'strict', "
                     "'replace', 'ignore'} = 'replace'; replacement_char: int = 65533; "
                     "replace_control_characters: bool = false}",
           .doc = "Each string in another encoding.",
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = Compute<&Transcode>()});
}

}  // namespace gyre
