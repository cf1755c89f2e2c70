// Where a node runs, in terms of the program as it was before lowering: its tag, and the text that
// goes with an error. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exec/dataflow/frame.h"
#include "exec/engine.h"

namespace gyre::dataflow {

inline const NodeInfo& InfoOf(Ready ready) {
  return ready.iteration->frame->activation->plan->infos[ready.node().value()];
}

// Where a node runs, for kernels that ask (random keys, rendezvous).
Tag TagOf(Ready where);
// The tag that the main iteration of the function called at `structured` has.
Tag CalleeTag(Ready structured);
// The loops, branches and calls around a node, outermost first. Views into the plan.
std::vector<Surrounding> Around(Ready where);
RunProgress ProgressAt(Ready where);
// As observers are told it; `sources` holds what the result points to.
TokenOrigin TokenOriginOf(Ready where, std::vector<int>* sources);
// Where `status` happened, in the user's words: node, loops, branches and calls, innermost first.
std::string Locate(Ready where, const absl::Status& status);

}  // namespace gyre::dataflow
