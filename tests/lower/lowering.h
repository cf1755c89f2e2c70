// Lowering in tests: from a program and names to a program of primitives, and running either on the
// reference engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exec/engine.h"
#include "lower/lower.h"
#include "session/names.h"

namespace gyre::testing {

// `program` with its main graph replaced by the lowered one.
struct LoweredProgram {
  std::shared_ptr<const Program> program;
  RunSignature signature;
};
absl::StatusOr<LoweredProgram> LowerMain(const Program& program, const RunSignature& signature,
                                         const LowerOptions& options = {});

// The same with the nodes of the main graph in another order: engines then find them ready in
// another order, and only edges keep effects in theirs.
LoweredProgram Shuffled(const LoweredProgram& lowered, uint32_t seed);

// Runs programs one after another with the same variables, and keeps what they print.
class Runner {
 public:
  absl::StatusOr<std::vector<Tensor>> Run(std::shared_ptr<const Program> program,
                                          const RunSignature& signature,
                                          const std::vector<Tensor>& feeds,
                                          int64_t timeout_ms = 20'000);
  // Lines, in the order in which they were printed.
  const std::vector<std::string>& printed() const { return printed_; }

 private:
  ResourceStore resources_;
  std::vector<std::string> printed_;
  uint64_t runs_ = 0;
};

// Equal in type, shape and every bit (nan equals nan of the same bits).
bool BitEqual(const Tensor& a, const Tensor& b);

}  // namespace gyre::testing
