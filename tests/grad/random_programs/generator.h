// The random program of a seed: loops, branches, calls and recursion, nested up to three deep,
// around expressions.h.
#pragma once

#include <cstdint>

#include "grad/random_programs/random_program.h"

namespace gyre::testing {

RandomProgram MakeRandomProgram(uint64_t seed);

}  // namespace gyre::testing
