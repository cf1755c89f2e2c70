// The different runs of a golden case, for what looks at their programs. Stateless; any thread.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "golden/case.h"
#include "gyre/core/session.h"
#include "passes/staged.h"

namespace gyre::golden {

// Names of feeds, fetches and targets.
using NamedRun =
    std::tuple<std::vector<std::string>, std::vector<std::string>, std::vector<std::string>>;

// Of its ops of initialisation and its steps. None of a model, which runs by signature.
std::set<NamedRun> DifferentRuns(const Case& golden);

// What a session that has loaded the case makes of a run, in the form that `options` names.
absl::StatusOr<Staged> StagedRun(const Session& session, const SessionOptions& options,
                                 const NamedRun& run);

}  // namespace gyre::golden
