// Names: the values of one ONNX graph or function by name, and reading its nodes into a scope. One
// thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "onnx/node_context.h"

namespace gyre::onnx {

// What all graphs of a model share.
struct Model {
  Model(const wire::ModelProto& proto, std::string folder, const OpLookup& ops);

  // Tensors of the model: however often a function or body is written, each is read once. Sparse
  // ones are made dense, and together take up no more than a gigabyte.
  absl::StatusOr<Tensor> Read(const wire::TensorProto& tensor);
  absl::StatusOr<Tensor> Read(const wire::SparseTensorProto& tensor);
  // Whether reading it has taken as much as it may.
  bool IsSpent() const;

  const wire::ModelProto& proto;
  const std::string folder;
  Writing writing;
  int64_t opset = 0;
  std::string where;          // after a failure: at which node, and in which nodes around it
  const int64_t work_before;  // WorkSpent() when reading began
  int64_t sparse_bytes = 0;
  HashMap<const void*, Tensor> tensors;  // that were read, by their messages
  // By domain, name and overload.
  std::map<std::tuple<std::string, std::string, std::string>, const wire::FunctionProto*> functions;
};

class Names {
 public:
  // Of the main graph.
  Names(Model& model, Scope& scope) : model_(model), scope_(scope), opset_(model.opset) {}
  // Of a graph within another: names that it lacks are those of `outer`. `scope` is that of
  // `outer`, or within it.
  Names(const Names& outer, Scope& scope)
      : model_(outer.model_),
        scope_(scope),
        outer_(&outer),
        opset_(outer.opset_),
        attributes_(outer.attributes_),
        depth_(outer.depth_ + 1) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  Model& model() { return model_; }
  Scope& scope() { return scope_; }

  // INVALID_ARGUMENT for a name that is taken in this graph.
  void Set(const std::string& name, Value value);
  // The value, as one of this scope; INVALID_ARGUMENT, remembered, where there is none yet, or one
  // that the function around was not given.
  Value Get(const std::string& name);
  // False for an input of the function around that was not given.
  bool IsGiven(const std::string& name) const {
    const Value* const found = Find(name);
    return found == nullptr || found->expr.ok();
  }

  // Constants, then nodes in their order. A failure names the node.
  void ReadGraph(const wire::GraphProto& graph);
  void ReadInitializers(const wire::GraphProto& graph);
  // What the graph says of the shapes of its values: believed, and checked at each run, where
  // nothing else tells a rank.
  void ReadShapes(const wire::GraphProto& graph);
  void ReadNodes(const google::protobuf::RepeatedPtrField<wire::NodeProto>& nodes);

  // The attribute of the function around that `name` refers to; null when it was not given.
  const wire::AttributeProto* FunctionAttribute(const std::string& name) const;

 private:
  using Attributes = HashMap<std::string, const wire::AttributeProto*>;

  // Of a function, whose names are its own.
  Names(Model& model, Scope& scope, int64_t opset, const Attributes* attributes, int depth)
      : model_(model), scope_(scope), opset_(opset), attributes_(attributes), depth_(depth) {}

  const Value* Find(const std::string& name) const;
  void ReadNode(const wire::NodeProto& node);
  void Call(NodeContext& c, const wire::FunctionProto& function);

  Model& model_;
  Scope& scope_;
  const Names* const outer_ = nullptr;
  const int64_t opset_;
  const Attributes* const attributes_ = nullptr;  // of the function around; null: none
  const int depth_ = 0;
  HashMap<std::string, Value> values_;
  HashMap<std::string, int> ranks_;  // that are said
};

// A name that a node of a program may have; and one of a bounded length, for what is written more
// than once.
std::string NodeName(absl::string_view name);
std::string ShortName(absl::string_view name);

}  // namespace gyre::onnx
