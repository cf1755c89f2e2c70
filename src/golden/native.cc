#include "golden/native.h"

#include <utility>

#include "base/status.h"
#include "golden/runs.h"
#include "passes/prune.h"

namespace gyre::golden {

sequential::NativeShare CountNative(const Case& golden, const Session& session,
                                    const SessionOptions& options) {
  sequential::NativeShare share;
  for (const NamedRun& run : DifferentRuns(golden)) {
    absl::StatusOr<Staged> staged = StagedRun(session, options, run);
    if (staged.ok()) staged = PrunePass(*std::move(staged));
    if (staged.ok()) share.Add(sequential::CountNative(*staged->program));
  }
  return share;
}

}  // namespace gyre::golden
