// Shapes, as far as they are known of every run of a staged program.
#pragma once

#include <optional>
#include <string>

#include "base/hash_map.h"
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

// What is known before a pass, by name: names stay while ids change. Not thread-safe.
class NamedShapes {
 public:
  explicit NamedShapes(const Staged& staged) : program_(*staged.program), shapes_(staged) {}

  // Of output `slot` of a node; of the main graph for "".
  PartialShape Of(const std::string& function, const std::string& node, int slot);

 private:
  const Program& program_;
  const KnownShapes shapes_;
  HashMap<std::string, HashMap<std::string, NodeId>> ids_;
};

}  // namespace gyre::passes
