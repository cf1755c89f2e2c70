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

PartialShape NamedShapes::Of(const std::string& function, const std::string& node, int slot) {
  const auto [it, is_new] = ids_.try_emplace(function);
  if (is_new) {
    const Function* old = function.empty() ? &program_.main() : program_.FindFunction(function);
    if (old != nullptr) {
      for (const Node& each : old->nodes) it->second.emplace(each.name, each.id);
    }
  }
  const auto id = it->second.find(node);
  if (id == it->second.end()) return PartialShape::Unknown();
  return shapes_.Of(function).at({id->second, slot}).shape;
}

}  // namespace gyre::passes
