// A random program written with While, For, If, Case and calls of functions that get what they use
// of the outside as arguments. Stateless.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "grad/random_programs/random_program.h"
#include "ir/builder.h"

namespace gyre::testing {

// A program and what of its main graph is of interest.
struct Written {
  std::shared_ptr<const Program> program;
  std::vector<Endpoint> feeds;  // by parameter
  std::vector<Endpoint> ys;     // by result
};

absl::StatusOr<Written> WriteStructured(const RandomProgram& program);

// A placeholder for each parameter.
std::vector<Endpoint> WriteFeeds(const RandomProgram& program, FunctionBuilder& main);

}  // namespace gyre::testing
