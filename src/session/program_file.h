// Programs in files: .pb and .pbtxt (GraphDef), .gyre (the text form of ir/text/printer.h); the
// graphs of models: a SavedModel's folder, .meta (MetaGraphDef).
// Stateless; any thread.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

struct LoadOptions {
  bool refuse_unknown_ops = false;  // as ImportOptions
  // Nodes of a model of ONNX that are replaced by something else: placeholders where they are
  // initializers, which are copied to where they are used otherwise.
  std::set<std::string> replaced = {};
};

// Reads a file: .gyre as Gyre's text form, a folder or .meta as a model's graph (without the values
// of its variables), any other name as a GraphDef, binary or text. NOT_FOUND for a file that is not
// there, INVALID_ARGUMENT with the path for one that makes no program.
absl::StatusOr<std::shared_ptr<const Program>> LoadProgramFile(const std::string& path,
                                                               const LoadOptions& options = {});

// What a file would hold: Gyre's text form, which begins with `graph {` or a function behind
// comments, or a GraphDef, binary or text. INVALID_ARGUMENT for what makes no program.
absl::StatusOr<std::shared_ptr<const Program>> LoadProgramBytes(absl::string_view bytes);

// Makes or replaces a file, in the format that its name ends with; INVALID_ARGUMENT for other names
// and as ExportGraphDef.
absl::Status SaveProgramFile(const Program& program, const std::string& path);

}  // namespace gyre
