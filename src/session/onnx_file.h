// Programs as ONNX models: what passes make ready for onnx/export.h. Stateless; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "onnx/export.h"
#include "passes/staged.h"

namespace gyre {

struct OnnxNames {
  // Of the inputs and outputs, in the order of feeds and fetches; empty: names of their nodes.
  std::vector<std::string> inputs, outputs;
  // What inputs are where their dtype does not tell; empty: tensors.
  std::vector<OnnxType> input_types;
  std::map<std::string, Tensor> variables;
};

// What `asked` asks of its program as a model from its feeds to its fetches. Primitives are raised,
// and what constants tell is computed beforehand. Errors as ExportOnnx, and of primitives that have
// no structured form.
GYRE_INTERNAL_EXPORT absl::StatusOr<OnnxFile> ExportAsOnnx(const Staged& asked,
                                                           const OnnxNames& names = {},
                                                           const OnnxExportOptions& options = {});

// The same in a file, with its data beside it (PATH.data) where it is large.
GYRE_INTERNAL_EXPORT absl::Status SaveAsOnnx(const Staged& asked, const OnnxNames& names,
                                             const std::string& path);

}  // namespace gyre
