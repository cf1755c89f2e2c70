// Staged: what passes take and give. A program, what a run asks of its main graph, and where the
// tensors of the graph that it was made from have gone.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre {

struct Staged {
  std::shared_ptr<const Program> program;
  RunSignature signature;  // of program->main()
  // Tensors of the imported main graph → tensors of program->main() with the same value. What is
  // not listed is not to be had any more.
  HashMap<Endpoint, Endpoint> values;
};

// The program as it is, before any pass: every tensor is where it was.
Staged MakeStaged(std::shared_ptr<const Program> program, RunSignature signature);

// A pass is a free function. Errors are bugs of the pass, or what is wrong with the program. A pass
// that finds nothing to do returns the very program that it was given.
using Pass = absl::StatusOr<Staged> (*)(const Staged&);

}  // namespace gyre
