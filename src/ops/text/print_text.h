// Where Print and PrintV2 write.
#pragma once

#include "absl/strings/string_view.h"
#include "ops/kernel.h"

namespace gyre {

// Hands `text` to the run's printer, or writes it to the process's own stream if it has none.
// Streams are "stdout", "stderr" and the log levels "log(info)", "log(warning)" and "log(error)",
// which go to stderr.
void PrintText(const RunEnv& env, absl::string_view stream, absl::string_view text);

}  // namespace gyre
