// Placeholder, PlaceholderWithDefault: values that the caller feeds.
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/control/forward.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Runs only when nobody fed it.
absl::Status MissingFeed(KernelContext& ctx) {
  return absl::InvalidArgumentError(absl::StrCat("You must feed a value for placeholder tensor '",
                                                 ctx.node().name, "' with dtype ",
                                                 DTypeName(ctx.output_dtype(0))));
}

// An old habit of the wire: before producer 24, a scalar shape attribute meant "unknown".
absl::Status PlaceholderShape(ShapeContext& c) {
  c.set_output(0, c.attrs().GetOr<PartialShape>("shape", PartialShape::Unknown()));
  return absl::OkStatus();
}

absl::Status DefaultShape(ShapeContext& c) {
  const PartialShape declared = c.attrs().GetOr<PartialShape>("shape", PartialShape::Unknown());
  GYRE_RETURN_IF_ERROR(declared.Intersect(c.input(0)).status());
  c.set_output(0, declared);  // a feed may have any shape that was declared
  return absl::OkStatus();
}

struct DefaultAttrs {
  explicit DefaultAttrs(const Node& node) : shape(NodeAttr<PartialShape>(node, "shape")) {}
  PartialShape shape;
};

absl::Status ForwardDefault(KernelContext& ctx, const DefaultAttrs& attrs) {
  if (!attrs.shape.Allows(ctx.input(0).shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the default value has shape ", ctx.input(0).shape().ToString(),
                     ", but the placeholder was declared with ", attrs.shape.ToString()));
  }
  return ForwardInput(ctx);
}

}  // namespace

void RegisterPlaceholder(OpRegistry& ops) {
  ops.Add({.schema = "Placeholder() -> output: dtype {dtype: type; shape: shape = ?}",
           .doc = "A value that must be fed.",
           .kind = OpKind::kPlaceholder,
           .shape = PlaceholderShape,
           .gradient = NotDifferentiable("a placeholder depends on nothing"),
           .kernel = Compute<MissingFeed>()});
  ops.Add({.schema =
               "PlaceholderWithDefault(input: dtype) -> output: dtype {dtype: type; shape: shape}",
           .doc = "A value that may be fed; its input otherwise.",
           .shape = DefaultShape,
           .gradient = {gradient::PassOn},
           .batch = {batch::ShapeAttr},
           .kernel = Compute<ForwardDefault>()});
}

}  // namespace gyre
