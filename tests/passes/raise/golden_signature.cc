#include "passes/raise/golden_signature.h"

#include <utility>

#include "base/status.h"
#include "support/signature.h"

namespace gyre::testing {

absl::StatusOr<Staged> StagedFor(std::shared_ptr<const Program> program,
                                 const cli::GoldenStep& step) {
  std::vector<std::string> feeds;
  for (const auto& [name, value] : step.feeds) feeds.push_back(name);
  Staged staged;
  GYRE_ASSIGN_OR_RETURN(staged.signature, SignatureOf(*program, feeds, step.fetches, step.targets));
  for (const Node& node : program->main().nodes) {
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      staged.values.emplace(Endpoint{node.id, slot}, Endpoint{node.id, slot});
  }
  staged.program = std::move(program);
  return staged;
}

}  // namespace gyre::testing
