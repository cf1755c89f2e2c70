// GraphDefs in a form in which equal meaning is equal content.
#pragma once

#include <string>

#include "ir/op_def.h"
#include "wire/graph.pb.h"

namespace gyre::test {

wire::GraphDef ParseBinary(const std::string& bytes);

// Default attributes are filled in, constants take one of their many spellings, functions and
// control inputs stand in order, each control input once; flags and empty parts that only repeat
// what the rest says are gone.
void Canonicalize(const OpLookup& ops, wire::GraphDef& graph);

// How the two differ; empty when they don't.
std::string Differences(const wire::GraphDef& a, const wire::GraphDef& b);

}  // namespace gyre::test
