// Loading a graph as a whole, for cases that must be refused: where a session minds only what a run
// needs, this minds everything. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gyre::golden {

// OK when the file holds a graph of known ops that every check of a program accepts: the import
// itself, the verifier, the frames of its loops, and shape inference.
absl::Status LoadStrictly(const std::string& path);

}  // namespace gyre::golden
