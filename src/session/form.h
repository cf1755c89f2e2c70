// Forms: what a session makes of a program, for one signature, before an engine compiles it.
// Stateless; any thread.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gyre/session.h"
#include "passes/pipeline.h"
#include "passes/staged.h"

namespace gyre {

// INVALID_ARGUMENT when `options` names a form or a pass that does not exist.
absl::Status CheckForm(const SessionOptions& options);

// The program in the form that `options` names.
absl::StatusOr<Staged> ToForm(Staged staged, const SessionOptions& options);

// What the pipeline makes of a session's choice of passes.
PipelineOptions ToPipelineOptions(const PassOptions& passes);

}  // namespace gyre
