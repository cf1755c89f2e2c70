// Makes a random program that shows a mistake smaller, as long as it shows it. Stateless.
#pragma once

#include <functional>

#include "grad/random_programs/random_program.h"

namespace gyre::testing {

// Asks `fails` at most `max_tries` times.
RandomProgram Shrink(RandomProgram program, const std::function<bool(const RandomProgram&)>& fails,
                     int max_tries);

}  // namespace gyre::testing
