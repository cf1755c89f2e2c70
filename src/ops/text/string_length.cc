#include <algorithm>

#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct StringLengthAttrs {
  explicit StringLengthAttrs(const Node& node)
      : count_characters(NodeAttr<std::string>(node, "unit") == "UTF8_CHAR") {}
  bool count_characters;
};

int64_t CountCharacters(const std::string& utf8) {
  // Every byte but the continuations (10xxxxxx) starts a character.
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

absl::Status StringLength(KernelContext& ctx, const StringLengthAttrs& attrs) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt32, input.shape()));
  const absl::Span<const std::string> strings = input.values<std::string>();
  const absl::Span<int32_t> lengths = out.mutable_values<int32_t>();
  for (size_t i = 0; i < strings.size(); ++i) {
    if (i % 4096 == 4095) GYRE_RETURN_IF_ERROR(ctx.Poll());
    lengths[i] =
        static_cast<int32_t>(attrs.count_characters ? CountCharacters(strings[i])
                                                    : static_cast<int64_t>(strings[i].size()));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

void RegisterStringLength(OpRegistry& ops) {
  ops.Add({
      .schema = "StringLength(input: string) -> output: int32 "
                "{unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'}",
      .doc = "The number of bytes, or of UTF-8 characters, of each string.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("strings have no derivative"),
      .failure = fails::Never,
      .kernel = Compute<&StringLength>(),
  });
}

}  // namespace gyre
