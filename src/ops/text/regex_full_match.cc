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
    GYRE_ASSIGN_OR_RETURN(Regex regex, Regex::Parse(NodeAttr<std::string>(node, "pattern")));
    return PatternAttrs{std::move(regex)};
  }
  Regex regex;
};

absl::Status Match(KernelContext& ctx, const Regex& regex) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kBool, ctx.input(0).shape()));
  const absl::Span<const std::string> texts = ctx.input(0).values<std::string>();
  const absl::Span<bool> matches = out.mutable_values<bool>();
  for (size_t i = 0; i < texts.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(matches[i], regex.FullMatch(texts[i], [&] { return ctx.Poll(); }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StaticFullMatch(KernelContext& ctx, const PatternAttrs& attrs) {
  return Match(ctx, attrs.regex);
}

absl::Status FullMatch(KernelContext& ctx) {
  if (ctx.input(1).rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern must be a scalar, but has shape ", ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Regex regex, Regex::Parse(ctx.input(1).scalar<std::string>()));
  return Match(ctx, regex);
}

absl::Status MatchShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

}  // namespace

void RegisterRegexFullMatch(OpRegistry& ops) {
  ops.Add({
      .schema = "StaticRegexFullMatch(input: string) -> output: bool {pattern: string}",
      .doc = "Whether each string as a whole matches a regular expression.",
      .traits = {.elementwise = true},
      .shape = MatchShape,
      .gradient = NotDifferentiable("its result is no number"),
      .kernel = Compute<&StaticFullMatch>(),
  });
  ops.Add({
      .schema = "RegexFullMatch(input: string, pattern: string) -> output: bool",
      .doc = "Whether each string as a whole matches a regular expression, which is an input.",
      .shape = MatchShape,
      .gradient = NotDifferentiable("its result is no number"),
      .batch = {batch::FirstStacked},
      .kernel = Compute<&FullMatch>(),
  });
}

}  // namespace gyre
