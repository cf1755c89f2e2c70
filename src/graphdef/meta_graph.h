// MetaGraphs: a graph with what is needed to run it as its writer meant: signatures, how variables
// are restored, assets, objects. Plain values; functions are stateless. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ir/program.h"

namespace gyre {

// An input or output of a signature.
struct MetaTensor {
  std::string tensor;  // "node:slot" of the main graph
  DType dtype = DType::kInvalid;
  PartialShape shape;
  std::optional<Tensor> fallback = {};  // of an input that may be left out
};

struct MetaSignature {
  std::map<std::string, MetaTensor> inputs;
  std::map<std::string, MetaTensor> outputs;
  std::string method;
};

// One object of a SavedModel's object graph; objects are known by their numbers.
struct SavedObjectInfo {
  enum class Kind { kOther, kUserObject, kAsset, kFunction, kVariable };
  Kind kind = Kind::kOther;
  std::map<std::string, int> children;          // by local name
  std::vector<std::string> concrete_functions;  // of a function
  std::string name;                             // of a variable; of a user object, its class
  DType dtype = DType::kInvalid;                // of a variable
  PartialShape shape;                           // of a variable
  bool trainable = false;                       // of a variable
};

struct MetaGraph {
  std::vector<std::string> tags;
  std::string writer;  // TensorFlow's version
  std::shared_ptr<const Program> program;
  std::map<std::string, MetaSignature> signatures;  // without that of the init op
  // Tensors to be fed with the paths of asset files, and these files' names below assets/.
  std::vector<std::pair<std::string, std::string>> assets;
  std::string init_op;  // runs once after restoring; empty: none
  // Restoring by an op: the tensor to be fed with the checkpoint's prefix, the op to run. Empty:
  // there is none.
  std::string restore_filename;
  std::string restore_op;
  std::vector<SavedObjectInfo> objects;  // node 0 is the root; none in files of version 1
  std::string object_graph;              // all that is said of them, as the message itself
  // Of each function that objects hold: the objects that its last arguments are.
  std::map<std::string, std::vector<int>> bound_inputs;
};

// Reads a SavedModel's saved_model.pb: the one MetaGraph that has exactly these tags, or the only
// one there is if `tags` is empty. NOT_FOUND lists the tags that there are; INVALID_ARGUMENT for
// what is malformed, as ImportGraphDef. The program refers to `ops`, which must outlive it.
absl::StatusOr<MetaGraph> ReadSavedModel(absl::string_view bytes,
                                         const std::vector<std::string>& tags, const OpLookup& ops);

// Reads a MetaGraphDef by itself: model.meta.
absl::StatusOr<MetaGraph> ReadMetaGraph(absl::string_view bytes, const OpLookup& ops);

// The key of a checkpoint under which its own object graph stands.
inline constexpr absl::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

// Of each object of a checkpoint's own object graph, the keys of its values by attribute
// ("VARIABLE_VALUE"). INVALID_ARGUMENT for what is malformed.
absl::StatusOr<std::vector<std::map<std::string, std::string>>> ReadCheckpointKeys(
    absl::string_view bytes);

}  // namespace gyre
