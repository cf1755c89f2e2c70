// Attributes that the types of a node's inputs and outputs already tell: T, N, Tin, …
#pragma once

#include "absl/types/span.h"
#include "ir/attr.h"
#include "ir/op_def.h"
#include "ir/program.h"

namespace gyre {

// The values of the attributes by which `op` names the types and numbers of its arguments, as far
// as these slots determine them. Slots of dtype kInvalid tell nothing. Where the slots contradict
// each other the first one counts.
AttrMap DeduceTypeAttrs(const OpDef& op, absl::Span<const NodeSignature::Slot> inputs,
                        absl::Span<const NodeSignature::Slot> outputs);

// True when attributes of the node still hold placeholders. Such a node stands in the body of a
// generic function and has no signature before its function is instantiated.
bool IsGeneric(const Node& node);

}  // namespace gyre
