// Forms: what a session makes of a program, for one signature, before an engine compiles it.
// Stateless; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "gyre/core/session.h"
#include "passes/staged.h"

namespace gyre {

// INVALID_ARGUMENT when `options` names a pass that does not exist.
absl::Status CheckForm(const SessionOptions& options);

// The form that options or the environment (GYRE_FORM) name; nullopt: as imported, and optimised
// once it is hot. INVALID_ARGUMENT where the environment names none that there is.
absl::StatusOr<std::optional<ProgramForm>> FormOf(const SessionOptions& options);

// The program with what they compute in the place of SymbolicGradients.
absl::StatusOr<Staged> WithoutSymbolicGradients(Staged staged);

// The program in the form that `options` names, or as it is.
absl::StatusOr<Staged> ToForm(Staged staged, const SessionOptions& options);

// The program as runs of sessions take it that ask for these: what branches and loops do happens
// where that needs it (passes/for_results.h). Errors are those of names.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::shared_ptr<const Program>> ForResults(
    const std::shared_ptr<const Program>& program, const std::vector<std::string>& feeds,
    const std::vector<std::string>& fetches, const std::vector<std::string>& targets);

// The program with primitives in place of If, Case, While and calls in its main graph, all of whose
// nodes stay. Functions that stay calls, those of recursion, may name any other, which stay, too.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::shared_ptr<const Program>> LowerMain(
    const Program& program);

}  // namespace gyre
