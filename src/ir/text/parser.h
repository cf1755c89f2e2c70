// Reads the text form of programs that printer.h describes.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/op_def.h"
#include "ir/program.h"

namespace gyre {

// The program, with ops taken from `ops`, which must outlive it. Printing it again gives a text
// that reads the same; a printed program comes back equal in everything but its version. The types
// after a node may be left out where its inputs and attributes determine them.
//
// INVALID_ARGUMENT, with line and column, for text that is not in the grammar, names that are not
// defined or defined twice, attributes that do not fit the op, and types that are not those of the
// op. An op that `ops` does not know is no error. Whether the program is sound otherwise is for
// Verify to say.
absl::StatusOr<std::shared_ptr<const Program>> ParseProgram(absl::string_view text,
                                                            const OpLookup& ops);

}  // namespace gyre
