// What stands behind the outputs of ops on lists, optionals and arrays: their `kinds` rules
// (OpDef::kinds).
#pragma once

#include "ops/value_kind.h"

namespace gyre {

struct Node;

namespace kinds {

// Output 0 is the list that input 0 is, or a new one. Where lists or handles lie in it, the last of
// several inputs is what it now holds, too.
KindRow List(const Node& node, const KindRow& inputs);
// The last output is an element of the list that input 0 is.
KindRow Element(const Node& node, const KindRow& inputs);
// Both.
KindRow ListAndElement(const Node& node, const KindRow& inputs);
// Tensors, of whatever dtype.
KindRow Plain(const Node& node, const KindRow& inputs);

// An optional that holds nothing.
KindRow Nothing(const Node& node, const KindRow& inputs);
// An optional that holds the inputs.
KindRow OptionalOfInputs(const Node& node, const KindRow& inputs);
// What the optional that is input 0 holds.
KindRow Content(const Node& node, const KindRow& inputs);
// … or the inputs behind it.
KindRow ContentOrInputs(const Node& node, const KindRow& inputs);

// The last output is the flow of an array, of whose elements the node's attributes name the type.
KindRow FlowLast(const Node& node, const KindRow& inputs);
// … and output 0 is a handle of an array of gradients.
KindRow GradientArrayAndFlow(const Node& node, const KindRow& inputs);

}  // namespace kinds
}  // namespace gyre
