// Handles of resources, and DestroyResourceOp, which takes any of them.
#include "ops/state/resource.h"

#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The shared name by which the wire says "no name at all".
constexpr absl::string_view kAnonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

struct DestroyAttrs {
  explicit DestroyAttrs(const Node& node)
      : ignore_lookup_error(NodeAttr<bool>(node, "ignore_lookup_error")) {}
  bool ignore_lookup_error;
};

absl::Status DestroyResource(KernelContext& ctx, const DestroyAttrs& attrs) {
  auto* resource = ctx.input(0).object_as<Resource>();
  if (resource == nullptr) return NotAHandle(ctx, 0, "resource");
  if (!resource->Destroy() && !attrs.ignore_lookup_error) {
    return absl::NotFoundError(absl::StrCat("there is nothing to destroy: ", resource->type_name(),
                                            " ", resource->name(), " has no content"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status NotAHandle(const KernelContext& ctx, int i, absl::string_view type) {
  const Tensor& input = ctx.input(i);
  const std::string found =
      input.object() != nullptr ? absl::StrCat("one of a ", input.object()->type_name())
      : input.rank() == 0       ? std::string("empty")
                                : absl::StrCat("of shape ", input.shape().ToString());
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " must be a handle of a ", type, ", but it is ", found));
}

ResourceName::ResourceName(const Node& node)
    : container(node.attrs.GetOr<std::string>("container", "")),
      name(node.attrs.GetOr<std::string>("shared_name", "")),
      anonymous(name == kAnonymousName) {
  if (name.empty()) name = node.name;
}

void RegisterDestroyResource(OpRegistry& ops) {
  ops.Add(
      {.schema = "DestroyResourceOp(resource: resource) -> {ignore_lookup_error: bool = true}",
       .doc = "Lets go of what a resource holds: a variable becomes uninitialised, a queue closes.",
       .traits = {.effect = Effect::kWrite},
       .shape = shape::None,
       .gradient = NotDifferentiable("it has no outputs"),
       .kernel = Compute<DestroyResource>()});
}

}  // namespace gyre
