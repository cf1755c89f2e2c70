// A random program run, and what it did written down as a program without control flow: each op
// that ran, on the values that it got. Stateless.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grad/random_programs/structured.h"

namespace gyre::testing {

// What a run did.
struct Trace {
  int num_ops = 0;
  std::set<std::string> ops;  // that ran, structured ones among them
  // Branches taken and numbers of iterations, in order: what the same values do again.
  std::vector<int> path;
  std::vector<int> iterations;   // by run of a loop
  int data_dependent_loops = 0;  // runs of loops whose condition depends on what is fed
  int deepest = 0;               // blocks and calls around a statement
  // Programs are smooth but where a comparison or a cast to int decides, or an extremum chooses:
  // the least distance of any of those from the point where it would have decided otherwise.
  double margin = 1;
  double largest = 0;  // of all numbers
};

struct Unrolled {
  Written written;
  std::vector<Tensor> values;  // by result
  std::vector<bool> depends;   // by result: on an x, in any way
  Trace trace;
};

// RESOURCE_EXHAUSTED when more than `max_ops` ops run or a tensor or list grows too large; the
// error of an op that fails.
absl::StatusOr<Unrolled> Unroll(const RandomProgram& program, const std::vector<Tensor>& feeds,
                                int max_ops);

}  // namespace gyre::testing
