#include "passes/edit/shapes.h"

#include <utility>

namespace gyre::passes {

KnownShapes::KnownShapes(const Staged& staged) {
  // Passes drop what fails where nobody needs its outputs.
  ShapeOptions options{.may_lose_errors = true};
  for (const Endpoint& feed : staged.signature.feeds) {
    const Node& node = staged.program->main().node(feed.node);
    PartialShape shape = PartialShape::Unknown();
    if (node.kind() == OpKind::kPlaceholder) shape = node.attrs.GetOr("shape", std::move(shape));
    options.fed.emplace(feed, std::move(shape));
  }
  absl::StatusOr<ShapeTable> table = InferShapes(*staged.program, options);
  if (table.ok()) table_ = *std::move(table);
}

const FunctionShapes& KnownShapes::Of(absl::string_view function) const {
  const FunctionShapes* shapes = table_ ? table_->Find(function) : nullptr;
  return shapes == nullptr ? nothing_ : *shapes;
}

}  // namespace gyre::passes
