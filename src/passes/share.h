// Share: what is computed twice in one body is computed once.
//
// Two nodes are equal when op, attributes (tensors bit by bit), inputs, control inputs and device
// are, and both are pure, also in what they call. Random numbers, fresh resources, effects, feeds
// and readers of references are never shared. The first of equal nodes stays.
#pragma once

#include "passes/staged.h"

namespace gyre {

absl::StatusOr<Staged> SharePass(const Staged& staged);

}  // namespace gyre
