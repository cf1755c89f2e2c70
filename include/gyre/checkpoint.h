// Checkpoints: the variables of a session in a folder, to go on with later or elsewhere.
//
//   absl::Status saved = gyre::SaveCheckpoint(*session, "run/latest");
//   …
//   auto restored = gyre::RestoreCheckpoint(*another, "run/latest");
//
// The folder holds
//   variables-N.safetensors   the values, in a format that other programs read, too
//                             (https://github.com/huggingface/safetensors)
//   manifest.json             which of these files counts, its size, and of each tensor in it the
//                             dtype, the shape and a checksum (CRC-32C)
// Saving writes a new file, and replaces the manifest in one step once the file is on disk. So,
// whatever stops the process or the machine, what is restored is the last checkpoint that was
// saved, whole. What an interrupted one left behind is removed by the next.
//
// Any number of threads and processes may save to a folder and restore from it at the same time:
// what is restored is always one of the checkpoints, whole.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gyre/session.h"

namespace gyre {

struct SaveOptions {
  // Which variables; empty: all of the program's.
  std::vector<std::string> variables;
};

struct RestoreOptions {
  // Which of the program's variables; empty: all. What else the checkpoint holds does not matter if
  // there are any here.
  std::vector<std::string> variables;
  // Variables that are not in the checkpoint stay as they are, and what no variable is called is
  // passed over. Without it, both are errors.
  bool partial = false;
};

// Saves what the variables hold at one moment to a folder, which is made if need be. Other runs may
// go on meanwhile.
// FAILED_PRECONDITION: a variable has no value yet. NOT_FOUND: there is no such variable.
// INVALID_ARGUMENT: a variable is of a type that files cannot hold (string, variant).
// PERMISSION_DENIED, RESOURCE_EXHAUSTED (of the disk), UNAVAILABLE, NOT_FOUND: the file system
// refused; the message says what. After an error the folder holds the checkpoint that it held
// before or, where only the last flush to disk failed, this one.
absl::Status SaveCheckpoint(const Session& session, const std::string& folder,
                            const SaveOptions& options = {});

// Gives variables the values that were saved, and returns their names. `path`: a folder that
// SaveCheckpoint made, or a .safetensors file, of which there are no checksums.
// NOT_FOUND: no checkpoint there, or not of the same names as the program's variables.
// INVALID_ARGUMENT: files that are damaged or not sound, or values of other dtypes or shapes than
// the variables; the message lists them. RESOURCE_EXHAUSTED: it does not fit in memory.
// After an error no variable has changed.
absl::StatusOr<std::vector<std::string>> RestoreCheckpoint(Session& session,
                                                           const std::string& path,
                                                           const RestoreOptions& options = {});

}  // namespace gyre
