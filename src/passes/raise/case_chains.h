// Case chains: `x == 0 ? a : x == 1 ? b : … : z` as one Case on x.
//
//   If(Equal(x, 0)) then a                         Case(x) branches=[a, b, …, z]
//     else If(Equal(x, 1)) then b       becomes
//       else … z
//
// An index that is out of range takes the last branch: what the chain does, too.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "ir/program.h"

namespace gyre::raise {

// Replaces the chains in `function`. Their functions are among `functions`, each called from one
// place; what is not called any more is taken out, and new ones are put in. `names` as in
// RaisingEmitter.
absl::Status MakeCases(const OpLookup& ops, std::map<std::string, int>& names,
                       std::map<std::string, Function>& functions, Function& function);

}  // namespace gyre::raise
