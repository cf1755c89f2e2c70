// Which data files of a prefix belong to its bundle.
//
// The index is what counts: it is replaced in one step, and says by its number of data files, n,
// which files are the bundle's: PREFIX.data-NNNNN-of-n. A new bundle takes an n for which there are
// no files, so that the old index and its files stay a whole bundle until the new index is there.
// The writer holds the lock on the first of its files until then. So files of an n that the index
// does not say, and whose first one nobody holds, are left over: of the bundle before, or of a
// writer that was killed. Stateless; any thread, any process.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gyre {

// Finds a free number of data files, `at_least` so many, for a new bundle at `prefix`: calls
// `make_first` with the path of the first until it does not say ALREADY_EXISTS, and makes empty
// ones behind the `at_least` that the caller fills. `make_first` makes the file and takes the lock
// on it, which is to be kept until the index is written.
absl::StatusOr<int32_t> TakeNumberOfDataFiles(
    const std::string& prefix, int32_t at_least,
    absl::FunctionRef<absl::Status(const std::string& path)> make_first);

// Removes what is left over. What cannot be removed does no harm, and is tried again by the next.
void RemoveLeftDataFiles(const std::string& prefix);

}  // namespace gyre
