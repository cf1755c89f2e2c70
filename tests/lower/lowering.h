// Lowering in tests: running programs, lowered ones among them, on the reference engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exec/engine.h"
#include "support/lowered_program.h"

namespace gyre::testing {

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

}  // namespace gyre::testing
