// StructuredEdit: changing one structured node together with the functions that it calls.
//
// A function that others use as well is copied for the one call, as "f/rest".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/effects.h"
#include "base/hash_map.h"
#include "passes/edit/interface.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/staged_edit.h"

namespace gyre::passes {

// How often each function is named, by calls or otherwise.
using NameCounts = HashMap<std::string, int>;
// Requirement: nothing has been changed yet.
NameCounts CountNames(const StagedEdit& edit);

class StructuredEdit {
 public:
  // Whether the functions of `structured` may be changed for this call: they fit it, have no
  // primitives and do not call themselves, and none has to be copied that is large, or whose random
  // numbers hang on its name.
  static bool CanChange(const StagedEdit& edit, const Effects& effects, const NameCounts& counts,
                        const Node& structured);

  // Requirement: CanChange. `counts` learn of what a copy names.
  StructuredEdit(StagedEdit& edit, NameCounts& counts, const Node& structured);

  // In the order of CalleesOf.
  std::vector<Rewrite>& callees() { return callees_; }
  // Hands the functions to the program, and to `caller` the node with what it takes and gives now.
  absl::Status Finish(const StructuredInterface& wanted, NodeId structured, Rewrite& caller) &&;

 private:
  StagedEdit& edit_;
  std::vector<std::string> names_;  // as the functions are called now
  std::vector<Rewrite> callees_;
};

}  // namespace gyre::passes
