// Which parts of a model's checkpoint are the values of which of its variables. Stateless; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bundle/reader.h"
#include "bundle/slice.h"
#include "graphdef/meta_graph.h"

namespace gyre {

// A variable's value in a checkpoint: a tensor, or a part of one.
struct VariableKey {
  std::string variable;  // as Session calls it
  std::string key;
  std::optional<SliceSpec> slice = {};
};

// By object, the node of the main graph that stands for it: what calls there capture are the
// functions' bound inputs, which are objects. INVALID_ARGUMENT where the two do not fit.
absl::StatusOr<std::vector<std::pair<int, NodeId>>> CapturedObjects(const MetaGraph& graph);

// What the model's objects say (CapturedObjects); the checkpoint numbers its objects alike. None
// for models, and checkpoints, without objects. INVALID_ARGUMENT where the two do not fit.
absl::StatusOr<std::vector<VariableKey>> KeysByObjects(const MetaGraph& graph,
                                                       const BundleReader& bundle);

// What the model's restore op says: every assignment of what RestoreV2 reads to a variable, in the
// main graph and in the functions that it calls. Read off the graph; nothing runs.
// INVALID_ARGUMENT for slices that are none.
absl::StatusOr<std::vector<VariableKey>> KeysByRestoreOps(const Program& program);

// The variable that a node is, or is a handle of, as Session calls it; empty if it is none.
std::string VariableOf(const Node& node);

}  // namespace gyre
