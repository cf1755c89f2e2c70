// A program whose main graph is lowered to primitives. Stateless.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "analysis/run_signature.h"
#include "ir/program.h"
#include "lower/lower.h"

namespace gyre::testing {

// `program` with its main graph replaced by the lowered one.
struct LoweredProgram {
  std::shared_ptr<const Program> program;
  RunSignature signature;
};

// INTERNAL if what comes out is not sound: a structured node is left, or a node has no origin.
absl::StatusOr<LoweredProgram> LowerMain(const Program& program, const RunSignature& signature,
                                         const LowerOptions& options = {});

}  // namespace gyre::testing
