// _Replayed: the node that stands for another one which has run and is not to run again.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "ir/builder.h"

namespace gyre {

// A node with the outputs, name, device and control inputs of `node`, which hands on `kept`, what
// that node has computed, and has its gradient. To be appended to or put in place in `builder`, in
// whose function both stand. INVALID_ARGUMENT unless `kept` has a value of its type for each
// output.
absl::StatusOr<Node> MakeReplayed(const Node& node, std::vector<Endpoint> kept,
                                  const FunctionBuilder& builder);

}  // namespace gyre
