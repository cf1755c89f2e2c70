// What the runs of golden cases ask for, as passes take it. Stateless.
#pragma once

#include "absl/status/statusor.h"
#include "golden/case.h"
#include "passes/staged.h"

namespace gyre::testing {

// `program`, a golden case's graph, with what one of its steps feeds, fetches and runs. Every
// tensor is its own value.
absl::StatusOr<Staged> StagedFor(std::shared_ptr<const Program> program, const golden::Step& step);

}  // namespace gyre::testing
