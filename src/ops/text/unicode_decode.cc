// UnicodeDecode and UnicodeDecodeWithOffsets: the characters of texts, as ragged rows of numbers.
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"
#include "ops/text/unicode.h"

namespace gyre {
namespace {

struct DecodeAttrs {
  static absl::StatusOr<DecodeAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const ErrorRules rules, ErrorRules::Make(node));
    return DecodeAttrs{NodeAttr<std::string>(node, "input_encoding"), rules};
  }
  std::string encoding;
  ErrorRules rules;
};

template <typename T>
absl::StatusOr<Tensor> VectorOf(const KernelContext& ctx, const std::vector<T>& values) {
  GYRE_ASSIGN_OR_RETURN(
      Tensor out, ctx.Allocate(DTypeOf<T>, Shape::Vector(static_cast<int64_t>(values.size()))));
  std::copy(values.begin(), values.end(), out.mutable_values<T>().data());
  return out;
}

template <typename Split>
absl::Status DecodeTexts(KernelContext& ctx, const DecodeAttrs& attrs, bool with_offsets) {
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<CharacterReader> reader, MakeReader(attrs.encoding));
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  GYRE_ASSIGN_OR_RETURN(
      Tensor splits,
      ctx.Allocate(DTypeOf<Split>, Shape::Vector(static_cast<int64_t>(texts.size()) + 1)));
  const absl::Span<Split> split = splits.mutable_values<Split>();
  std::vector<int32_t> codes;
  std::vector<int64_t> offsets;
  split[0] = 0;
  int64_t work = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    // Before they are counted by what they are copied to.
    GYRE_RETURN_IF_ERROR(CheckStringBytes(
        ctx, static_cast<int64_t>(codes.size() * sizeof(int32_t) + texts[i].size())));
    reader->Begin(texts[i]);
    for (size_t at = 0; !reader->AtEnd();) {
      if (++work % 16384 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const CharacterReader::Character character = reader->Next();
      GYRE_ASSIGN_OR_RETURN(const int32_t code,
                            attrs.rules.Apply(character.code, character.is_malformed));
      if (code >= 0) {
        codes.push_back(code);
        if (with_offsets) offsets.push_back(static_cast<int64_t>(at));
      }
      at += character.size;
    }
    if (codes.size() > static_cast<size_t>(std::numeric_limits<Split>::max())) {
      return absl::InvalidArgumentError("there are more characters than row_splits can count");
    }
    split[i + 1] = static_cast<Split>(codes.size());
  }
  ctx.set_output(0, std::move(splits));
  GYRE_ASSIGN_OR_RETURN(Tensor values, VectorOf(ctx, codes));
  ctx.set_output(1, std::move(values));
  if (!with_offsets) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(Tensor starts, VectorOf(ctx, offsets));
  ctx.set_output(2, std::move(starts));
  return absl::OkStatus();
}

template <bool kWithOffsets>
struct Decoding {
  template <typename Split>
  struct For {
    static absl::Status Run(KernelContext& ctx, const DecodeAttrs& attrs) {
      return DecodeTexts<Split>(ctx, attrs, kWithOffsets);
    }
  };
};

absl::Status DecodeShape(ShapeContext& c) {
  int64_t n = 1;
  if (c.input(0).has_rank()) {
    for (const int64_t d : c.input(0).dims()) n = n < 0 || d < 0 || d > (1 << 30) ? -1 : n * d;
  } else {
    n = -1;
  }
  if (n > (int64_t{1} << 40)) n = -1;
  c.set_output(0, PartialShape(Dims{n < 0 ? -1 : n + 1}));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(Dims{-1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterUnicodeDecode(OpRegistry& ops) {
  constexpr absl::string_view kAttrs =
      " {input_encoding: string; errors: {'strict', 'replace', 'ignore'} = 'replace'; "
      "replacement_char: int = 65533; replace_control_characters: bool = false; Tsplits: {int32, "
      "int64} = int64}";
  const std::string decode = absl::StrCat(
      "UnicodeDecode(input: string) -> row_splits: Tsplits, char_values: int32", kAttrs);
  ops.Add({.schema = decode,
           .doc = "The code points of each string, ragged.",
           .shape = DecodeShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = ForTypes<Decoding<false>::For, IndexTypes>("Tsplits")});
  const std::string with_offsets = absl::StrCat(
      "UnicodeDecodeWithOffsets(input: string) -> row_splits: Tsplits, char_values: int32, "
      "char_to_byte_starts: int64",
      kAttrs);
  ops.Add({.schema = with_offsets,
           .doc = "The code points of each string, and the bytes where they begin, ragged.",
           .shape = DecodeShape,
           .gradient = NotDifferentiable("strings have no derivative"),
           .kernel = ForTypes<Decoding<true>::For, IndexTypes>("Tsplits")});
}

}  // namespace gyre
