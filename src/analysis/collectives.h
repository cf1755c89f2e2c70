// Whether a run takes part in what other ranks do. Pure function; any thread.
#pragma once

#include "analysis/run_signature.h"
#include "ir/program.h"

namespace gyre {

// Whether a run needs a collective, or calls a function that holds one, needed or not.
bool HoldsCollectives(const Program& program, const RunSignature& signature);

}  // namespace gyre
