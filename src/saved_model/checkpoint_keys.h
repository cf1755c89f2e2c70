// Which parts of a model's checkpoint are the values of which of its variables. Stateless; any
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bundle/reader.h"
#include "graphdef/meta_graph.h"
#include "session/model_files.h"

namespace gyre {

// A variable's value in a checkpoint: a tensor, or a part of one.
struct VariableKey {
  std::string variable;  // as Session calls it
  std::string key;
  std::string slice = {};  // of the tensor, as the restore op writes it; empty: all of it
};

// The model's checkpoint; nullopt when there is none. NOT_FOUND where its objects need one.
absl::StatusOr<std::optional<BundleReader>> OpenCheckpoint(const ModelFiles& files,
                                                           const MetaGraph& graph);

// By object, the value of the main graph that stands for it: what calls there capture are the
// functions' bound inputs, which are objects. INVALID_ARGUMENT where the two do not fit.
absl::StatusOr<std::vector<std::pair<int, Endpoint>>> CapturedObjects(const MetaGraph& graph);

// What the model's objects say (CapturedObjects); the checkpoint numbers its objects alike. None
// for models, and checkpoints, without objects. INVALID_ARGUMENT where the two do not fit.
absl::StatusOr<std::vector<VariableKey>> KeysByObjects(const MetaGraph& graph,
                                                       const BundleReader& bundle);

// By key of the checkpoint: the variables, or parts of variables, that it is made of. The model's
// restore op says it: every assignment of what RestoreV2 reads to a variable, in the main graph and
// in the functions that it calls. Of variables and keys that `of_objects` names, that counts
// alone: functions run with these. Read off the graph; nothing runs.
std::map<std::string, std::vector<VariableKey>> PartsByKey(
    const Program& program, const std::vector<VariableKey>& of_objects);

// The variable that a node is, or is a handle of, as Session calls it; empty if it is none.
std::string VariableOf(const Node& node);

}  // namespace gyre
