// StringStrip: texts without the white space around them.
#include "absl/strings/ascii.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/map_texts.h"

namespace gyre {
namespace {

absl::Status Strip(KernelContext& ctx) {
  return MapTexts(ctx, [](const std::string& text, std::string& out) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(text);
    out.assign(stripped.data(), stripped.size());
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterStringStrip(OpRegistry& ops) {
  ops.Add({.schema = "StringStrip(input: string) -> output: string",
           .doc = "Each string without the white space at its ends.",
           .api = {"strings.strip"},
           .traits = {.elementwise = true},
           .shape = shape::SameAsInput,
           .gradient = NotDifferentiable("strings have no derivative"),
           .failure = fails::Never,
           .kernel = Compute<&Strip>()});
}

}  // namespace gyre
