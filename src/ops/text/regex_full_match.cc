// StaticRegexFullMatch, whose pattern is an attribute, and RegexFullMatch, whose pattern is an
// input.
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/text/regex.h"

namespace gyre {
namespace {

struct PatternAttrs {
  static absl::StatusOr<PatternAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(auto regex, ParseRegex(NodeAttr<std::string>(node, "pattern")));
    return PatternAttrs{std::move(regex)};
  }
  std::unique_ptr<const re2::RE2> regex;
};

absl::Status Match(KernelContext& ctx, const re2::RE2& regex) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, ctx.input(0).shape()));
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  const absl::Span<bool> matches = out.mutable_values<bool>();
  for (size_t i = 0; i < texts.size(); ++i) {
    GYRE_RETURN_IF_ERROR(ctx.Poll());
    matches[i] = re2::RE2::FullMatch(AsPiece(texts[i]), regex);
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StaticFullMatch(KernelContext& ctx, const PatternAttrs& attrs) {
  return Match(ctx, *attrs.regex);
}

absl::Status FullMatch(KernelContext& ctx) {
  if (ctx.input(1).rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern must be a scalar, but has shape ", ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const auto regex, ParseRegex(ctx.input(1).scalar<std::string>()));
  return Match(ctx, *regex);
}

}  // namespace

void RegisterRegexFullMatch(OpRegistry& ops) {
  ops.Add({
      .schema = "StaticRegexFullMatch(input: string) -> output: bool {pattern: string}",
      .doc = "Whether each string as a whole matches a regular expression.",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("its result is no number"),
      .kernel = Compute<&StaticFullMatch>(),
  });
  ops.Add({
      .schema = "RegexFullMatch(input: string, pattern: string) -> output: bool",
      .doc = "Whether each string as a whole matches a regular expression, which is an input.",
      .shape = shape::SameAsInput,
      .gradient = NotDifferentiable("its result is no number"),
      .batch = {batch::FirstStacked},
      .kernel = Compute<&FullMatch>(),
  });
}

}  // namespace gyre
