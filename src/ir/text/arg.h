// What the printer and the parser of the text form must agree on beyond the grammar. Internal to
// them.
#pragma once

#include "ir/program.h"

namespace gyre {

// The node that an argument written `%name: type` in a function's header stands for: node number
// `id`, first in the body. `ops` may be null; the node's op is then null too.
Node PlainArgNode(const OpLookup* ops, NodeId id, const FunctionArg& arg);

}  // namespace gyre
