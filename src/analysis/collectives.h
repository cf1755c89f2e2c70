// Whether a run takes part in what other ranks do, and what decides how. Pure functions; any
// thread.
#pragma once

#include <map>
#include <string>

#include "analysis/run_signature.h"
#include "ir/program.h"

namespace gyre {

// Whether a run needs a collective, or calls a function that holds one, needed or not.
bool HoldsCollectives(const Program& program, const RunSignature& signature);

// By the names of collectives that stand in loops and branches: whose predicates decide whether a
// run comes to them, the innermost first, as lines of a message: "\n  as predicate Less (Less) of
// While node for decides". Of two with one name, the one that calls lead to first.
std::map<std::string, std::string> DecidersOfCollectives(const Program& program);

}  // namespace gyre
