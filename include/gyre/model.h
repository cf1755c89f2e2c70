// Model: a graph or a SavedModel that exists already, ready to run.
//
//   gyre::Model model = gyre::Model::load("model.pb");
//   std::vector<gyre::Tensor> y = model.run({{"x", 3.0f}}, {"y"});
//
//   gyre::Model translator = gyre::Model::load("models/translate");
//   gyre::Tensor text = translator.call("serving_default", {{"x", "good morning"}}).at("y");
//
// It keeps variables and queues from run to run. Any number of threads may run one at the same
// time. What goes wrong is thrown as an Error (gyre/value.h); it is what Session and SavedModel of
// gyre/core return, which say more about each of these functions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gyre/core/export.h"
#include "gyre/core/saved_model.h"
#include "gyre/core/session.h"
#include "gyre/core/tensor.h"
#include "gyre/value.h"

namespace gyre {

class GYRE_EXPORT Model {
 public:
  using Signature = SavedModel::Signature;
  using Inputs = SavedModel::Inputs;

  // A file (.pb, .pbtxt: a GraphDef; .gyre; .onnx), a SavedModel's folder or a MetaGraph (NAME.meta, with
  // its checkpoint beside it).
  static Model load(const std::string& path, const SavedModelOptions& options = {});
  // A graph, as the file would hold it.
  static Model load_from_memory(absl::string_view graph, const SessionOptions& options = {});
  // A SavedModel: each file's path within the model's folder, and its bytes.
  static Model load_from_memory(const std::map<std::string, std::string>& files,
                                const SavedModelOptions& options = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // What `fetches` are ("node:slot"; "node" means slot 0), with the tensors named in `feeds`
  // replaced. Targets are names of nodes that run for their effects.
  std::vector<Tensor> run(const Feeds& feeds, const std::vector<std::string>& fetches,
                          const std::vector<std::string>& targets = {},
                          const RunOptions& options = {}) const;

  // The signatures of a SavedModel; a graph has none.
  const std::map<std::string, Signature>& signatures() const;
  // All outputs of a signature, by name.
  std::map<std::string, Tensor> call(const std::string& signature, const Inputs& inputs,
                                     const RunOptions& options = {}) const;

  // What variables hold, all of them at one moment; a Tensor without a value: uninitialised.
  std::vector<Tensor> read_variables(const std::vector<std::string>& names) const;
  void assign_variables(const std::vector<std::pair<std::string, Tensor>>& values);
  std::vector<Session::VariableInfo> variables() const;

  // Writes a SavedModel again, with the values that its variables have now.
  void save(const std::string& path) const;

  // Writes a signature, or `outputs` as functions of `inputs` (none given: of all placeholders that
  // they need), as a model of ONNX: see GraphSession::export_onnx.
  void export_onnx(const std::string& path, const std::string& signature) const;
  void export_onnx(const std::string& path, const std::vector<std::string>& outputs,
                   const std::vector<std::string>& inputs) const;

  Session& session() const;

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  // Throws if the model has been moved away.
  State& state() const;

  std::unique_ptr<State> state_;
};

}  // namespace gyre
