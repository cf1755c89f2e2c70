// Models and checkpoints in TensorFlow's formats: what the package needs of gyre::SavedModel and of
// BundleReader.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "bundle/reader.h"
#include "gyre/core/saved_model.h"
#include "ir/builder.h"
#include "ir/program.h"
#include "python/arrays/items.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/files/import_graph.h"
#include "python/python.h"
#include "python/settings.h"
#include "python/tensor.h"
#include "session/checkpoint_source.h"

namespace gyre::python {
namespace {

// Runs of it take no GIL.
struct PyModel {
  std::shared_ptr<const SavedModel> model;
};

// What run(options) gives, held to limits (0: none); Ctrl-C ends it.
template <typename Run>
auto RunWithoutGil(int64_t timeout_ms, int64_t budget_bytes, Run run) {
  if (timeout_ms < 0 || budget_bytes < 0)
    ThrowValueError("timeout_ms and budget_bytes must not be negative");
  Cancellation cancellation;
  const RunOptions options{
      .timeout_ms = timeout_ms, .budget_bytes = budget_bytes, .cancellation = &cancellation};
  decltype(run(options)) result = absl::UnknownError("has not run");
  TheContext().host().RunProgram(cancellation, [&] {
    result = run(options);
    return result.status();
  });
  return result;
}

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

// [(name, handles, dtype, dims, trainable, value or None, key in the checkpoint)]
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
                                 ToPython(variable.shape), variable.trainable, value,
                                 ToStr(variable.key)));
  }
  return result;
}

// [(handle, key dtype or None, value dtype or None, the handle as a tensor)]: what outlives runs
// beside variables, which are tables mostly.
nb::list Resources(const PyModel& self, int64_t timeout_ms, int64_t budget_bytes) {
  const Session& session = self.model->session();
  std::vector<const Node*> nodes;
  std::vector<std::string> handles;
  for (const Node& node : session.shared_program()->main().nodes) {
    if (!node.inputs.empty() || node.op == nullptr || node.op->traits.effect != Effect::kRead ||
        node.signature.outputs.size() != 1 || node.signature.outputs[0].dtype != DType::kResource ||
        node.op->traits.makes_variable) {
      continue;
    }
    nodes.push_back(&node);
    handles.push_back(absl::StrCat(node.name, ":0"));
  }
  nb::list result;
  if (handles.empty()) return result;
  auto tensors = RunWithoutGil(timeout_ms, budget_bytes, [&](const RunOptions& options) {
    return self.model->session().Run({}, handles, {}, options);
  });
  size_t i = 0;
  for (Tensor& tensor : ValueOf(std::move(tensors))) {
    const auto dtype_of = [&](absl::string_view attr) {
      const DType* dtype = nodes[i]->attrs.Get<DType>(attr);
      return dtype == nullptr ? nb::none() : nb::object(ToPython(*dtype));
    };
    result.append(nb::make_tuple(ToStr(handles[i]), dtype_of("key_dtype"), dtype_of("value_dtype"),
                                 WrapEager(std::move(tensor))));
    ++i;
  }
  return result;
}

// The value of a constant of the main graph; None: there is no such constant. Nothing runs.
nb::object ConstantOf(const PyModel& self, nb::handle name) {
  const auto program = self.model->session().shared_program();
  const Node* const node = program->main().FindNode(std::string(TextOf(name, "a name")));
  if (node == nullptr || node->kind() != OpKind::kConst) return nb::none();
  return WrapEager(*node->attrs.Get<Tensor>("value"));
}

// {object: the tensor of the graph that stands for it}
nb::dict ObjectTensors(const PyModel& self) {
  nb::dict result;
  for (const auto& [object, tensor] : self.model->object_tensors())
    result[nb::int_(object)] = ToStr(tensor);
  return result;
}

// A program that does nothing but call one of the library's functions, "call" of "arg0", …; of
// those without results, "done" comes when it has.
std::shared_ptr<const Program> CallOf(const Program& program, const Function& function) {
  FunctionBuilder builder(program.ops(), "");
  std::vector<Endpoint> args;
  std::vector<DType> given, made;
  for (size_t i = 0; i < function.args.size(); ++i) {
    given.push_back(function.args[i].dtype);
    args.push_back(ValueOf(builder.Add1("Placeholder", {}, {{"dtype", given.back()}},
                                        {.name = absl::StrCat("arg", i)})));
  }
  for (const FunctionResult& result : function.results) made.push_back(result.dtype);
  const NodeId called = ValueOf(
      builder.Add(function.stateful ? "StatefulPartitionedCall" : "PartitionedCall", args,
                  {{"f", FunctionRef{function.name, nullptr}}, {"Tin", given}, {"Tout", made}},
                  {.name = "call"}));
  if (made.empty())
    builder.Constant(Tensor::Scalar(true), {.name = "done", .control_inputs = {called}});
  return ProgramBuilder(program).SetMain(builder.Build()).Build();
}

// The results of one of the library's functions, called in the graph that is being made.
nb::list CallFunction(const PyModel& self, nb::handle name, nb::handle inputs) {
  const auto program = self.model->session().shared_program();
  const std::string wanted(TextOf(name, "a function"));
  const Function* const function = program->FindFunction(wanted);
  if (function == nullptr)
    Check(absl::NotFoundError(absl::StrCat("the model has no function '", wanted, "'")));
  nb::dict replaced;
  size_t given = 0;
  for (const nb::handle input : nb::iter(inputs))
    replaced[ToStr(absl::StrCat("arg", given++, ":0"))] = input;
  if (given != function->args.size())
    Check(absl::InvalidArgumentError(absl::StrCat("function '", wanted, "' takes ",
                                                  function->args.size(), " inputs, not ", given)));
  nb::list outputs;
  for (size_t i = 0; i < function->results.size(); ++i)
    outputs.append(ToStr(absl::StrCat("call:", i)));
  const bool has_results = !function->results.empty();
  if (!has_results) outputs.append(ToStr("done:0"));
  nb::list results = ImportIntoGraph(CallOf(*program, *function), outputs, replaced);
  return has_results ? results : nb::list();
}

nb::list AssetsOf(const PyModel& self) {
  nb::list paths;
  for (const std::string& path : self.model->assets()) paths.append(ToStr(path));
  return paths;
}

nb::dict RunSignature(const PyModel& self, nb::handle signature, nb::handle inputs,
                      int64_t timeout_ms, int64_t budget_bytes) {
  SavedModel::Inputs values;
  const nb::dict entries = ItemsOfDict(inputs, "inputs");
  for (const auto& [name, value] : entries)
    values.emplace(TextOf(name, "a name"), RequireEager(value, "an input"));
  const std::string name(TextOf(signature, "a signature"));
  auto outputs = RunWithoutGil(timeout_ms, budget_bytes, [&](const RunOptions& options) {
    return self.model->Run(name, values, options);
  });
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

PyModel LoadModel(nb::handle path, nb::handle tags, int64_t timeout_ms, int64_t budget_bytes) {
  SavedModelOptions options{.session = TheContext().options()};
  for (const nb::handle tag : tags) options.tags.emplace_back(TextOf(tag, "a tag"));
  const std::string where(TextOf(path, "a path"));
  auto model = RunWithoutGil(timeout_ms, budget_bytes, [&](const RunOptions& limits) {
    const PreparationLimit limit(limits);
    return SavedModel::Load(where, options);
  });
  return {ValueOf(std::move(model))};
}

// A checkpoint's index. Immutable.
struct PyBundle {
  std::shared_ptr<const BundleReader> reader;
};

PyBundle OpenBundle(nb::handle prefix, nb::handle within) {
  const std::string folder(within.is_none() ? "" : TextOf(within, "a folder"));
  return {std::make_shared<const BundleReader>(
      ValueOf(BundleReader::Open(std::string(TextOf(prefix, "a prefix")), folder)))};
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
      .def("assets", &AssetsOf)
      .def("resources", &Resources, nb::kw_only(), nb::arg("timeout_ms") = 0,
           nb::arg("budget_bytes") = 0)
      .def(
          "import_graph",
          [](const PyModel& self, nb::handle outputs, nb::handle inputs) {
            return ImportIntoGraph(self.model->session().shared_program(), outputs, inputs);
          },
          nb::arg("outputs"), nb::arg("inputs"))
      .def("constant", &ConstantOf, nb::arg("name"))
      .def("object_tensors", &ObjectTensors)
      .def("call", &CallFunction, nb::arg("function"), nb::arg("inputs"))
      .def("checkpoint", [](const PyModel& self) { return ToStr(self.model->checkpoint()); })
      .def("object_graph",
           [](const PyModel& self) {
             const std::string& graph = self.model->object_graph();
             return nb::bytes(graph.data(), graph.size());
           })
      .def("run", &RunSignature, nb::arg("signature"), nb::arg("inputs"), nb::kw_only(),
           nb::arg("timeout_ms") = 0, nb::arg("budget_bytes") = 0)
      .def("assign_variables", &AssignVariables, nb::arg("values"))
      .def("save", &SaveModel, nb::arg("path"));
  nb::class_<PyBundle>(m, "Bundle", nb::is_final(), "A checkpoint as TensorFlow writes it.")
      .def("entries", &EntriesOf)
      .def("read", &ReadTensor, nb::arg("name"));
  m.def("open_bundle", &OpenBundle, nb::arg("prefix"), nb::arg("within") = nb::none());
  nb::class_<PyCheckpoint>(m, "CheckpointFolder", nb::is_final(),
                           "A checkpoint in a folder, as C++ writes it.")
      .def("entries", &EntriesOfCheckpoint)
      .def("read", &ReadOfCheckpoint, nb::arg("name"));
  m.def("open_checkpoint", &OpenCheckpoint, nb::arg("folder"));
  m.def("load_model", &LoadModel, nb::arg("path"), nb::arg("tags"), nb::kw_only(),
        nb::arg("timeout_ms") = 0, nb::arg("budget_bytes") = 0);
}

}  // namespace gyre::python
