// ExportOnnx: a Program becomes an ONNX model. Stateless; any thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "ir/program.h"
#include "onnx/value_type.h"

namespace gyre {

// What the model is to take, or to return.
struct OnnxPort {
  std::string name;
  Endpoint at;  // of the main graph
  // Of an input; what it is where its dtype does not tell: a sequence or an optional.
  PartialShape shape;
  OnnxType type;
};

struct OnnxVariable {
  Tensor value;
  std::string initializer = {};  // its name in the model; empty: that of the variable
};

struct OnnxInterface {
  std::vector<OnnxPort> inputs;
  std::vector<OnnxPort> outputs;
  // By the names that sessions know them by.
  std::map<std::string, OnnxVariable> variables;
  // Other values of the main graph that are known.
  std::vector<std::pair<Endpoint, Tensor>> constants;
};

struct OnnxFile {
  std::string model;
  // What is to lie in a file beside the model, one after the other: the data of large tensors,
  // where the model would be too large with it.
  std::vector<std::string> data;
};

struct OnnxExportOptions {
  std::string data_name;                  // empty: all data lies in the model
  int64_t most_bytes = int64_t{1} << 30;  // of tensors in the model, where there is a data_name
};

// The outputs as they follow from the inputs. Control flow must be structured (passes/raise): If,
// Case, While and For are If and Loop there; calls are written in place; checks and prints are left
// out.
//
// UNIMPLEMENTED, naming the node and those around it: ops, types and cases of them that ONNX has no
// form for; recursion; what changes variables. FAILED_PRECONDITION: a variable without a value.
// RESOURCE_EXHAUSTED beyond the 2 GiB that the format allows.
GYRE_INTERNAL_EXPORT absl::StatusOr<OnnxFile> ExportOnnx(const Program& program,
                                                         const OnnxInterface& interface,
                                                         const OnnxExportOptions& options = {});

}  // namespace gyre
