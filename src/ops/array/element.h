// Nodes that read or change one part of a tensor, named by scalars.
#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

// What _Element or _SetElement (element.cc) is to be given to do what a node does.
struct ElementAccess {
  struct Index {
    Endpoint scalar;                  // if the function has no mistake
    std::optional<int64_t> constant;  // in its place
  };

  absl::string_view op;
  Endpoint tensor;                // as all endpoints here, of the node's function
  std::optional<Endpoint> value;  // of _SetElement
  // Of StridedSlice, which is this only if it has as many elements as there are indices.
  std::optional<Endpoint> end;
  std::vector<Index> indices;
  bool from_end = true;  // negative indices count from there
  DType index_type = DType::kInt32;
  std::vector<NodeId> packs;  // nodes that packed indices for it
};

// Of a StridedSlice or TensorScatterUpdate whose indices are packed of scalars, or are constants;
// of a Gather of rows by what may be a scalar. Nullopt for others.
std::optional<ElementAccess> ElementAccessOf(const Function& function, const Node& node);

}  // namespace gyre
