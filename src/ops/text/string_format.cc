#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/string_bytes.h"
#include "tensor/format.h"

namespace gyre {
namespace {

struct StringFormatAttrs {
  // INVALID_ARGUMENT unless there are as many placeholders as inputs.
  static absl::StatusOr<StringFormatAttrs> Make(const Node& node) {
    StringFormatAttrs attrs;
    attrs.summarize = NodeAttr<int64_t>(node, "summarize");
    const std::string& text = NodeAttr<std::string>(node, "template");
    const std::string& placeholder = NodeAttr<std::string>(node, "placeholder");
    if (placeholder.empty()) return absl::InvalidArgumentError("placeholder must not be empty");
    attrs.pieces = absl::StrSplit(text, placeholder);
    const size_t num_inputs = NodeAttr<std::vector<DType>>(node, "T").size();
    if (attrs.pieces.size() != num_inputs + 1) {
      return absl::InvalidArgumentError(absl::StrCat("the template has ", attrs.pieces.size() - 1,
                                                     " placeholders for ", num_inputs, " inputs"));
    }
    return attrs;
  }
  std::vector<std::string> pieces;  // the template, cut at the placeholders
  int64_t summarize = 0;
};

absl::Status StringFormat(KernelContext& ctx, const StringFormatAttrs& attrs) {
  std::string text = attrs.pieces[0];
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    absl::StrAppend(&text, FormatTensor(ctx.input(i), attrs.summarize, TensorFormat::kNested),
                    attrs.pieces[i + 1]);
    GYRE_RETURN_IF_ERROR(CheckStringBytes(ctx, static_cast<int64_t>(text.size())));
    GYRE_RETURN_IF_ERROR(ctx.Poll());
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, TextScalar(ctx, std::move(text)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

void RegisterStringFormat(OpRegistry& ops) {
  ops.Add({
      .schema = "StringFormat(inputs: T) -> output: string {T: list(type) >= 0; "
                "template: string = '%s'; placeholder: string = '%s'; summarize: int = 3}",
      .doc = "Puts the inputs, as text, in the place of the template's placeholders.",
      .shape = shape::Scalar,
      .gradient = NotDifferentiable("its result is a string"),
      .kernel = Compute<&StringFormat>(),
  });
}

}  // namespace gyre
