// What ops that touch files have in common: their names come from values, and what a run may touch
// is the run's to say (RunEnv::sandbox). Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/kernel.h"

namespace gyre {

// Input i, a scalar string. INVALID_ARGUMENT, naming `what`, for another shape or a zero byte.
absl::StatusOr<std::string> FileNameInput(const KernelContext& ctx, int i, absl::string_view what);

// Input i, a list of strings of this length. INVALID_ARGUMENT naming `what` otherwise.
absl::StatusOr<absl::Span<const std::string>> StringVectorInput(const KernelContext& ctx, int i,
                                                                size_t length,
                                                                absl::string_view what);

// OK unless the run may not read the file, or files at all be written: PERMISSION_DENIED.
absl::Status CheckMayRead(const KernelContext& ctx, const std::string& path);
absl::Status CheckMayWrite(const KernelContext& ctx, const std::string& path);

}  // namespace gyre
