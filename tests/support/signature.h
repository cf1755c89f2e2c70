// What a run asks for, by names: for tests of passes and lowering. Stateless.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/run_signature.h"

namespace gyre::testing {

// "node:slot" or "node" in the main graph of `program`.
absl::StatusOr<Endpoint> FindEndpoint(const Program& program, const std::string& name);
absl::StatusOr<RunSignature> SignatureOf(const Program& program,
                                         const std::vector<std::string>& feeds,
                                         const std::vector<std::string>& fetches,
                                         const std::vector<std::string>& targets);

}  // namespace gyre::testing
