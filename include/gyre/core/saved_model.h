// SavedModel: a trained program as TensorFlow exports it, with its variables, ready to run.
//
//   auto model = gyre::SavedModel::Load("models/translate");
//   auto out = (*model)->Run("serving_default", {{"x", 3.0f}});
//   out->at("y")
//
// A SavedModel owns a Session, in which its signatures run: what one writes to a variable, the next
// reads. It may be used from many threads at once, as a Session. Its graph can become part of a
// graph that is being built, and be trained further there: import_graph (gyre/graph.h) takes the
// same path.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/export.h"
#include "gyre/core/session.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct SavedModelOptions {
  // Which of the model's graphs, by all of its tags; empty: the only one there is.
  std::vector<std::string> tags;
  SessionOptions session;
};

class GYRE_EXPORT SavedModel {
 public:
  // An input or output of a signature.
  struct Argument {
    std::string tensor;  // "node:slot" of the graph
    DType dtype = DType::kInvalid;
    PartialShape shape;
    std::optional<Tensor> fallback = {};  // what an input is when it is left out
  };
  struct Signature {
    std::map<std::string, Argument> inputs;
    std::map<std::string, Argument> outputs;
    std::string method;  // "tensorflow/serving/predict"; may be empty
  };
  // What the model keeps from run to run. Its value: session().ReadVariables({name}).
  struct Variable {
    std::string name;
    // The tensors of the graph that are its handles, for the inputs of import_graph; none for a
    // reference variable, or one that functions alone name.
    std::vector<std::string> handles;
    DType dtype = DType::kInvalid;
    PartialShape shape;
    bool trainable = true;  // unless the model's objects say otherwise
    std::string key = {};   // of its value in the checkpoint; empty: that has none, or its parts
  };
  // By name of the input or output.
  using Inputs = std::map<std::string, FeedValue>;
  using Values = std::map<std::string, Tensor>;

  // Loads a folder that holds saved_model.pb, variables/ and assets/, or a MetaGraph: a file
  // NAME.meta with the checkpoint NAME.index and NAME.data-* beside it. Gives variables the values
  // of the checkpoint, and runs the model's init op.
  // Whatever the files say, nothing outside of the folder is read, and nothing is written.
  // NOT_FOUND: no model there, no graph of these tags, or a value that the checkpoint lacks.
  // INVALID_ARGUMENT: files that are damaged or not sound; the message names file and key.
  // PERMISSION_DENIED: the model asks for files outside of its folder. UNIMPLEMENTED: sound, but of
  // a kind that Gyre does not read, such as compressed or big-endian checkpoints.
  static absl::StatusOr<std::unique_ptr<SavedModel>> Load(const std::string& path,
                                                          const SavedModelOptions& options = {});
  // The same from memory: of each file of a model's folder its path within it, and its bytes:
  //   {{"saved_model.pb", …}, {"variables/variables.index", …}, …}
  // Models read checkpoints and assets by their paths, so the files lie in a private folder of the
  // system's temporary one, as long as the model lives.
  static absl::StatusOr<std::unique_ptr<SavedModel>> LoadFromMemory(
      const std::map<std::string, std::string>& files, const SavedModelOptions& options = {});
  // Whether there is a SavedModel or a MetaGraph at `path`, rather than a graph.
  static bool IsAt(const std::string& path);
  ~SavedModel();

  const std::map<std::string, Signature>& signatures() const;
  // In order of name.
  const std::vector<Variable>& variables() const;
  // Runs a signature and returns all its outputs. NOT_FOUND: there is no such signature or input;
  // INVALID_ARGUMENT: an input is missing, or of another dtype or shape; otherwise the first error
  // of the run. What the model itself does to files while it runs (ReadFile, say) is not confined
  // to its folder, unless `options` say so.
  absl::StatusOr<Values> Run(absl::string_view signature, const Inputs& inputs,
                             const RunOptions& options = {}) const;

  // Writes the model again, with the values that its variables have now: its graphs, objects and
  // assets as they were read, from the place where they were read. What other programs know of the
  // model, they know of the new one.
  // `path`: a folder, made if need be; of a MetaGraph a file NAME.meta, with the checkpoint beside
  // it. May be where the model lies. The graph is written last, in one step. The model's own ops
  // that save do not run.
  // INVALID_ARGUMENT: no such path; NOT_FOUND: the model that was loaded is no longer there;
  // otherwise errors of files.
  absl::Status Save(const std::string& path) const;

  // The session in which signatures run, with the model's program and variables.
  Session& session() const;
  // The prefix of the checkpoint's files (PREFIX.index …); empty: the model has none.
  const std::string& checkpoint() const;
  const std::vector<std::string>& tags() const;
  // The objects that it was saved from: the message SavedObjectGraph, as the file has it. Empty:
  // there are none.
  const std::string& object_graph() const;
  // By the number of an object that the model's graph uses: the tensor that stands for it there,
  // such as the handle of a table.
  const std::map<int, std::string>& object_tensors() const;
  // The paths of its asset files, absolute; each is there.
  const std::vector<std::string>& assets() const;

 private:
  struct State;
  explicit SavedModel(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace gyre
