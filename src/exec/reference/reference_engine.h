// The reference engine: the meaning of a program, as code.
//
// One thread, one step at a time, no cleverness. It walks structured nodes (If, Case, While, For,
// calls) by starting their functions, and moves tokens through graphs of primitives by the rules of
// docs/semantics.md. Calls and frames live on the heap, so recursion and nesting are limited by
// memory (charged to the run's budget), not by the C++ stack.
#pragma once

#include "exec/engine.h"

namespace gyre {

const Engine& ReferenceEngine();

}  // namespace gyre
