// What lowering, sessions and both engines say of programs and signatures that cannot run.
// Stateless.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analysis/run_signature.h"
#include "ir/program.h"

namespace gyre {

// NOT_FOUND: a node of an op that nobody has registered.
absl::Status UnregisteredOp(const Node& node);
// NOT_FOUND, which names them all: nodes that a run needs, in functions that it may come to call,
// too, are of ops that nobody has registered.
absl::Status CheckOps(const Program& program, const RunSignature& signature);
// The same of all nodes of a program.
absl::Status CheckAllOps(const Program& program);
// OK when `node` calls functions that exist and fit it, or none. NOT_FOUND, INVALID_ARGUMENT.
absl::Status CheckCallees(const Program& program, const Node& node);
// INVALID_ARGUMENT: a fetch of a value within a loop of primitives.
absl::Status FetchInLoop(absl::string_view fetch, absl::string_view frame);

}  // namespace gyre
