// The dataflow engine: tagged tokens, parallel operations, parallel iterations.
//
// Structured nodes are lowered to the five primitives (lower/), calls expanded where they do not
// recurse. A node fires when the last of its inputs has arrived, on the thread that brought it
// unless it is known to be worth moving. docs/executor.md draws an iteration's way through it.
#pragma once

#include "exec/engine.h"

namespace gyre {

const Engine& DataflowEngine();
// The same with native code for loops of little work, made before the first run.
const Engine& CompiledEngine();

}  // namespace gyre
