// ModelWriter: the model that is being written: names, nodes, constants, and the graphs that lie in
// each other. One thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "gyre/core/tensor.h"
#include "onnx/onnx.pb.h"
#include "onnx/write/model_value.h"

namespace gyre::onnx {

using Attrs = std::vector<wire::AttributeProto>;

wire::AttributeProto IntAttr(absl::string_view name, int64_t value);
wire::AttributeProto FloatAttr(absl::string_view name, float value);
wire::AttributeProto TextAttr(absl::string_view name, absl::string_view value);
wire::AttributeProto IntsAttr(absl::string_view name, const std::vector<int64_t>& values);
wire::AttributeProto GraphAttr(absl::string_view name, wire::GraphProto graph);

// Of a tensor, list or optional.
void WriteType(const ModelValue& value, bool with_shape, wire::TypeProto* type);

class ModelWriter {
 public:
  static constexpr int kOpset = 18, kIrVersion = 8;
  static constexpr int64_t kMaxNodes = int64_t{1} << 19;

  explicit ModelWriter(wire::ModelProto* model);
  ModelWriter(const ModelWriter&) = delete;
  ModelWriter& operator=(const ModelWriter&) = delete;

  // The first mistake; nodes that are written after it mean nothing.
  const absl::Status& status() const { return status_; }
  bool failed() const { return !status_.ok(); }
  void Fail(absl::Status status);

  // A name that nothing has yet, like the one that is wanted.
  std::string NewName(absl::string_view wanted);
  // What the names of nodes and values begin with from now on.
  void set_stem(std::string stem) { stem_ = std::move(stem); }
  const std::string& stem() const { return stem_; }

  // The names of a new node's outputs. "" among the inputs: none.
  std::vector<std::string> AddNode(absl::string_view op, const std::vector<std::string>& inputs,
                                   Attrs attrs, int num_outputs);
  // Of a constant that has none yet; fails for what has no form in a model. Floating scalars are
  // no initializers, which readers take for weights.
  std::string NameOf(const ModelValue& value);
  // An initializer of this name, or one like it.
  std::string AddInitializer(absl::string_view wanted, const Tensor& value);
  // The model wants this opset.
  void NeedOpset(int64_t opset);
  // The last thing: what has been written becomes the model.
  void Finish();

  // Nodes are added to a new graph, or go on in one that was taken out, until it is taken out.
  void Open(absl::string_view name);
  void Open(wire::GraphProto graph);
  wire::GraphProto Close();
  wire::GraphProto& graph() { return *graphs_.back(); }
  // The value by a name that a node of the graph gives it: an output must be such a one, of its
  // own.
  void AddOutput(const ModelValue& value, bool with_shape, const std::string& name = "");
  void AddInput(const ModelValue& value);

  // Says the rank of a value that a node of this graph makes, for who reads the model.
  void Describe(const ModelValue& value);

  // Transpositions and casts, so that the next one may undo them.
  struct Made {
    std::string of;
    std::vector<int64_t> permutation;
  };
  HashMap<std::string, Made> transposed;
  HashMap<std::string, std::string> widened;  // int32 values: the int64 ones that they were

 private:
  std::string AddConstant(absl::string_view wanted, const Tensor& value);

  wire::ModelProto& model_;
  absl::Status status_;
  int64_t num_nodes_ = 0;
  HashMap<std::string, int> names_;
  HashMap<std::string, size_t> made_in_;  // by value: how deep the graph of its node lies
  HashSet<std::string> described_;
  std::string stem_;
  std::vector<wire::NodeProto> constants_;
  std::vector<wire::GraphProto*> graphs_;
  std::vector<std::unique_ptr<wire::GraphProto>> inner_;
  std::map<std::string, std::string> small_;  // constants by type, shape and bytes
  std::map<const void*, std::vector<std::pair<Tensor, std::string>>> large_;  // by their data
};

// Takes out nodes that no output needs, copies that outputs do not need, and initializers that
// nobody uses.
void Tidy(wire::GraphProto* graph);

}  // namespace gyre::onnx
