// Programs as ONNX models: what passes make ready for onnx/export.h. Stateless; any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "gyre/core/session.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "passes/staged.h"

namespace gyre {

// What is to become a model: its program from feeds to fetches, and what that does not say.
struct OnnxSource {
  Staged asked;
  // Names of the inputs and outputs, in the order of feeds and fetches; empty: those of their
  // nodes.
  std::vector<std::string> inputs, outputs;
  // What inputs are where their dtype does not tell; empty: tensors.
  std::vector<OnnxType> input_types;
  std::map<std::string, OnnxVariable> variables;  // by the names of Session::Variables
  // Values of the main graph that are known beforehand.
  std::vector<std::pair<Endpoint, Tensor>> constants;
};

GYRE_INTERNAL_EXPORT OnnxSource SourceOf(std::shared_ptr<const Program> program,
                                         RunSignature signature);
// A model that has been read, to be written again.
OnnxSource SourceOf(const OnnxModel& model);
// What a session runs, with the values that variables have now. Without feeds: all placeholders
// that the fetches need. Names as Session::Run takes them.
GYRE_INTERNAL_EXPORT absl::StatusOr<OnnxSource> SourceOf(const Session& session,
                                                         const std::vector<std::string>& feeds,
                                                         const std::vector<std::string>& fetches);

// Primitives are raised, and what constants tell is computed beforehand. Errors as ExportOnnx, and
// of primitives that have no structured form.
GYRE_INTERNAL_EXPORT absl::StatusOr<OnnxFile> ExportAsOnnx(const OnnxSource& source,
                                                           const OnnxExportOptions& options = {});

// The same in a file, with its data beside it (PATH.data) where it is large.
GYRE_INTERNAL_EXPORT absl::Status SaveAsOnnx(const OnnxSource& source, const std::string& path);

}  // namespace gyre
