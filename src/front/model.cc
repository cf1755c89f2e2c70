// Model: what loads and runs in the core, with errors thrown.
#include "gyre/model.h"

#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "saved_model/graph_or_model.h"
#include "saved_model/signature_onnx.h"
#include "session/onnx/onnx_file.h"

namespace gyre {

using internal::ValueOrThrow;

struct Model::State {
  GraphOrModel loaded;

  const SavedModel& saved() const {
    if (loaded.model == nullptr) {
      internal::Throw(
          absl::FailedPreconditionError("a graph has no signatures: run it by names of its nodes"));
    }
    return *loaded.model;
  }
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model::State& Model::state() const {
  if (state_ == nullptr) {
    internal::Throw(
        absl::FailedPreconditionError("this model has been moved away: nothing of it is left"));
  }
  return *state_;
}

Model Model::load(const std::string& path, const SavedModelOptions& options) {
  return Model(std::make_unique<State>(State{ValueOrThrow(LoadGraphOrModel(path, options))}));
}

Model Model::load_from_memory(absl::string_view graph, const SessionOptions& options) {
  auto state = std::make_unique<State>();
  state->loaded.graph = ValueOrThrow(Session::LoadFromMemory(graph, options));
  return Model(std::move(state));
}

Model Model::load_from_memory(const std::map<std::string, std::string>& files,
                              const SavedModelOptions& options) {
  auto state = std::make_unique<State>();
  state->loaded.model = ValueOrThrow(SavedModel::LoadFromMemory(files, options));
  return Model(std::move(state));
}

std::vector<Tensor> Model::run(const Feeds& feeds, const std::vector<std::string>& fetches,
                               const std::vector<std::string>& targets,
                               const RunOptions& options) const {
  return ValueOrThrow(session().Run(feeds, fetches, targets, options));
}

const std::map<std::string, Model::Signature>& Model::signatures() const {
  static const auto* const none = new std::map<std::string, Signature>();
  return state().loaded.model == nullptr ? *none : state().loaded.model->signatures();
}

std::map<std::string, Tensor> Model::call(const std::string& signature, const Inputs& inputs,
                                          const RunOptions& options) const {
  return ValueOrThrow(state().saved().Run(signature, inputs, options));
}

std::vector<Tensor> Model::read_variables(const std::vector<std::string>& names) const {
  return ValueOrThrow(session().ReadVariables(names));
}

void Model::assign_variables(const std::vector<std::pair<std::string, Tensor>>& values) {
  const absl::Status status = session().AssignVariables(values);
  if (!status.ok()) internal::Throw(status);
}

std::vector<Session::VariableInfo> Model::variables() const { return session().Variables(); }

void Model::save(const std::string& path) const {
  const absl::Status status = state().saved().Save(path);
  if (!status.ok()) internal::Throw(status);
}

void Model::export_onnx(const std::string& path, const std::string& signature) const {
  const absl::Status status = SaveAsOnnx(ValueOrThrow(SourceOf(state().saved(), signature)), path);
  if (!status.ok()) internal::Throw(status);
}

void Model::export_onnx(const std::string& path, const std::vector<std::string>& outputs,
                        const std::vector<std::string>& inputs) const {
  const absl::Status status = SaveAsOnnx(ValueOrThrow(SourceOf(session(), inputs, outputs)), path);
  if (!status.ok()) internal::Throw(status);
}

Session& Model::session() const { return state().loaded.session(); }

}  // namespace gyre
