// Nodes that read or change one part of a tensor, named by scalars.
#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

// What _Element or _SetElement (element.cc) is to be given to do what a node does.
struct ElementAccess {
  absl::string_view op;
  std::vector<Endpoint> inputs;  // in the function of the node
  int num_indices = 0;           // the last of the inputs: scalars, if the function has no mistake
  std::vector<NodeId> packs;     // nodes that packed indices for it
};

// Of a StridedSlice or TensorScatterUpdate whose indices are packed of scalars; nullopt for others.
std::optional<ElementAccess> ElementAccessOf(const Function& function, const Node& node);

}  // namespace gyre
