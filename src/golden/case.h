// Golden cases: a folder with a graph or a model, what to run on it, and what must come out
// (tests/golden/README.md and tests/saved_models/README.md have the formats). A Case is a
// plain value; it holds its tensors and no open file.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/session.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"

namespace gyre::golden {

// How far floating values may be from those expected: |got - want| <= atol + rtol * |want|.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

// A failure that is wanted. Either code will do; `alternative_code` may be kOk, which accepts
// nothing more.
struct ExpectedError {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  absl::StatusCode alternative_code = absl::StatusCode::kOk;
  std::string message_contains;  // without regard to case
  bool optional = false;         // of a graph to be refused: accepting it is right too
};

// One run. Exactly one of `expect` and `error` is wanted: `error` when it is set.
struct Step {
  std::string signature;  // of a model: feeds and fetches are its inputs and outputs; empty: none
  Feeds feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  std::vector<Tensor> expect;  // one per fetch
  Tolerance tolerance;
  std::optional<ExpectedError> error;
  int64_t timeout_ms = 0;  // 0: none
};

// Gradients that are wanted of the graph: of order k, the gradients of the sum of all that are
// connected of order k - 1.
struct Gradient {
  std::vector<std::string> ys;
  std::vector<std::string> xs;
  std::vector<std::optional<Tensor>> grad_ys;  // by y, nothing: ones; empty: all ones
  int64_t order = 1;
  Feeds feeds;
  std::vector<std::optional<Tensor>> expect;  // by x; nothing: not connected
  Tolerance tolerance;
};

// What a checkpoint must hold under one key.
struct ExpectedVariable {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> shape;
  std::complex<double> sum;  // of the elements; of strings, their bytes
  std::optional<std::complex<double>> first;
  std::optional<std::string> first_text;  // of strings
};

// What a signature must look like: its inputs and outputs by name.
struct ExpectedSignature {
  struct Argument {
    DType dtype = DType::kInvalid;
    PartialShape shape;
  };
  std::map<std::string, Argument> inputs;
  std::map<std::string, Argument> outputs;
};

struct Case {
  std::string folder;
  std::string group;
  std::string name;
  std::string doc;
  std::vector<std::string> tags;
  std::vector<std::string> init;  // ops to run first, one run each
  std::vector<Step> steps;        // runs in one session
  std::vector<Gradient> gradients;
  std::optional<ExpectedError> load_error;              // the graph must be refused
  std::string model;                                    // "model", "v1/model.meta"; empty: a graph
  std::map<std::string, ExpectedSignature> signatures;  // of a model
  std::map<std::string, ExpectedVariable> variables;    // of a model's checkpoint, by key

  std::string id() const { return group + "/" + name; }
  // The graph, or the model: a SavedModel's folder, or a MetaGraph.
  std::string graph_path() const { return folder + "/" + (is_model() ? model : "graph.pb"); }
  bool is_model() const { return !model.empty(); }
  bool HasTag(absl::string_view tag) const;
};

// Reads folder/case.json and the tensors that it refers to. INVALID_ARGUMENT says where in the file
// the mistake is: "…/case.json: steps[0].feeds[x:0].data[2]: …".
absl::StatusOr<Case> ReadCase(const std::string& folder);

// The folders that hold a case.json, at or below `folder`, in order of path. NOT_FOUND when there
// is no such folder.
absl::StatusOr<std::vector<std::string>> FindCases(const std::string& folder);

}  // namespace gyre::golden
