#include "passes/raise/golden_signature.h"

#include <utility>

#include "base/status.h"
#include "support/signature.h"

namespace gyre::testing {

absl::StatusOr<Staged> StagedFor(std::shared_ptr<const Program> program, const golden::Step& step) {
  std::vector<std::string> feeds;
  for (const auto& [name, value] : step.feeds) feeds.push_back(name);
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        SignatureOf(*program, feeds, step.fetches, step.targets));
  return MakeStaged(std::move(program), std::move(signature));
}

}  // namespace gyre::testing
