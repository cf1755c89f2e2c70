// Models that TensorFlow has exported: what the package needs of gyre::SavedModel.
#include <memory>
#include <string>

#include "gyre/saved_model.h"
#include "python/arrays/convert.h"
#include "python/dtype.h"
#include "python/lines.h"
#include "python/python.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

// Runs of it take no GIL.
struct PyModel {
  std::shared_ptr<const SavedModel> model;
};

// {name: (tensor, dtype, dims, what it is when it is left out or None)}
nb::dict DictOf(const std::map<std::string, SavedModel::Argument>& arguments) {
  nb::dict result;
  for (const auto& [name, argument] : arguments) {
    const nb::object fallback = argument.fallback ? WrapEager(*argument.fallback) : nb::none();
    result[ToStr(name)] = nb::make_tuple(ToStr(argument.tensor), ToPython(argument.dtype),
                                         ToPython(argument.shape), fallback);
  }
  return result;
}

nb::dict Signatures(const PyModel& self) {
  nb::dict result;
  for (const auto& [name, signature] : self.model->signatures())
    result[ToStr(name)] = nb::make_tuple(DictOf(signature.inputs), DictOf(signature.outputs));
  return result;
}

// [(name, handles, dtype, dims, trainable, value or None)]
nb::list Variables(const PyModel& self) {
  std::vector<std::string> names;
  for (const SavedModel::Variable& variable : self.model->variables())
    names.push_back(variable.name);
  const std::vector<Tensor> values = ValueOf(self.model->session().ReadVariables(names));
  nb::list result;
  for (size_t i = 0; i < values.size(); ++i) {
    const SavedModel::Variable& variable = self.model->variables()[i];
    nb::list handles;
    for (const std::string& handle : variable.handles) handles.append(ToStr(handle));
    const nb::object value = values[i].has_value() ? WrapEager(values[i]) : nb::none();
    result.append(nb::make_tuple(ToStr(variable.name), handles, ToPython(variable.dtype),
                                 ToPython(variable.shape), variable.trainable, value));
  }
  return result;
}

nb::dict RunSignature(const PyModel& self, nb::handle signature, nb::handle inputs) {
  SavedModel::Values values;
  for (const auto& [name, value] : nb::cast<nb::dict>(nb::borrow(inputs)))
    values.emplace(TextOf(name, "a name"), RequireEager(value, "an input"));
  const std::string name(TextOf(signature, "a signature"));
  absl::StatusOr<SavedModel::Values> outputs;
  {
    const nb::gil_scoped_release release;
    outputs = self.model->Run(name, values);
  }
  nb::dict result;
  for (auto& [output, value] : ValueOf(std::move(outputs)))
    result[ToStr(output)] = WrapEager(std::move(value));
  return result;
}

PyModel LoadModel(nb::handle path, nb::handle tags) {
  SavedModelOptions options;
  for (const nb::handle tag : tags) options.tags.emplace_back(TextOf(tag, "a tag"));
  const std::string where(TextOf(path, "a path"));
  absl::StatusOr<std::unique_ptr<SavedModel>> model;
  {
    const nb::gil_scoped_release release;
    model = SavedModel::Load(where, options);
  }
  return {ValueOf(std::move(model))};
}

}  // namespace

void BindModels(nb::module_& m) {
  nb::class_<PyModel>(m, "Model", nb::is_final(), "A loaded SavedModel or MetaGraph.")
      .def("signatures", &Signatures)
      .def("variables", &Variables)
      .def("run", &RunSignature, nb::arg("signature"), nb::arg("inputs"));
  m.def("load_model", &LoadModel, nb::arg("path"), nb::arg("tags"));
}

}  // namespace gyre::python
