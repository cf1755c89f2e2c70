// ImportOnnx: an ONNX model becomes a Program. Stateless; any thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "ir/program.h"
#include "onnx/value_type.h"

namespace gyre {

// An input or output of the model's graph.
struct OnnxValue {
  std::string name;      // as the model has it
  std::string endpoint;  // to feed or fetch: "x:0"
  OnnxType type;
  PartialShape shape;
};

// What training changes: an initializer that is a placeholder in the program.
struct OnnxInitializer {
  std::string name;
  std::string endpoint;
  Tensor value;
};

struct OnnxModel {
  std::shared_ptr<const Program> program;
  std::vector<OnnxValue> inputs;  // those without an initializer
  std::vector<OnnxValue> outputs;
  std::vector<OnnxInitializer> initializers;
};

struct OnnxImportOptions {
  std::string folder;  // where the data of tensors may lie; empty: nowhere
  // Initializers of floating types become placeholders, for gradients with respect to them.
  bool trainable_initializers = false;
  // So do these, by their nodes' names: whoever reads the model puts something in their places.
  std::set<std::string> replaced = {};
};

// INVALID_ARGUMENT, with a sentence that names the node, for whatever is malformed; UNIMPLEMENTED
// for ops, types and cases of them that Gyre lacks. Bytes cannot make it crash, hang, or take
// memory out of proportion, and nothing outside of the folder is read.
GYRE_INTERNAL_EXPORT absl::StatusOr<OnnxModel> ImportOnnx(absl::string_view bytes,
                                                          const OpLookup& ops,
                                                          const OnnxImportOptions& options = {});
// From a file, whose folder is the model's. Errors begin with the path.
GYRE_INTERNAL_EXPORT absl::StatusOr<OnnxModel> ImportOnnxFile(const std::string& path,
                                                              const OpLookup& ops,
                                                              OnnxImportOptions options = {});

// Whether a file of this name is an ONNX model: it ends in ".onnx".
bool IsOnnxName(absl::string_view path);

// The ops that are read, in order: "Abs", "ai.onnx.ml.Binarizer".
GYRE_INTERNAL_EXPORT std::vector<std::string> OnnxOps();

}  // namespace gyre
