#include "golden/runs.h"

#include <utility>

#include "base/status.h"
#include "session/form.h"
#include "session/names.h"

namespace gyre::golden {

std::set<NamedRun> DifferentRuns(const Case& golden) {
  using Names = std::vector<std::string>;
  std::set<NamedRun> runs;
  if (golden.is_model()) return runs;
  for (const std::string& op : golden.init) runs.emplace(Names(), Names(), Names{op});
  for (const Step& step : golden.steps)
    runs.emplace(NamesOf(step.feeds), step.fetches, step.targets);
  return runs;
}

absl::StatusOr<Staged> StagedRun(const Session& session, const SessionOptions& options,
                                 const NamedRun& run) {
  const auto& [feeds, fetches, targets] = run;
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        MainNames(session.program()).FindSignature(feeds, fetches, targets));
  return ToForm(MakeStaged(session.shared_program(), std::move(signature)), options);
}

}  // namespace gyre::golden
