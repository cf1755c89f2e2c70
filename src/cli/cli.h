// The `gyre` program as a function: what main() calls, and what tests call without a process of
// their own.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "base/internal_export.h"
#include "cli/streams.h"

namespace gyre::cli {

// Runs `gyre WORDS...` and returns its exit code (ExitCode).
GYRE_INTERNAL_EXPORT int Main(absl::Span<const std::string> words, const Streams& streams);

}  // namespace gyre::cli
