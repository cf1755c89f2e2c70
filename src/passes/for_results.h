// ForResults: what branches and loops of sessions' graphs do happens where what is fetched needs
// it.
#pragma once

#include "absl/strings/string_view.h"
#include "passes/staged.h"

namespace gyre {

// Of an If, Case or While whose functions run for their results: what these need, by data and
// control edges, and nothing else. Other programs know it, too.
inline constexpr absl::string_view kForResultsAttr = "_lower_using_switch_merge";

// Gives such nodes functions without the effects that neither a needed output of the node nor a
// control result asks for. Outputs that nobody reads hold anything afterwards; of a node that is
// waited for or a target, all are needed.
absl::StatusOr<Staged> ForResultsPass(const Staged& staged);

}  // namespace gyre
