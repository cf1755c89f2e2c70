// Shapes, as far as they are known of every run of a staged program.
#pragma once

#include <optional>

#include "ir/shape_inference.h"
#include "passes/staged.h"

namespace gyre::passes {

// Of a program whose shapes contradict each other, nothing is known. Good as long as the program's
// functions are what they were.
class KnownShapes {
 public:
  explicit KnownShapes(const Staged& staged);

  // Of the main graph for "".
  const FunctionShapes& Of(absl::string_view function) const;

 private:
  std::optional<ShapeTable> table_;
  FunctionShapes nothing_;
};

}  // namespace gyre::passes
