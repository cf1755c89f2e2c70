#include "passes/raise/golden_signature.h"

#include <utility>

#include "base/status.h"
#include "session/names.h"

namespace gyre::testing {

absl::StatusOr<Staged> StagedFor(std::shared_ptr<const Program> program, const golden::Step& step) {
  GYRE_ASSIGN_OR_RETURN(
      RunSignature signature,
      MainNames(*program).FindSignature(NamesOf(step.feeds), step.fetches, step.targets));
  return MakeStaged(std::move(program), std::move(signature));
}

}  // namespace gyre::testing
