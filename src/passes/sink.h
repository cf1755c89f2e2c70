// Sink: what only one branch uses is computed in that branch.
//
// A pure op whose every reader is one If or Case, for arguments that one of its branches alone
// reads, moves into that branch, and what it reads with it; it no longer runs, and cannot fail,
// where the other branch is taken. What is fetched, waited for, or has effects stays.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> SinkPass(const Staged& staged);

}  // namespace gyre
