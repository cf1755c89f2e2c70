// Models and checkpoints in TensorFlow's formats: what the package needs of gyre::SavedModel and of
// BundleReader.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bundle/reader.h"
#include "front/import_program.h"
#include "gyre/core/saved_model.h"
#include "python/arrays/convert.h"
#include "python/arrays/items.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/lines.h"
#include "python/python.h"
#include "python/settings.h"
#include "python/tensor.h"
#include "python/tracing/body.h"
#include "session/checkpoint_source.h"

namespace gyre::python {
namespace {

const std::source_location kNowhere;

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

// Whether a node of `main` makes something that outlives a run and is no variable: a table, say.
bool MakesResource(const Function& main, const Node& node) {
  if (node.op == nullptr || node.num_outputs() != 1 || IsStructured(node.kind())) return false;
  if (node.signature.outputs[0].dtype != DType::kResource) return false;
  const Effect effect = node.op->traits.effect;
  const bool finds = effect == Effect::kRead || effect == Effect::kWrite;
  return finds && !node.op->traits.makes_variable &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](Endpoint e) { return main.node(e.node).kind() == OpKind::kConst; });
}

// [(tensor, handle)] of what the model's nodes make and its init op has filled.
nb::list Resources(const PyModel& self) {
  std::vector<std::string> names;
  const std::shared_ptr<const Program> program = self.model->session().shared_program();
  for (const Node& node : program->main().nodes) {
    if (MakesResource(program->main(), node)) names.push_back(absl::StrCat(node.name, ":0"));
  }
  const std::vector<Tensor> handles = ValueOf(self.model->session().Run({}, names));
  nb::list result;
  for (size_t i = 0; i < names.size(); ++i)
    result.append(nb::make_tuple(ToStr(names[i]), WrapEager(handles[i])));
  return result;
}

nb::list AssetsOf(const PyModel& self) {
  nb::list paths;
  for (const std::string& path : self.model->assets()) paths.append(ToStr(path));
  return paths;
}

nb::dict RunSignature(const PyModel& self, nb::handle signature, nb::handle inputs) {
  SavedModel::Inputs values;
  const nb::dict entries = ItemsOfDict(inputs, "inputs");
  for (const auto& [name, value] : entries)
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

// {variable: value}, all at once.
void AssignVariables(PyModel& self, nb::handle values) {
  std::vector<std::pair<std::string, Tensor>> assigned;
  const nb::dict entries = ItemsOfDict(values, "values");
  for (const auto& [name, value] : entries)
    assigned.emplace_back(TextOf(name, "a name"), RequireEager(value, "a value"));
  Check(self.model->session().AssignVariables(assigned));
}

void SaveModel(const PyModel& self, nb::handle path) {
  const std::string where(TextOf(path, "a path"));
  absl::Status status;
  {
    const nb::gil_scoped_release release;
    status = self.model->Save(where);
  }
  Check(status);
}

PyModel LoadModel(nb::handle path, nb::handle tags) {
  SavedModelOptions options{.session = TheContext().options()};
  for (const nb::handle tag : tags) options.tags.emplace_back(TextOf(tag, "a tag"));
  const std::string where(TextOf(path, "a path"));
  absl::StatusOr<std::unique_ptr<SavedModel>> model;
  {
    const nb::gil_scoped_release release;
    model = SavedModel::Load(where, options);
  }
  return {ValueOf(std::move(model))};
}

// Adds what `outputs` need to the current graph; `inputs`: {name: tensor to be used instead}.
nb::list ImportModel(const PyModel& self, nb::handle outputs, nb::handle inputs) {
  const auto graph = RequireGraph("a model");
  std::vector<std::string> names;
  for (const nb::handle output : nb::iter(outputs)) names.emplace_back(TextOf(output, "an output"));
  ImportInputs replaced;
  const nb::dict entries = ItemsOfDict(inputs, "inputs");
  for (const auto& [name, value] : entries) {
    const nb::object tensor = Convert(value);
    replaced.emplace_back(TextOf(name, "a name"), Operand(ValueIn(*graph, tensor), kNowhere));
  }
  return WrapAll(gyre::internal::ImportRaised(self.model->session().shared_program(), names,
                                              replaced, kNowhere),
                 graph);
}

// A checkpoint's index. Immutable.
struct PyBundle {
  std::shared_ptr<const BundleReader> reader;
};

PyBundle OpenBundle(nb::handle prefix) {
  return {std::make_shared<const BundleReader>(
      ValueOf(BundleReader::Open(std::string(TextOf(prefix, "a prefix")))))};
}

// {name: (dtype, dims)}; the dtype is None where Gyre has no such type.
nb::dict EntriesOf(const PyBundle& self) {
  nb::dict result;
  for (const std::string& name : self.reader->Names()) {
    const BundleEntry& entry = *self.reader->Find(name);
    const nb::object dtype = entry.dtype == DType::kInvalid ? nb::none() : ToPython(entry.dtype);
    result[ToStr(name)] = nb::make_tuple(dtype, ToPython(PartialShape(entry.shape)));
  }
  return result;
}

nb::object ReadTensor(const PyBundle& self, nb::handle name) {
  const std::string key(TextOf(name, "a name"));
  absl::StatusOr<Tensor> value;
  {
    const nb::gil_scoped_release release;
    value = self.reader->Read(key);
  }
  return WrapEager(ValueOf(std::move(value)));
}

// A checkpoint in a folder, as C++ writes it. Immutable.
struct PyCheckpoint {
  std::shared_ptr<const CheckpointSource> source;
};

PyCheckpoint OpenCheckpoint(nb::handle folder) {
  PyCheckpoint opened;
  Check(ReadCheckpointFolder(std::string(TextOf(folder, "a folder")), [&](CheckpointSource source) {
    opened.source = std::make_shared<const CheckpointSource>(std::move(source));
    return absl::OkStatus();
  }));
  return opened;
}

// As EntriesOf.
nb::dict EntriesOfCheckpoint(const PyCheckpoint& self) {
  nb::dict result;
  for (const auto& [name, entry] : self.source->entries())
    result[ToStr(name)] =
        nb::make_tuple(ToPython(entry.dtype), ToPython(PartialShape(entry.shape)));
  return result;
}

nb::object ReadOfCheckpoint(const PyCheckpoint& self, nb::handle name) {
  const std::string key(TextOf(name, "a name"));
  absl::StatusOr<Tensor> value;
  {
    const nb::gil_scoped_release release;
    value = self.source->Read(key);
  }
  return WrapEager(ValueOf(std::move(value)));
}

}  // namespace

void BindModels(nb::module_& m) {
  nb::class_<PyModel>(m, "Model", nb::is_final(), "A loaded SavedModel or MetaGraph.")
      .def("signatures", &Signatures)
      .def("variables", &Variables)
      .def("resources", &Resources)
      .def("assets", &AssetsOf)
      .def("import_graph", &ImportModel, nb::arg("outputs"), nb::arg("inputs"))
      .def("run", &RunSignature, nb::arg("signature"), nb::arg("inputs"))
      .def("assign_variables", &AssignVariables, nb::arg("values"))
      .def("save", &SaveModel, nb::arg("path"));
  nb::class_<PyBundle>(m, "Bundle", nb::is_final(), "A checkpoint as TensorFlow writes it.")
      .def("entries", &EntriesOf)
      .def("read", &ReadTensor, nb::arg("name"));
  m.def("open_bundle", &OpenBundle, nb::arg("prefix"));
  nb::class_<PyCheckpoint>(m, "CheckpointFolder", nb::is_final(),
                           "A checkpoint in a folder, as C++ writes it.")
      .def("entries", &EntriesOfCheckpoint)
      .def("read", &ReadOfCheckpoint, nb::arg("name"));
  m.def("open_checkpoint", &OpenCheckpoint, nb::arg("folder"));
  m.def("load_model", &LoadModel, nb::arg("path"), nb::arg("tags"));
}

}  // namespace gyre::python
